// SPDX-License-Identifier: Apache-2.0
#include "model/design/findings/finders.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

namespace shardboard {

void findOverMemory(const FinderInput& input, FindingList& out)
{
    const auto limit = static_cast<std::int64_t>(input.hardware.memoryBytes());
    const MemoryByCause& memory = input.evaluation.plan.memory;
    const Fit fit = fitOf(memory, limit);
    if (fit == Fit::Fits)
        return;
    std::vector<std::string> parts;
    for (const MemoryCause& cause : memoryCauses())
        if (memory.*cause.bytes > 0)
            parts.push_back(bytesText(memory.*cause.bytes) + " " + cause.name);
    if (fit == Fit::Tight) {
        const bool over = memory.peak > limit; // else only where the allocator does worse than usual
        out.add({ "tight-memory", over ? Severity::Warning : Severity::Note, memory.peakAt.empty() ? "weights" : memory.peakAt,
                  memory.most - limit,
                  "a device needs " + bytesText(memory.least) + " to " + bytesText(memory.most)
                      + ", depending on the allocator, and has " + bytesText(limit) + ": " + joined(parts),
                  "lower the batch, recompute more, or cut the largest weights over another mesh axis" });
        return;
    }
    out.add({ "over-memory", Severity::Error, memory.peakAt.empty() ? "weights" : memory.peakAt, memory.peak - limit,
              "a device needs " + bytesText(memory.peak) + " and has " + bytesText(limit) + ": " + joined(parts),
              "cut the largest weights over another mesh axis, or lower batch or sequence" });
}

} // namespace shardboard
