// SPDX-License-Identifier: Apache-2.0
// Predicted seconds of one kernel on one device.
//
//   matrix product  t0 + max(F / (e P w d), bytes / (m BW))
//   attention       t0 + max(F / (a P h r), bytes / (m BW))   fused, on tensor cores; FlashAttention-2 has an efficiency of its own
//   unfused         3 t0 + max(F / (e P), bytes / (m BW)) + (bytes of the softmax) / (m BW)
//   the others      t0 + bytes / (m BW)
//
// Hardware that was calibrated on a CPU has caches, and libraries that pack operands before they compute (performance 2.1: "a sum
// instead of a max fits as well"; the numbers are fitted to what the machine was measured to take, model/cost/calibration.h):
//   products, attention   t0 + min(F / (e P) + max(0, bytes - C0) / R0, F / (e' P) + moved)          Packing
//   the others            t0 + moved, moved = min(bytes, C) / Rc + max(0, bytes - C) / (m BW)        DeviceSpec::cache
//
// F: FLOPs, P: dense peak of the type, BW: memory bandwidth; t0 and the efficiencies e (of the type, at the clock that the device
// holds), a (forward or backward) and m are those of the device (KernelConstants).
// w is the share of the last wave of tiles that is full: a product is made in tiles of 128 x 256 elements, as many at a time as
// there are multiprocessors, and the last wave takes as long as a full one. Tiles at the edge count by what they hold of the
// product, so that no product becomes faster by growing. Libraries take smaller tiles where there is less than one wave, so that
// w = 1 there. The array of a TPU has no such waves; there w is what is left of dims that are padded to its side.
// d = k / (k + gemmDepth): loading the first operands of a tile and writing it take as long as some more of its inner dim.
// h: exponentials take as long for a head of 64 as for one of 128, r: tiles at the diagonal and the ends, of which short sequences
// have more.
#pragma once

#include "model/cost/kernelwork.h"
#include "model/hardware/hardware.h"

#include <array>

namespace shardboard {

/// (0, 1]: tiles / (waves x multiprocessors).
double waveShare(const GemmDims& gemm, std::int64_t multiprocessors);

/// (0, 1]: what is left of FLOP/s where dims are padded to `side`, the inner one and the one that costs less. 1: side is 0.
double paddedShare(const GemmDims& gemm, std::int64_t side);

/// FLOP/s of a product.
double gemmRate(const KernelWork& work, const DeviceSpec& device);
/// FLOP/s of fused attention.
double attentionRate(const KernelWork& work, const DeviceSpec& device);

/// Of a kernel that only moves data, without its start: bytes / (memoryEfficiency bandwidth), or what the cache makes of it.
double memorySeconds(double bytes, const DeviceSpec& device);

/// Of a kernel that packs its operands, without its start. `computeSeconds`: of its FLOPs alone.
double packedSeconds(const Packing& packing, double flops, double computeSeconds, double bytes, DType dtype,
                     const DeviceSpec& device);

/// Where an operation lies among the sizes that were measured: of products the logarithms of b m, n and k, of others those of its
/// bytes (of class None those copied), of its FLOPs and of the keys of a sequence, 0 where it has none.
std::array<double, 3> measuredSize(const KernelWork& work);

/// By the law of its class alone, whatever was measured; of class None a copy.
double lawSeconds(const KernelWork& work, const Hardware& hardware);

/// By the law, times the factor that was measured (DeviceSpec::measured) where the operation has one; else 0 for class None. Never
/// infinite for hardware with positive rates. Without what it waits for the host
/// (model/plan/time/hosttime.h).
double kernelSeconds(const KernelWork& work, const Hardware& hardware);

/// What the host needs to start it: nothing in a recorded graph.
double hostSeconds(const KernelWork& work, const KernelConstants& kernels);

} // namespace shardboard
