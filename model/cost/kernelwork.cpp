// SPDX-License-Identifier: Apache-2.0
#include "model/cost/kernelwork.h"

#include <array>

namespace shardboard {

namespace {

constexpr std::array kNames { "none", "gemm", "attention", "unfused-attention", "memory", "optimizer", "lookup" };

} // namespace

std::string kernelClassName(KernelClass kernel) { return kNames[static_cast<std::size_t>(kernel)]; }

std::optional<KernelClass> kernelClassFromName(std::string_view name)
{
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (name == kNames[i])
            return static_cast<KernelClass>(i);
    return std::nullopt;
}

} // namespace shardboard
