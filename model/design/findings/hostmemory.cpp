// SPDX-License-Identifier: Apache-2.0
// What is offloaded against what a host holds.
#include "model/design/findings/finders.h"
#include "model/plan/memory/hosttransfers.h"
#include "model/text/numbers.h"

namespace shardboard {

void findHostMemory(const FinderInput& input, FindingList& out)
{
    const std::int64_t needed = hostBytes(input.evaluation.plan);
    if (needed == 0)
        return;
    const auto limit = static_cast<std::int64_t>(hostLinkOf(input.hardware.device).memoryBytes);
    if (limit == 0)
        out.add({ "host-memory-unknown", Severity::Note, "offload", 0,
                  "what is offloaded takes " + bytesText(needed)
                      + " of the host's memory for a device, and the hardware does not say how much there is",
                  "add the host's memory to the hardware: a device's share of that of its node" });
    else if (needed > limit)
        out.add({ "over-host-memory", Severity::Error, "offload", needed - limit,
                  "what is offloaded takes " + bytesText(needed)
                      + " of the host's memory for a device, whose share of its node's is " + bytesText(limit),
                  "offload less or fewer layers, cut what is offloaded over more devices, or use nodes with more memory" });
}

} // namespace shardboard
