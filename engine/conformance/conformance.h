// SPDX-License-Identifier: Apache-2.0
// The one suite that every backend passes: each operation forward and backward, each collective, every kind of reshard on
// several mesh axes with sizes that do not divide, whole models and training steps, in every dtype that the backend claims. All
// memory holds NaN before it is written, data is made afresh from the seed, results are compared with computation in
// double that shares nothing with the engine. Plain C++: runs on a bare server with `shardboard-engine --conformance`.
#pragma once

#include "engine/conformance/modelcases.h"
#include "engine/run/backend.h"
#include "model/core/result.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace shardboard::conformance {

struct Options {
    std::uint64_t seed = 1;
    std::int64_t devices = 0; ///< logical devices of every mesh, for backends that have exactly so many; 0: meshes of 2 to 8
    std::string filter; ///< only cases whose name contains it; empty: all
    /// Makes the programs of whole models, which takes a design. Empty: those cases are left out.
    std::function<Result<Program>(const ModelCase& of, DType dtype)> programOf = {};
};

struct Case {
    std::string name; ///< `op: …`, `reshard: …`, `model: …`
    DType dtype = DType::F32; ///< of the values; F32 runs plain, others with designDtype
    std::size_t number = 0; ///< among those of its group
};

struct CaseResult {
    bool passed = false;
    std::int64_t programs = 0; ///< that ran
    double worst = 0; ///< largest relative error
    double tolerance = 0;
    std::string message; ///< what differed first, or why it could not run
};

/// In a fixed order. For a dtype that the backend does not claim there are none.
std::vector<Case> casesFor(const engine::Backend& backend, const Options& options);
/// Never throws.
CaseResult runCase(const Case& which, const engine::Backend& backend, const Options& options);

struct Summary {
    std::int64_t passed = 0;
    std::int64_t failed = 0;
    std::int64_t programs = 0;
};
/// All of them; `tell` gets each result.
Summary runAll(const engine::Backend& backend, const Options& options,
               const std::function<void(const Case&, const CaseResult&)>& tell);

/// Kinds of collectives that the reshard cases go through.
std::set<CollectiveKind> reshardKinds(const Options& options);

} // namespace shardboard::conformance
