// SPDX-License-Identifier: Apache-2.0
#include "model/plan/memorybytes.h"

#include "model/core/checked.h"

#include <array>
#include <limits>

namespace shardboard {

std::span<const MemoryCause> memoryCauses()
{
    static constexpr std::array kCauses {
        MemoryCause { "weights", "weights", &MemoryBytes::weights, true },
        MemoryCause { "master_weights", "f32 copy of the weights", &MemoryBytes::masterWeights, false },
        MemoryCause { "optimizer", "optimizer state", &MemoryBytes::optimizer, false },
        MemoryCause { "gradients", "gradients", &MemoryBytes::gradients, false },
        MemoryCause { "kv_cache", "KV cache", &MemoryBytes::kvCache, false },
        MemoryCause { "activations", "activations", &MemoryBytes::activations, true },
        MemoryCause { "logits", "logits", &MemoryBytes::logits, false },
        MemoryCause { "gathered_weights", "gathered weights", &MemoryBytes::gathered, false },
        MemoryCause { "reshard", "reshard copies", &MemoryBytes::reshard, true },
        MemoryCause { "reserve", "reserve of the allocator", &MemoryBytes::reserve, false },
        MemoryCause { "runtime", "runtime", &MemoryBytes::runtime, false },
    };
    return kCauses;
}

std::int64_t MemoryBytes::total() const
{
    std::int64_t sum = 0;
    for (const MemoryCause& cause : memoryCauses())
        sum = checkedAdd(sum, this->*cause.bytes).value_or(std::numeric_limits<std::int64_t>::max());
    return sum;
}

Fit fitOf(std::int64_t least, std::int64_t most, std::int64_t limit)
{
    if (least > limit)
        return Fit::DoesNotFit;
    return most <= limit ? Fit::Fits : Fit::Tight;
}

const char* fitName(Fit fit)
{
    constexpr std::array kNames { "fits", "tight", "does not fit" };
    return kNames.at(static_cast<std::size_t>(fit));
}

} // namespace shardboard
