// SPDX-License-Identifier: Apache-2.0
// How profilers call collectives.
#pragma once

#include "model/cost/collectivekind.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardboard {

/// Who says that a slice is a collective. The same one is told several times in a trace, by the call, the kernel, and the thread
/// that works: the best source that a trace has counts, the first of these.
enum class CollectiveSource : std::uint8_t {
    Kernel, ///< on a device: NCCL's kernels, a slice of ours
    Hlo, ///< an operation of XLA: all-gather.3, all-reduce-start
    Call, ///< of PyTorch: c10d::allreduce_, record_param_comms
    Worker, ///< of Gloo: gloo:all_reduce
};

struct NamedCollective {
    CollectiveKind kind = CollectiveKind::AllReduce;
    CollectiveSource source = CollectiveSource::Kernel;
};

/// By the slice's name and its category, which may be empty.
std::optional<NamedCollective> collectiveOfSlice(std::string_view name, std::string_view category);
/// By the argument `Collective name`: _allgather_base, allreduce, all-gather, …
std::optional<CollectiveKind> collectiveOfArgument(std::string_view name);
/// Bytes of an element by the names of PyTorch (`Float`, `BFloat16`, `c10::BFloat16`, `float`) and ours; 0: unknown.
std::int64_t bytesOfElement(std::string_view dtype);

} // namespace shardboard
