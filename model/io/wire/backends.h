// SPDX-License-Identifier: Apache-2.0
// Names of the backends that a worker may have. Which of them it has, and which can be used, its hello message says.
#pragma once

#include "model/text/contains.h"

#include <array>
#include <string>
#include <string_view>

namespace shardboard {

inline constexpr std::array<std::string_view, 4> kBackendNames { "cpu", "mpi", "cuda", "nccl" };
/// For messages: the names in a sentence.
inline constexpr const char* kBackendsText = "backends are cpu, mpi, cuda and nccl";

inline bool isBackendName(std::string_view name) { return contains(kBackendNames, name); }

} // namespace shardboard
