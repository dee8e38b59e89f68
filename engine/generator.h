// SPDX-License-Identifier: Apache-2.0
// Made-up data without storage: the value of a tensor element is a pure function of the run's seed, the tensor's name and
// the element's linear index in the whole tensor (row-major). Every shard makes its own values from its index ranges, and
// the unsharded computation makes the same ones.
#pragma once

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

private:
    std::uint64_t m_key = 0;
    float m_mean = 0;
    float m_scale = 0; ///< of a 32-bit signed number
    std::uint32_t m_vocabulary = 0; ///< 0: values
};

} // namespace shardboard::engine
