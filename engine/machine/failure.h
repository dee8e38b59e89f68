// SPDX-License-Identifier: Apache-2.0
// How a run ends early inside the engine. These are thrown within engine/ only; runProgram turns them into values.
#pragma once

#include <string>

namespace shardboard::engine {

/// What the worker's message `error` says: data for a client, which makes an Error of it. `code` is one of those in
/// model/io/wire/messages.h; the fix is part of the message.
struct Failure {
    std::string code;
    std::string message;
    std::string where;
};

/// What to do where the system gives no more memory.
inline constexpr const char* kMoreMemory =
    "use a smaller batch or sequence or fewer layers, or give the worker more memory (ulimit -v, a container's limit)";

/// The run was cancelled.
struct Stopped { };

/// A plan that cannot be run; `where` names the operation or collective.
[[noreturn]] void failPlan(const std::string& message, const std::string& where);

} // namespace shardboard::engine
