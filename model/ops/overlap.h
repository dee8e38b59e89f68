// SPDX-License-Identifier: Apache-2.0
// Which collectives of a step run while the device computes. A value type.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

/// What a collective moves, as far as it matters to what can run beside it.
enum class OverlapKind {
    WeightGathers, ///< weights that are gathered for their use: FSDP fetches them ahead
    GradientScatters, ///< gradients of weights, which nothing waits for until the update
    Tensor, ///< activations between products: async TP, or Transformer Engine's overlap by user buffers
    Experts, ///< tokens on their way to the experts and back
    Context, ///< keys and values of a sequence that is cut
    Sends, ///< what one pipeline stage hands to the next
};
inline constexpr std::array kOverlapKinds { OverlapKind::WeightGathers, OverlapKind::GradientScatters, OverlapKind::Tensor,
                                            OverlapKind::Experts,       OverlapKind::Context,          OverlapKind::Sends };
std::string overlapKindName(OverlapKind kind); ///< weight-gathers, gradient-scatters, tensor, experts, context, sends

/// A set of them. Each runs beside the computation of the same layer and phase, as far as that lasts; sends do while the
/// pipeline is full.
class Overlap {
public:
    static const Overlap None;
    static const Overlap Weights; ///< weight gathers and gradient scatters
    static const Overlap All; ///< everything but sends, which no framework reaches: a lower bound

    constexpr bool has(OverlapKind kind) const { return (m_bits & bit(kind)) != 0; }
    constexpr Overlap with(OverlapKind kind, bool on = true) const
    {
        return Overlap(on ? m_bits | bit(kind) : m_bits & ~bit(kind));
    }
    friend bool operator==(Overlap, Overlap) = default;

private:
    explicit constexpr Overlap(unsigned bits)
        : m_bits(bits)
    {
    }
    static constexpr unsigned bit(OverlapKind kind) { return 1U << static_cast<unsigned>(kind); }

    unsigned m_bits = 0;
};

inline constexpr Overlap Overlap::None { 0 };
inline constexpr Overlap Overlap::Weights = Overlap::None.with(OverlapKind::WeightGathers).with(OverlapKind::GradientScatters);
inline constexpr Overlap Overlap::All =
    Overlap::Weights.with(OverlapKind::Tensor).with(OverlapKind::Experts).with(OverlapKind::Context);

/// none, weights, all, or a list of these and of names of kinds: `weights,tensor`, `all,sends`.
std::string overlapName(Overlap overlap);
/// Takes any such list, in any order. Nothing for an unknown word, an empty list, or `none` beside others.
std::optional<Overlap> overlapFromName(std::string_view name);
inline constexpr const char* kOverlapWords =
    "none, weights, all, or a list of weight-gathers, gradient-scatters, tensor, experts, context and sends";

} // namespace shardboard
