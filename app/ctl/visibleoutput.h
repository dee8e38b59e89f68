// SPDX-License-Identifier: Apache-2.0
// What stands between this program and a terminal: names come from files that nobody vouches for, and must be shown, not obeyed.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace shardboard {

/// While it exists, all that goes to a stream passes through visibleLines. JSON by jsonText passes unchanged.
class VisibleOutput : public std::streambuf {
public:
    explicit VisibleOutput(std::ostream& stream);
    ~VisibleOutput() override;
    VisibleOutput(const VisibleOutput&) = delete;
    VisibleOutput& operator=(const VisibleOutput&) = delete;

protected:
    int_type overflow(int_type byte) override;
    std::streamsize xsputn(const char* text, std::streamsize count) override;
    int sync() override;

private:
    bool pass(std::string_view text);

    std::ostream& m_stream;
    std::streambuf* m_behind;
    std::string m_waiting; ///< only whole writes, so that no character comes in two halves
};

/// As printf; print() writes it to std::cout.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);
[[gnu::format(printf, 1, 2)]] void print(const char* format, ...);

} // namespace shardboard
