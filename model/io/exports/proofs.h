// SPDX-License-Identifier: Apache-2.0
// What the project has had real frameworks confirm: for each target which peer made the same shards, when, and of how many sample
// exports (resources/exports/proofs.json, written by the scripts of tests/peers). It is no proof of the design that is open.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

struct ProjectProof {
    std::string target; ///< id of an export target
    std::string peer; ///< with its version: `JAX 0.12.0.1`
    std::string date; ///< `2026-11-23`
    std::int64_t exports = 0; ///< that were equal
    std::int64_t tensors = 0; ///< of all of them
    std::int64_t refused = 0; ///< exports that had to be refused, and were
};

/// Reads a file of such records. `where` names it in errors.
Result<std::vector<ProjectProof>> readProjectProofs(const std::string& json, const std::string& where);
/// Those of a target that came with this program, the newest first; none where nothing was recorded.
std::vector<ProjectProof> projectProofsOf(std::string_view target);
/// `checked by the project with JAX 0.12.0.1 on 2026-11-23, 44 exports`
std::string projectProofText(const ProjectProof& proof);

} // namespace shardboard
