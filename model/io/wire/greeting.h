// SPDX-License-Identifier: Apache-2.0
// What may come before a worker's hello. The command that starts it may be ssh, mpirun or a script: login scripts,
// launchers and shells write on the same output what they like, before the worker says its first word. Every client
// skips that by this rule; none of it is a sign of a worker, and nobody waits any longer for it.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace shardboard {

struct Greeting {
    enum class Kind {
        Chatter, ///< no message: to be skipped
        Hello,
        Stranger, ///< a message, but no hello: what speaks is no worker of this protocol
    };
    Kind kind = Kind::Chatter;
    nlohmann::json message; ///< null for Chatter
};

/// Of a line that comes before the hello, without its line end; any bytes. A message is an object that has a `type`.
/// The hello may stand behind what was printed without a line end, such as a prompt.
Greeting greetingOf(std::string_view line);

} // namespace shardboard
