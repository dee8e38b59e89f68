// SPDX-License-Identifier: Apache-2.0
// The layout of every tensor, whatever it was read from: a design, a folder of dumps or one of its files, or shards.json.
// What diff compares and dump writes.
#pragma once

#include "model/core/mesh.h"
#include "model/core/tensor.h"
#include "model/design/evaluation.h"
#include "model/io/maxtext/maxtextdump.h"
#include "model/rules/rulesetup.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardboard {

/// What is known of one tensor; a source that does not say something leaves it out, and then it is not compared.
struct LaidOutTensor {
    std::string name; ///< concrete: with the layer's number
    std::optional<Shape> shape {}; ///< global
    std::optional<DType> dtype {};
    std::optional<std::vector<std::string>> logicalNames {}; ///< of its dims, empty for an unnamed one
    std::optional<DumpSpec> spec {}; ///< per dim its mesh axes, major first
    std::string cut {}; ///< how it is cut where that is no even cut of whole dims; empty otherwise
    std::optional<std::string> stages {}; ///< of a pipeline, on which it lies: `stage=0`; empty: on every device
    std::shared_ptr<const std::string> shards {}; ///< which devices hold which ranges, as canonical text; null: not known
    std::optional<std::int64_t> elementsPerDevice {}; ///< on the device that holds the most
};

struct LayoutTable {
    std::string source; ///< for people
    std::optional<Mesh> mesh;
    std::vector<LaidOutTensor> tensors;
    std::vector<LaidOutTensor>
        activations; ///< values of operations that are whole or cut; a design and input_shardings.json have them
    std::set<std::string> files; ///< dump files that a folder has; empty for any other source
    std::vector<std::string> warnings; ///< what was bent to fit when rules were applied
};

/// Reads a *.shardboard design, a folder with dump files, one dump file, or shards.json; which it is is told by the content.
/// `withShards` computes the shards of a design too (dear on large meshes). Errors name the file and place.
Result<LayoutTable> readLayoutTable(const std::string& path, bool withShards);

LayoutTable layoutTableOf(const Design& design, const Evaluation& evaluation, const std::string& source, bool withShards);

/// The same one after the other, for what need not have them all at once. Tensors that differ in nothing but their names, as
/// those of a model's layers do, are of one kind: kinds are counted from 0. The name of `tensor` itself is not whole.
using LaidOutVisitor = std::function<void(const std::string& name, const LaidOutTensor& tensor, std::size_t kind)>;
void visitWeights(const Design& design, const Evaluation& evaluation, bool withShards, const LaidOutVisitor& visit);
void visitActivations(const Evaluation& evaluation, const LaidOutVisitor& visit);

/// What a rule setup makes of logical names on a mesh.
Result<LayoutTable> layoutTableOf(const RuleSetup& setup, const Mesh& mesh, const LogicalDump& logical);

/// The name of a value in a dump: `block/mlp.act: bfloat16[8,4096,14336]`, with numpy's names of types as JAX prints them.
std::string activationName(const std::string& name, DType type, const Shape& shape);

/// Whether a file is a shards.json, by its first bytes. False when it cannot be read.
bool isShardsJson(const std::string& path);

/// Logical names of a design's weights, in the form of a dump.
LogicalDump logicalDumpOf(const LayoutTable& table);

} // namespace shardboard
