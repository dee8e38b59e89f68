// SPDX-License-Identifier: Apache-2.0
// What of a training step lies in the memory of the host. A value type; part of a workload.
#pragma once

#include "model/core/kindset.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

enum class OffloadKind {
    /// Moments and the optimizer's copy of the weights; the host makes the step: gradients go to it, weights come back
    /// (ZeRO-Offload,
    /// arXiv 2101.06840; Megatron-LM --optimizer-cpu-offload; FSDP2 CPUOffloadPolicy).
    Optimizer,
    /// Weights as they are stored; a layer's are copied to the device before each use of them (ZeRO-3 offload_param, FSDP2
    /// CPUOffloadPolicy, MaxText parameter_memory_host_offload).
    Weights,
    /// What a layer keeps for its backward pass (Megatron-LM --cpu-offloading, torch save_on_cpu, MaxText's offloading policies).
    Activations,
};
inline constexpr std::array kOffloadKinds { OffloadKind::Optimizer, OffloadKind::Weights, OffloadKind::Activations };

class OffloadSet : public KindSet<OffloadKind, OffloadSet> { };

struct Offload {
    OffloadSet what {};
    /// So many layers of every run of layers that a stage has, from the first on, as Recompute has it, and neither embedding nor
    /// head. 0: everything.
    std::int64_t layers = 0;
    bool has(OffloadKind kind) const { return what.has(kind); }
    bool any() const { return what.any(); }
    friend bool operator==(const Offload&, const Offload&) = default;
};

std::string offloadName(OffloadSet what); ///< none, or a list: optimizer,weights,activations
std::optional<OffloadSet> offloadFromName(std::string_view name);
inline constexpr const char* kOffloadWords = "none, or a list of optimizer, weights and activations";

} // namespace shardboard
