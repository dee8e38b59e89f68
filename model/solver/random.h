// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same everywhere (xoshiro256**), unlike the distributions of the standard library.
#pragma once

#include <bit>
#include <cstdint>

namespace shardboard::solver {

class Random {
public:
    explicit Random(std::uint64_t seed)
    {
        for (std::uint64_t& word : m_state) { // splitmix64
            seed += 0x9E3779B97F4A7C15U;
            std::uint64_t z = seed;
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
            z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
            word = z ^ (z >> 31);
        }
    }
    std::uint64_t next()
    {
        const std::uint64_t out = std::rotl(m_state[1] * 5, 7) * 9;
        const std::uint64_t shifted = m_state[1] << 17;
        m_state[2] ^= m_state[0];
        m_state[3] ^= m_state[1];
        m_state[1] ^= m_state[2];
        m_state[0] ^= m_state[3];
        m_state[2] ^= shifted;
        m_state[3] = std::rotl(m_state[3], 45);
        return out;
    }
    /// In [0, count).
    int below(int count) { return static_cast<int>((next() >> 32) * static_cast<std::uint64_t>(count) >> 32); }
    /// In [0, 1).
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
    std::uint64_t m_state[4] {};
};

} // namespace shardboard::solver
