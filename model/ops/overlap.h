// SPDX-License-Identifier: Apache-2.0
// Which collectives of a step run while the device computes. A value type.
#pragma once

#include "model/core/kindset.h"

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
    Host, ///< what lies in the memory of the host, on its way to the device and back
};
inline constexpr std::array kOverlapKinds { OverlapKind::WeightGathers, OverlapKind::GradientScatters, OverlapKind::Tensor,
                                            OverlapKind::Experts,       OverlapKind::Context,          OverlapKind::Sends,
                                            OverlapKind::Host };
std::string overlapKindName(OverlapKind kind); ///< weight-gathers, gradient-scatters, tensor, experts, context, sends, host

/// A set of them. Each runs beside the computation of the same layer and phase, as far as that lasts; sends do while the
/// pipeline is full.
class Overlap : public KindSet<OverlapKind, Overlap> {
public:
    static const Overlap None;
    static const Overlap Weights; ///< weight gathers and gradient scatters
    static const Overlap All; ///< everything but sends, which no framework reaches: a lower bound
};

inline constexpr Overlap Overlap::None {};
inline constexpr Overlap Overlap::Weights = Overlap::None.with(OverlapKind::WeightGathers).with(OverlapKind::GradientScatters);
inline constexpr Overlap Overlap::All =
    Overlap::Weights.with(OverlapKind::Tensor).with(OverlapKind::Experts).with(OverlapKind::Context).with(OverlapKind::Host);

/// none, weights, all, or a list of these and of names of kinds: `weights,tensor`, `all,sends`.
std::string overlapName(Overlap overlap);
/// Takes any such list, in any order. Nothing for an unknown word, an empty list, or `none` beside others.
std::optional<Overlap> overlapFromName(std::string_view name);
inline constexpr const char* kOverlapWords =
    "none, weights, all, or a list of weight-gathers, gradient-scatters, tensor, experts, context, sends and host";

} // namespace shardboard
