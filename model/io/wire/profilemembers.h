// SPDX-License-Identifier: Apache-2.0
// Keys of what profiles, calibrations and requests have in common.
#pragma once

#include "model/io/json/jsonmembers.h"
#include "model/io/wire/profile.h"

namespace shardboard {

inline auto jsonWords(ProfileMode) { return JsonWords { profileModeName, profileModeFromName, "none, serial or batched" }; }

template <class Each, MembersOf<MachineLimits> Limits>
void jsonMembers(Each& each, Limits& limits)
{
    each.value("gemm_flops_one", limits.gemmFlopsOne);
    each.value("gemm_flops_all", limits.gemmFlopsAll);
    each.value("copy_bytes_one", limits.copyBytesOne);
    each.value("copy_bytes_all", limits.copyBytesAll);
}

} // namespace shardboard
