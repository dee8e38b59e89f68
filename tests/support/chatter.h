// SPDX-License-Identifier: Apache-2.0
// What launchers, login scripts and shells may write on a worker's output before its hello, for the tests of every
// client.
#pragma once

#include <string>
#include <vector>

namespace shardboard {

/// Lines without their ends; none of them is a message.
inline std::vector<std::string> chatterLines()
{
    return {
        "Welcome to host1. Last login: Mon Jan  1 00:00:00",
        "",
        "\r",
        std::string("\xff\xfe\0\x1b[31m\x80", 9),
        R"({"motd":"hello"})",
        R"({"type":7})",
        R"([{"type":"hello","protocol":1}])",
        R"("hello")",
        "{",
        R"(a line that says {"type":"hello","protocol": and stops)",
        std::string(std::size_t { 3 } << 20, 'x'),
        std::string(300, '{') + R"("hello")",
    };
}

/// What stands before the hello in its own line.
inline std::string chatterPrompt() { return "\x1b[1muser@host1\x1b[0m {7} $ "; }

} // namespace shardboard
