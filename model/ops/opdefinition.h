// SPDX-License-Identifier: Apache-2.0
// An operation, in one place: its name, shapes, sharding rule, gradient, cost, and how the flow view groups it. The engine's check
// of shapes, the picker, the plan, the cases of the conformance suite, and the flow view take all that from here.
// To add an operation: its kind in model/ops/graph.h, its entry in one of the tables of model/ops, and its body in the engine.
#pragma once

#include "model/core/result.h"
#include "model/cost/kernelwork.h"
#include "model/ops/graph.h"
#include "model/ops/shaperule.h"

#include <span>
#include <string_view>
#include <vector>

namespace shardboard {

/// The largest shard of every operand and of the result, as they lie on the device that works the most.
struct LocalShapes {
    std::vector<Shape> operands;
    Shape result;
    const std::vector<Shape>* globalOperands = nullptr;
};

/// How an eager framework runs an operation that is otherwise one kernel: how often its elements (of the first operand) go from or
/// to memory in their own type and in float32, and in how many kernels.
struct EagerPasses {
    double narrow = 0; ///< 0: one kernel there, too
    double wide = 0;
    double launches = 1;
};

class GradientBuilder; // model/ops/differentiate.h
class ShardingRule; // model/ops/shardingrule.h

/// Operations that stand side by side and are of one group are one box of the flow view.
enum class OpGroup {
    Single, ///< a box of its own
    Small, ///< a small one of its own
    Projection,
    Attention, ///< heads, rotation, cache, and attention itself
    Activation,
    Gradient, ///< the gradients of one operation
    Reduction,
    Update ///< one box a weight
};

struct OpDefinition {
    OpKind kind = OpKind::Add;
    const char* name = ""; ///< in plans and views
    const char* rule = ""; ///< shapes of operands and result, and how they may be cut: model/ops/shardingrule.h
    const char* where = ""; ///< what must hold of sizes and attributes: model/ops/shaperule.h
    OpGroup group = OpGroup::Single;
    OpGroup (*groupOf)(const Graph& graph, const Op& op) = nullptr; ///< where it depends on what the operation is given
    /// Of an operation on single elements: what it is, for one element of every operand. Backends are held to it, so they must
    /// not call it.
    double (*value)(const double* x, const OpAttributes& attributes) = nullptr;
    /// Floating point operations of one device; none for operations that only move memory.
    double (*flops)(const LocalShapes& local) = nullptr;
    /// Of a matrix product, as if all rows held data; `flops` is then 2 b m n k.
    GemmDims (*gemm)(const LocalShapes& local) = nullptr;
    bool sumsRows = false; ///< a matrix product over the rows: the gradient of a weight
    /// Adds the operations that give the gradients of its operands. None: they do not depend on it (or, with `passes`, are that
    /// of the result).
    void (*gradient)(GradientBuilder& builder, const Op& op) = nullptr;
    bool contracts = false; ///< sums over dims that only operands have: the place where partial sums come from
    bool moves = false; ///< of a gradient: from here it may have to move, so that it goes through an Output operation
    bool passes = false; ///< the gradient of the first operand is that of the result
    /// The same values under another shape or name: takes neither time nor memory.
    bool view = false;
    /// The kernel of a neighbour does it in passing, so that it takes no time of its own: weights' gradients of norms, which read
    /// what the gradient of the input reads, and parts of a tensor that kernels read and write where they lie.
    bool fused = false;
    /// Takes so little time that its result, where the backward pass needs it and has the operands, can be computed again.
    bool cheap = false;
    /// Bytes that one device keeps for the gradients beside operands and result; none for most. Of attention: `result` is its
    /// part of [B,S,h,e], `keys` how many it attends to.
    std::int64_t (*statistics)(const OpAttributes& attributes, const Shape& result, std::int64_t keys, DType dtype) = nullptr;
    /// Operand of which only the rows that are looked up are read, or -1.
    int lookedUp = -1;
    int streamed = -1; ///< operand that may be too large to lie in memory whole, and that is read in parts; or -1
    int taken = -1; ///< operand whose memory the result may take where nobody else wants it; a view then has nothing to do; or -1
    int chosenFrom = -1; ///< operand whose order tells which experts a token goes to; or -1
    int elementsOf = -1; ///< operand of which the result is single elements, one for each index in the other operand; or -1
    bool runs = true; ///< else plans and prices have it, and backends refuse it
    bool onGpus = true; ///< else the CPU alone runs it, and GPUs refuse it
    int moments = 0; ///< states that an optimizer's step keeps of each element, beside the weight
    bool appends = false; ///< the result lies there already, and the operand becomes its last part: a cache
    bool dispatches = false; ///< sends tokens to their experts
    /// Stands between the parts of a block: works on every token of the residual stream alone.
    bool between = false;
    /// The one of attention's gradients that makes the scores again for all of them, where they are not kept.
    bool makesScoresAgain = false;
    EagerPasses eager {};
    KernelClass kernel = KernelClass::Memory; ///< where nothing above tells it, see kernelClassOf
};

/// Views and what is fused run nothing; products are matrix products or else attention; what looks rows up is a lookup.
KernelClass kernelClassOf(const OpDefinition& definition);

const OpDefinition& definitionOf(OpKind kind);
OpGroup groupOf(const Graph& graph, const Op& op);
/// Whether it makes the step of a weight from its gradient.
inline bool isStep(OpKind kind) { return definitionOf(kind).group == OpGroup::Update; }
/// Whether it adds a bias to the result of a product, whose kernel does it in passing.
bool addsBias(const Graph& graph, const Op& op);
/// Its rule, read.
const ShardingRule& ruleOf(OpKind kind);
/// Whether the number and shapes of operands, the shape of the result, and the attributes are those of the operation's rule. The
/// error names the operation, the operand, and its shape.
Status verifyOp(const Graph& graph, const Op& op);
/// The shape that the rule gives the operation's result, which need not be there yet. `open` has the sizes that only the caller
/// knows. The error names the operation and what does not fit.
Result<Shape> resultShape(const Graph& graph, const Op& op, std::span<const OpenSize> open = {});
/// All kinds, in the order of OpKind.
const std::vector<const OpDefinition*>& allDefinitions();

// The tables, by family.
std::span<const OpDefinition> denseDefinitions(); ///< embedding, matrix products
std::span<const OpDefinition> elementwiseDefinitions();
std::span<const OpDefinition> normDefinitions();
std::span<const OpDefinition> attentionDefinitions(); ///< heads, rotation, cache, attention
std::span<const OpDefinition> latentDefinitions(); ///< parts of the last dim, latent attention
std::span<const OpDefinition> expertDefinitions(); ///< mixtures of experts
std::span<const OpDefinition> recurrentDefinitions(); ///< short convolutions, linear attention, state spaces
std::span<const OpDefinition> selectionDefinitions(); ///< attention to keys that an indexer chose
std::span<const OpDefinition> viewDefinitions();
std::span<const OpDefinition> lossDefinitions();
std::span<const OpDefinition> updateDefinitions(); ///< gradients of weights summed, optimizer

/// Product of all sizes.
double volume(const Shape& shape);

// Of x [...,in] and a weight with `out` the last dim of the result: one product of all rows.
GemmDims rowsTimesWeight(const LocalShapes& local);
// Of dy [...,out] and x [...,in] -> [out,in]: summed over the rows.
GemmDims weightGradient(const LocalShapes& local);

} // namespace shardboard
