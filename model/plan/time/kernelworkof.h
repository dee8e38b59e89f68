// SPDX-License-Identifier: Apache-2.0
// From a planned operation to what its kernel does on one device.
#pragma once

#include "model/cost/kernelwork.h"
#include "model/ops/workload.h"
#include "model/plan/plan.h"

#include <optional>

namespace shardboard {

/// What a kernel's work depends on beside the operation.
struct KernelSettings {
    HeldTypes held {}; ///< what the optimizer's step reads and writes
    Software software = Software::Fused;
    ContextOrder contextOrder = ContextOrder::HeadTail;
    bool inGraph = false; ///< kernels are launched with a recorded CUDA graph
    bool fp8Products = false; ///< products of 16-bit values are computed in f8e4m3
    Fp8Settings fp8 {}; ///< how they are scaled
    std::optional<DType> computed {}; ///< that products are computed in; nothing: in the type of their result
    /// How often stored weights that are wider than what they are read in are cast for this operation.
    double casts = 0;
    bool expertsApart = false; ///< the host starts the product of every expert on its own
    double productCalls = 1; ///< FrameworkFacts::productCalls
    Dispatch dispatch = Dispatch::PerExpert;
    bool fixedExperts = false; ///< every expert has as many rows as its capacity, so that the host need not ask how many
    /// The product that gives a weight's gradient adds it, in the type of gradients, to those of the micro-batches before.
    bool addsGradients = false;
};

/// FLOPs and bytes of the largest shards (uneven cuts: the device that has the most). Activations of experts count by the share
/// of their rows that hold data. The optimizer's step reads and writes moments, weights, and their copy as they are held.
/// A KV cache is appended to in place; a latent one, which is keys and values at once, is read once.
/// Products in fp8: with fused kernels whoever writes an operand casts it in passing (delayed scaling), so that it is written and
/// read in one byte more and one less; else, with dynamic scaling, a kernel reads it for its largest value (2 bytes), another casts
/// it (2 + 1), and the product reads one byte (torchao float8_linear.py, tensorwise). A recipe says how often values are read
/// before they can be cast, also with fused kernels, and whether a second copy is written; weights that were gathered in fp8 are
/// cast already. Stored weights that are wider than what products read are read and written once more. `planned` needs its
/// operands' layouts and its result's.
KernelWork kernelWorkOf(const Graph& graph, const Mesh& mesh, const PlannedOp& planned, const KernelSettings& settings);

} // namespace shardboard
