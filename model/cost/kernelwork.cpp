// SPDX-License-Identifier: Apache-2.0
#include "model/cost/kernelwork.h"

#include "model/text/names.h"

#include <array>

namespace shardboard {

namespace {

constexpr std::array kNames { "none", "gemm", "attention", "unfused-attention", "memory", "optimizer", "lookup" };

} // namespace

std::string kernelClassName(KernelClass kernel) { return kNames[static_cast<std::size_t>(kernel)]; }

std::optional<KernelClass> kernelClassFromName(std::string_view name) { return namedIn<KernelClass>(kNames, name); }

} // namespace shardboard
