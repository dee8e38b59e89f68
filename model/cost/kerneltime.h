// SPDX-License-Identifier: Apache-2.0
// Predicted seconds of one kernel on one device.
//
//   matrix product  t0 + max(F / (0.78 P w), bytes / (0.80 BW))   performance 2.1, fitted on 54 H100 products (4.9 % mean)
//   attention       t0 + max(F / (0.60 P), bytes / (0.80 BW))     fused, on tensor cores
//                   FlashAttention-2: 0.35 on Hopper (KernelConstants::flash2Efficiency)
//   unfused         3 t0 + max(F / (0.78 P), bytes / (0.80 BW)) + (bytes of the softmax) / (0.80 BW)
//   the others      t0 + bytes / (0.80 BW)
//
// Hardware that was calibrated on a CPU has caches, and libraries that pack operands before they compute (performance 2.1: "a sum
// instead of a max fits as well"; the numbers are fitted to what the machine was measured to take, model/cost/calibration.h):
//   products, attention   t0 + min(F / (e P) + max(0, bytes - C0) / R0, F / (e' P) + moved)          Packing
//   the others            t0 + moved, moved = min(bytes, C) / Rc + max(0, bytes - C) / (e BW)        DeviceSpec::cache
//
// F: FLOPs, P: dense peak, BW: memory bandwidth, t0 = 5.5 us; the constants are those of the device (KernelConstants), which
// a calibration replaces. w is the share of the last wave of tiles that is full: a product
// is made in tiles of 128 x 256 elements, as many at a time as there are multiprocessors, and the last wave takes as long as
// a full one. Tiles at the edge count by what they hold of the product, so that no product becomes faster by growing. Libraries
// take smaller tiles where there is less than one wave, so that w = 1 there.
#pragma once

#include "model/cost/kernelwork.h"
#include "model/hardware/hardware.h"

namespace shardboard {

/// (0, 1]: tiles / (waves x multiprocessors).
double waveShare(const GemmDims& gemm, std::int64_t multiprocessors);

/// Of a kernel that only moves data, without its start: bytes / (memoryEfficiency bandwidth), or what the cache makes of it.
double memorySeconds(double bytes, const DeviceSpec& device);

/// Of a kernel that packs its operands, without its start. `computeSeconds`: of its FLOPs alone.
double packedSeconds(const Packing& packing, double flops, double computeSeconds, double bytes, DType dtype,
                     const DeviceSpec& device);

/// 0 for class None. Never infinite for hardware with positive rates.
double kernelSeconds(const KernelWork& work, const Hardware& hardware);

} // namespace shardboard
