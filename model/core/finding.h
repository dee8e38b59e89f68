// SPDX-License-Identifier: Apache-2.0
// Something a user should know: what is wrong, where, what it costs, the smallest repair.
#pragma once

#include <cstdint>
#include <string>

namespace shardboard {

enum class Severity { Error, Warning, Note };
std::string severityName(Severity severity); ///< error, warning, note

struct Finding {
    std::string kind; ///< silently-replicated, indivisible, not-understood, checkpoint, …
    Severity severity = Severity::Warning;
    std::string where; ///< name of the tensor, op, mesh axis or file
    std::int64_t costBytes = 0; ///< bytes per device that it costs, 0 where that has no meaning
    std::string message;
    std::string repair; ///< in words
};

} // namespace shardboard
