// SPDX-License-Identifier: Apache-2.0
// A range of addresses whose pages the system provides when they are first touched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardboard::engine {

class ReservedMemory {
public:
    /// Touches nothing. Throws Failure "memory" when there are no addresses left.
    explicit ReservedMemory(std::int64_t bytes);
    ~ReservedMemory();
    ReservedMemory(const ReservedMemory&) = delete;
    ReservedMemory& operator=(const ReservedMemory&) = delete;

    /// At the start of a page.
    std::byte* memory() const { return m_memory; }
    float* floats() const { return reinterpret_cast<float*>(m_memory); }
    std::int64_t bytes() const { return m_bytes; }

private:
    std::byte* m_memory = nullptr;
    std::int64_t m_bytes = 0;
};

} // namespace shardboard::engine
