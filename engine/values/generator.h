// SPDX-License-Identifier: Apache-2.0
// Made-up data without storage: the value of a tensor element is a pure function of the run's seed, the tensor's name and
// the element's linear index in the whole tensor (row-major). Every shard makes its own values from its index ranges, and
// the unsharded computation makes the same ones.
#pragma once

#include "engine/values/generatorhash.h"

#include <cstdint>
#include <string_view>

namespace shardboard::engine {

class Generator {
public:
    Generator() = default;
    /// Uniform values on mean ± deviation * sqrt(3), so that `deviation` is their standard deviation.
    static Generator values(std::uint64_t seed, std::string_view name, double mean, double deviation);
    /// Whole numbers in [0, vocabulary), as floats; exact for vocabularies of at most 2^24.
    static Generator tokens(std::uint64_t seed, std::string_view name, std::int64_t vocabulary);

    /// Values of the elements [start, start + count) of the tensor.
    void fill(std::int64_t start, std::int64_t count, float* out) const;
    const ValueRule& rule() const { return m_rule; }

private:
    ValueRule m_rule;
};

} // namespace shardboard::engine
