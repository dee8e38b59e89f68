// SPDX-License-Identifier: Apache-2.0
#include "model/core/finding.h"

namespace shardboard {

std::string severityName(Severity severity)
{
    switch (severity) {
    case Severity::Error:
        return "error";
    case Severity::Warning:
        return "warning";
    case Severity::Note:
        return "note";
    }
    return "note";
}

} // namespace shardboard
