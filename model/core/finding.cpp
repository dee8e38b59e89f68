// SPDX-License-Identifier: Apache-2.0
#include "model/core/finding.h"

#include "model/text/names.h"

namespace shardboard {

std::string severityName(Severity severity)
{
    constexpr std::array kNames { "error", "warning", "note" };
    return nameIn(kNames, severity);
}

} // namespace shardboard
