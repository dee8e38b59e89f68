// SPDX-License-Identifier: Apache-2.0
// What a design is exported to: one framework in one form. A target is a value of functions, made by one file of its room
// and listed in model/io/targets/targets.cpp; everything else (command line, Deliver, shards.json) follows from it.
#pragma once

#include "model/design/evaluation.h"
#include "model/io/exports/exportfiles.h"

#include <functional>
#include <string>
#include <vector>

namespace shardboard {

struct ExportTarget {
    std::string id; ///< as the command line takes it: `jax`
    std::string title; ///< as people read it: `JAX`
    std::string summary; ///< what the files are, a phrase: `Mesh, PartitionSpecs by parameter path, and constraints`
    /// File of the export that has the framework itself make the shards and compares them with shards.json:
    /// `python3 FILE` ends with 0 when all are equal, 1 when some differ, 77 where the framework is not there. Its last line on
    /// stdout is `291 of 291 tensors have the same shards in JAX 0.11.1`, or after `skipped: ` why it could not ask.
    std::string check;

    /// All that the target cannot say as the plan has it, one by one; cancelled when `stopped` says so.
    std::function<Result<std::vector<ExportRefusal>>(const Design&, const Evaluation&, const std::function<bool()>& stopped)>
        refusals;
    /// A sentence for each kind of thing that the design says and the files do not, and that changes no shard of a weight.
    std::function<std::vector<std::string>(const Design&, const Evaluation&)> leftOut;
    /// The lines that a training or serving script needs, as they stand in it: `from export import mesh, shardings` ….
    std::function<std::string(const Design&, const Evaluation&)> usage;
    /// All files but shards.json, of a design without refusals. The same design gives the same bytes.
    std::function<Result<std::vector<ExportedFile>>(const Design&, const Evaluation&)> files;
};

} // namespace shardboard
