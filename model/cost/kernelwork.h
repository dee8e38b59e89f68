// SPDX-License-Identifier: Apache-2.0
// What one kernel does on one device: everything that a model of its time needs. A value type.
#pragma once

#include "model/core/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

/// Kernels whose times follow the same law.
enum class KernelClass {
    None, ///< nothing runs: the same values under another shape or name
    Gemm, ///< matrix products (batched: one for each expert or head)
    Attention, ///< fused attention and its gradients; scores never reach memory
    UnfusedAttention, ///< matrix products with a softmax, or its gradient, in between
    Memory, ///< norms, activations, sums, softmax, rotation, routing: as fast as memory is read and written
    Optimizer, ///< the step of Adam over its states
    Lookup, ///< rows of a table that are looked up, or added to
};
std::string kernelClassName(KernelClass kernel); ///< none, gemm, attention, unfused-attention, memory, optimizer, lookup
std::optional<KernelClass> kernelClassFromName(std::string_view name);

/// `b` products [m, k] x [k, n]. m counts the rows that hold data: of a mixture of experts those of an average expert.
struct GemmDims {
    double b = 0; ///< 0: no matrix product
    double m = 0;
    double n = 0;
    double k = 0;
    friend bool operator==(const GemmDims&, const GemmDims&) = default;
};

/// Per occurrence, on the device that works the most.
struct KernelWork {
    KernelClass kernel = KernelClass::None;
    std::string_view op {}; ///< the operation's kind, in storage that stays: `rms_norm`
    DType dtype = DType::BF16; ///< of the result; of products in fp8 that
    double flops = 0; ///< a multiply-add is 2; in products only (of attention the causal half)
    double bytes = 0; ///< read and written in the device's memory, each operand once
    GemmDims gemm; ///< of class Gemm: flops = 2 b m n k
    double launches = 1; ///< kernels that are started
    double between = 0; ///< bytes of kernels before or between the products, which `bytes` does not count: softmax, casts to fp8
    bool flash2 = false; ///< of class Attention: by FlashAttention-2
    bool onHost = false; ///< of class Optimizer: the host makes the step, in its memory
    bool inGraph = false; ///< launched with a recorded CUDA graph
    bool backward = false; ///< of class Attention: a gradient
    double headDim = 0; ///< of class Attention; 0: not known
    double keys = 0; ///< the same: that a sequence has
    /// What the host goes through for it beside one call for each of `launches`, in calls of an operation of PyTorch; below 0 where
    /// it goes through less. A recorded graph saves them.
    double hostCalls = 0;
    double copied = 0; ///< of class None: bytes that are read and written where the same values are copied to have another shape
    bool readsBack = false; ///< the host waits for the result before it goes on: how many tokens every expert has
    friend bool operator==(const KernelWork&, const KernelWork&) = default;
};

} // namespace shardboard
