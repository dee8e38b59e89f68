// SPDX-License-Identifier: Apache-2.0
// A regular file opened for reading; never waits (pipes and devices are refused). Owns the descriptor.
#pragma once

#include "model/core/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace shardboard {

class OpenFile {
public:
    static Result<OpenFile> open(const std::string& path);
    OpenFile(OpenFile&& other) noexcept;
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    OpenFile& operator=(OpenFile&&) = delete;
    ~OpenFile();

    std::int64_t size() const { return m_size; }
    /// Bytes read, 0 at the end, nothing on a read error (errno tells why).
    std::optional<std::size_t> read(char* buffer, std::size_t size);

private:
    explicit OpenFile(int file)
        : m_file(file)
    {
    }
    int m_file = -1;
    std::int64_t m_size = 0;
};

} // namespace shardboard
