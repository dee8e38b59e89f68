// SPDX-License-Identifier: Apache-2.0
// What the tables of built-in devices are written with, one file for each maker. Peaks are dense: vendors often print the rate with
// 2:4 sparsity, which is twice as high; those of GeForce and RTX cards are with f32 sums, which training needs. Memory is what the
// driver reports, not what the name says: `nvidia-smi` shows 81559 MiB (79.6 GiB) for an H100 of 80 GB. A program gets less, which
// PyTorch prints as the total capacity when it runs out; the rest is reserved. XLA prints for a TPU what a program gets.
#pragma once

#include "model/hardware/decimal.h"
#include "model/hardware/devicespec.h"

#include <vector>

namespace shardboard {

std::vector<DeviceSpec> nvidiaDevices();
std::vector<DeviceSpec> amdDevices();
std::vector<DeviceSpec> tpuDevices();
std::vector<DeviceSpec> otherDevices();

namespace devicetable {

inline constexpr std::optional<double> kNone = std::nullopt;

constexpr double mebi(double value) { return value * 1024 * 1024; }
constexpr double gibi(double value) { return mebi(value * 1024); }

struct Memory {
    double bytes;
    double reserved;
};

/// What nvidia-smi or rocm-smi reports, and what is left of it for programs, in GiB; 0: as much as of an H100, whose driver keeps
/// 0.68 % (81559 MiB of which programs get 79.11 GiB).
constexpr Memory gpuMemory(double reportedMib, double capacityGib = 0)
{
    constexpr double kKept = 0.0068;
    return { mebi(reportedMib), capacityGib > 0 ? mebi(reportedMib) - gibi(capacityGib) : mebi(reportedMib) * kKept };
}

/// The memory of the chip, and what XLA gives to programs.
constexpr Memory tpuMemory(double gib, double usableGib) { return { gibi(gib), gibi(gib - usableGib) }; }

struct Row {
    const char* id;
    const char* name;
    PeakFlops peak;
    Memory memory;
    double bytesPerSecond;
    KernelConstants kernels;
    std::int64_t multiprocessors;
    const char* source;
};

DeviceSpec deviceOf(const Row& row, DeviceKind kind = DeviceKind::Gpu);

} // namespace devicetable

} // namespace shardboard
