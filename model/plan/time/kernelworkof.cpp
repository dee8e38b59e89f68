// SPDX-License-Identifier: Apache-2.0
#include "model/plan/time/kernelworkof.h"

#include "model/ops/opdefinition.h"
#include "model/plan/largestshard.h"
#include "model/text/contains.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

double bytesOfShape(const Shape& shape, DType dtype)
{
    return static_cast<double>(bytesOf(elementCount(shape).value_or(0), dtype));
}

/// Gradient and states are read, states and weight are written.
double optimizerBytes(double elements, int moments, const HeldTypes& held)
{
    const double weight = bitsOf(held.weights) / 8.0;
    const double read = held.copiesWeights() ? 0 : weight; // else the copy among the states is read in its place
    return elements * (bitsOf(held.gradients) / 8.0 + read + 2 * (held.momentBytes(moments) + held.masterBytes()) + weight);
}

/// The products of Newton-Schulz iterations on whole matrices in 16 bits, of [m, n] with m the smaller: X Xt, A A and B X, each of
/// which reads its operands and what is added, and writes its result. Every device that has a part of a matrix makes all of it, as
/// Megatron-Core's TensorParallelMuon does in its mode `duplicated`.
void orthogonalize(KernelWork& work, const Shape& gradient)
{
    const double m = static_cast<double>(std::min(gradient.back(), gradient[gradient.size() - 2]));
    const double n = static_cast<double>(std::max(gradient.back(), gradient[gradient.size() - 2]));
    const double rounds = kNewtonSchulzSteps * volume(gradient) / (m * n);
    work.dtype = DType::BF16;
    work.gemm = { rounds, m, n, 2 * m + m * m / n }; // all three as one product
    work.flops = rounds * (4 * m * m * n + 2 * m * m * m);
    work.bytes = rounds * 2 * (3 * m * n + 5 * m * m);
    work.launches = 3 * kNewtonSchulzSteps + 2;
    work.between += 3 * 2 * volume(gradient); // the norm is taken, and divided by
}

/// The attention core of arXiv 2205.05198: forward product, softmax, dropout (where there is one), product; backward four products,
/// of which each of the three gradients gets its share. All over the whole square of scores, where fused attention's FLOPs are
/// those of the causal half, with five products backward since it makes the scores again. Of a score of e bytes forward write e,
/// the softmax reads and writes e, the dropout as well with a mask of one byte, and the product reads e; backward the products move
/// 4 e, the dropout 2 e + 1 and the softmax 3 e.
void unfuse(KernelWork& work, const Op& op, const LocalShapes& local)
{
    const bool backward = definitionOf(op.kind).statistics == nullptr;
    const std::size_t q = backward ? 1 : 0;
    const Shape& queries = local.operands[q];
    const Shape& wholeQueries = (*local.globalOperands)[q];
    const Shape& wholeKeys = (*local.globalOperands)[q + 1];
    const double scores = volume(queries) / static_cast<double>(queries.back()) * static_cast<double>(wholeKeys[1]);
    const double e = bitsOf(work.dtype) / 8.0;
    // One way; the other one has its mask to read, too. What is written forward is e + 1, what is read e.
    const double dropout = op.attributes.dropout ? 2 * e + 1 : 0;
    work.kernel = KernelClass::UnfusedAttention;
    work.flops *= (wholeKeys[1] == wholeQueries[1] ? 2.0 : 1.0) * (backward ? 4.0 / 5.0 : 1.0);
    work.launches = backward ? 2 : op.attributes.dropout ? 4 : 3;
    work.bytes += (backward ? 4.0 / 3.0 : 2.0) * e * scores;
    work.between = (backward ? (3 * e + dropout) / 3 : 2 * e + dropout) * scores;
    if (op.attributes.scoresAgain && definitionOf(op.kind).makesScoresAgain) {
        // Once for the three gradients: the first product, softmax and dropout.
        work.flops += 2 * scores * static_cast<double>(queries.back());
        work.launches += op.attributes.dropout ? 3 : 2;
        work.bytes += e * scores;
        work.between += (2 * e + dropout) * scores;
    }
}

/// What the time of fused attention depends on beside its FLOPs. Of a gradient the queries come second.
void describeAttention(KernelWork& work, const OpDefinition& definition, const LocalShapes& local, const KernelSettings& settings)
{
    work.flash2 = settings.software != Software::Fused;
    work.backward = definition.statistics == nullptr;
    const std::size_t queries = work.backward ? 1 : 0;
    if (local.operands.size() < queries + 2)
        return;
    work.headDim = static_cast<double>(local.operands[queries].back());
    if (const Shape& keys = (*local.globalOperands)[queries + 1]; keys.size() > 1)
        work.keys = static_cast<double>(keys[1]);
}

/// Of queries that are cut along the sequence. In order, the device with the last part of n has all n parts of the keys before it,
/// where causal pairs are (n + 1) / 2 of them on average: 2 - 1 / n times as many. From head and tail all have the same; PyTorch
/// makes n kernels of it, as keys would come around a ring, and adds up in f32 what they give, in every second turn for half of the
/// queries (torch/distributed/tensor/experimental/_context_parallel/_attention.py, 2.15: _SDPAMerger.step and _merge_one, 6 bytes
/// an element for the cast and 32 for the sum; _templated_ring_attention_backward, 10 for a gradient).
void orderContext(KernelWork& work, const LocalShapes& local, const KernelSettings& settings)
{
    const Shape& whole = (*local.globalOperands)[work.backward ? 1 : 0];
    const Shape& queries = local.operands[work.backward ? 1 : 0];
    if (whole.size() < 2 || queries[1] < 2 || queries[1] >= whole[1])
        return;
    const double parts = static_cast<double>(whole[1]) / static_cast<double>(queries[1]);
    if (settings.contextOrder == ContextOrder::InOrder) {
        work.flops *= 2 - 1 / parts;
        return;
    }
    if (settings.software == Software::Fused)
        return;
    const double turns = parts - 1;
    work.between += turns * 0.75 * (work.backward ? 10 : 38) * volume(local.result);
    work.launches += turns * (work.backward ? 2 : 9);
}

/// Of the host, in operations of PyTorch: beside its module the product of one expert, which Transformer Engine 2.9 starts from a
/// loop in C++ (general_grouped_gemm). A call from there has half of the layers of one from Python.
constexpr double kCallFromC = 0.5;
/// Tensors and quantizers of an expert: a newer block, in which all of them are one kernel, still takes 3.3 ms of a GB200's host
/// for 64 experts forward and backward (TransformerEngine#2897), of which that is the share of each of six products.
constexpr double kTensorsOfExpert = 0.23;
/// In fp8 what enters the layer and its result's gradient are cast expert by expert (pytorch/csrc/extensions/cast.cpp,
/// split_quantize), two casts for three products: a kernel and a tensor of Python for each, and two kernels more where values are
/// read for their largest one first.
/// The layer itself takes every weight through functions of Python (module/grouped_linear.py): whose gradient is added where, and
/// in fp8 its cast, what is saved and taken back (get_weight_workspace, prepare_for_saving, restore_from_saved). Nobody has
/// measured one: half an operation is assumed, as of a call from C++.
double callsOfExpert(bool narrow, const KernelSettings& settings)
{
    const double functions = narrow ? 4 : 1;
    const double cast = narrow ? 2 + 2 * factsOf(settings.fp8.recipe).passes : 0;
    return kTensorsOfExpert + kCallFromC * (1 + 2.0 / 3 * cast + functions / 3);
}
/// A product in fp8 against one in 16 bits: "more than 2x" (TransformerEngine#761).
constexpr double kProductInFp8 = 2;
/// Every parameter has a hook of its own that its gradient runs (Megatron-Core, core/distributed/distributed_data_parallel.py).
constexpr double kHook = 1;

/// Tokens to experts and back as Megatron-Core 0.15 does it, counted in core/transformer/moe (router.py, token_dispatcher.py,
/// moe_utils.py) with fused permutations: kernels, what the host goes through beside one call for each of them (views, collectives,
/// copies to the host), how much of both a recorded graph of the router and its preparation saves, and how often the tokens of
/// experts are read or written more than once: those of one expert come from every device, and are put together.
struct Routing {
    OpKind kind;
    double kernels, calls, recorded, passes;
};
constexpr Routing kPerExpert[] {
    { OpKind::TopKGates, 8, 4, 12, 0 },          { OpKind::BiasedTopKGates, 8, 4, 12, 0 }, { OpKind::TopKGatesGrad, 5, 2, 7, 0 },
    { OpKind::BiasedTopKGatesGrad, 5, 2, 7, 0 }, { OpKind::Dispatch, 18, 22, 12, 2 },      { OpKind::Combine, 4, 8, 0, 2 },
    { OpKind::CombineGradY, 4, 8, 0, 2 },        { OpKind::DispatchGrad, 4, 10, 0, 2 },
};
/// With DeepEP or HybridEP one kernel sends, another waits, and what arrives is put in order once (fused_a2a.py).
constexpr Routing kPerNode[] {
    { OpKind::TopKGates, 8, 4, 12, 0 },          { OpKind::BiasedTopKGates, 8, 4, 12, 0 }, { OpKind::TopKGatesGrad, 5, 2, 7, 0 },
    { OpKind::BiasedTopKGatesGrad, 5, 2, 7, 0 }, { OpKind::Dispatch, 7, 13, 4, 0 },        { OpKind::Combine, 3, 5, 0, 0 },
    { OpKind::CombineGradY, 3, 5, 0, 0 },        { OpKind::DispatchGrad, 3, 5, 0, 0 },
};

/// Of tokens on their way to experts and back, and of the router. In fp8 an expert's rows are filled up to a multiple of the
/// scales' blocks, and cut again (experts.py, fp8_padding): they are read and written once more.
void route(KernelWork& work, const Op& op, double ofExperts, const KernelSettings& settings)
{
    const auto& table = settings.dispatch == Dispatch::PerNode ? kPerNode : kPerExpert;
    const auto found = std::ranges::find(table, op.kind, &Routing::kind);
    if (found == std::end(table))
        return;
    work.launches = found->kernels;
    work.hostCalls += found->calls;
    if (ofExperts == 0) // the router
        return;
    work.hostCalls -= settings.inGraph ? found->recorded : 0;
    work.bytes += (found->passes + (settings.fp8Products && !settings.fixedExperts ? 2 : 0)) * ofExperts;
    work.readsBack = op.kind == OpKind::Dispatch && !settings.fixedExperts;
}

/// Megatron has queries, keys and values as one weight, and gate and up: the host starts one product for them.
bool isJoined(const Op& op)
{
    return std::ranges::any_of(std::array { ".k_proj", ".v_proj", ".gate_proj" },
                               [&](const char* name) { return op.name.find(name) != std::string::npos; });
}

/// What the host goes through for a product or attention beside one call for each kernel, and for all that belongs to one expert
/// after the other, which no graph has.
void startFromHost(KernelWork& work, const Op& op, const OpDefinition& definition, bool ofExperts, const KernelSettings& settings)
{
    const bool narrow = work.kernel == KernelClass::Gemm && bitsOf(work.dtype) <= 8;
    const bool joined = settings.expertsApart && isJoined(op);
    if (settings.productCalls > 1 && !joined && (work.kernel == KernelClass::Gemm || work.kernel == KernelClass::Attention))
        work.hostCalls += std::max(0.0, settings.productCalls * (narrow ? kProductInFp8 : 1) - work.launches);
    if (!settings.expertsApart)
        return;
    const bool apart = ofExperts && work.gemm.b > 1;
    if (ofExperts && !settings.fixedExperts)
        work.inGraph = false;
    if (joined) {
        work.hostCalls = -work.launches;
        return;
    }
    if (apart)
        work.hostCalls += work.gemm.b * callsOfExpert(narrow, settings);
    if (definition.sumsRows)
        work.hostCalls += kHook * (apart ? work.gemm.b : 1);
}

/// `elements` of both operands are cast from 16 bits.
void castToFp8(KernelWork& work, double elements, double weights, const KernelSettings& settings)
{
    const Fp8RecipeFacts& recipe = factsOf(settings.fp8.recipe);
    const bool fused = settings.software == Software::Fused;
    const bool said = recipe.recipe != Fp8Recipe::Usual;
    const double cast = elements - (settings.fp8.gather ? weights : 0);
    work.dtype = DType::F8E4M3;
    if (!fused) {
        work.bytes -= elements;
        work.between += 3 * cast;
        work.launches += 2;
    }
    if (!fused || said) {
        work.between += 2 * recipe.passes * cast + (recipe.twoCopies ? cast : 0);
        work.launches += 2 * recipe.passes;
    }
}

/// What is stored is read, and written in the type in which it is gathered and read. Of a table that is looked up in place only
/// the rows that are wanted are.
void castWeights(KernelWork& work, const Graph& graph, const Mesh& mesh, const PlannedOp& planned, const KernelSettings& settings)
{
    const HeldTypes& held = settings.held;
    double bytes = 0;
    for (const OperandUse& use : planned.operands)
        if (const TensorSpec& spec = graph.tensor(use.tensor);
            spec.role == TensorRole::Weight && (work.kernel != KernelClass::Lookup || !use.collectives.empty()))
            bytes += volume(largestShape(spec.shape, use.before, mesh)) * (bitsOf(held.weights) + bitsOf(held.gathered)) / 8.0;
    const bool products = work.kernel == KernelClass::Gemm;
    (products ? work.between : work.bytes) += settings.casts * bytes;
}

} // namespace

KernelWork kernelWorkOf(const Graph& graph, const Mesh& mesh, const PlannedOp& planned, const KernelSettings& settings)
{
    const Op& op = graph.op(planned.op);
    const OpDefinition& definition = definitionOf(op.kind);
    const TensorSpec& out = graph.tensor(op.result);
    KernelWork work;
    work.kernel = addsBias(graph, op) ? KernelClass::None : kernelClassOf(definition);
    work.op = definition.name;
    work.dtype = out.dtype;
    if (work.kernel == KernelClass::None) {
        work.copied = 2 * bytesOfShape(largestShape(out.shape, planned.result, mesh), out.dtype);
        return work;
    }
    work.inGraph = settings.inGraph;
    const auto densityOf = [&](TensorId id) { return graph.entry(id).density; };
    std::vector<Shape> shapes;
    LocalShapes local { {}, largestShape(out.shape, planned.result, mesh), &shapes };
    if (definition.moments > 0) {
        const double bytes = optimizerBytes(volume(local.result), definition.moments, settings.held);
        (op.kind == OpKind::MuonStep ? work.between : work.bytes) = bytes;
        if (op.kind == OpKind::MuonStep)
            orthogonalize(work, largestShape(out.shape, planned.operands[1].layout, mesh));
        return work;
    }
    double elements = 0; // of the operands
    double weights = 0; // of weights among them
    double least = densityOf(op.result); // rows without data are not worked on
    work.bytes = settings.addsGradients && definition.sumsRows ? 2 * bytesOfShape(local.result, settings.held.gradients)
                                                               : bytesOfShape(local.result, out.dtype) * least;
    double ofExperts = 0; // bytes of the tokens of experts
    const auto countExperts = [&](const TensorSpec& spec, const Shape& shape, double density) {
        if (density < 1 && contains(spec.dimLabels, "experts"))
            ofExperts = std::max(ofExperts, bytesOfShape(shape, spec.dtype) * density);
    };
    countExperts(out, local.result, least);
    for (std::size_t i = 0; i < planned.operands.size(); ++i) {
        const OperandUse& use = planned.operands[i];
        const TensorSpec& spec = graph.tensor(use.tensor);
        shapes.push_back(spec.shape);
        local.operands.push_back(largestShape(spec.shape, use.layout, mesh));
        elements += volume(local.operands.back()) * densityOf(use.tensor);
        if (spec.role == TensorRole::Weight)
            weights += volume(local.operands.back());
        countExperts(spec, local.operands.back(), densityOf(use.tensor));
        const auto sameAs = [&](const OperandUse& other) { return other.tensor == use.tensor && other.layout == use.layout; };
        if (work.kernel == KernelClass::Attention
            && std::any_of(planned.operands.begin(), planned.operands.begin() + static_cast<std::ptrdiff_t>(i), sameAs))
            continue; // the latent cache is keys and values at once, and read once
        if (static_cast<int>(i) == definition.lookedUp) // as many rows as the result has
            work.bytes += bytesOfShape(local.result, out.dtype);
        else if (spec.packing.present()) // the kernel unpacks what it reads
            work.bytes += static_cast<double>(storedBytes(spec, local.operands.back())) * densityOf(use.tensor);
        else
            work.bytes += bytesOfShape(local.operands.back(), spec.role == TensorRole::Weight ? settings.held.gathered : spec.dtype)
                * densityOf(use.tensor);
        least = std::min(least, densityOf(use.tensor));
    }
    if (op.kind == OpKind::SelectedAttention && local.operands.size() > 2) // of keys and values those that were chosen
        for (const std::size_t i : { std::size_t { 1 }, std::size_t { 2 } })
            if (i == 1 || planned.operands[1].tensor != planned.operands[2].tensor)
                work.bytes -= (1 - op.attributes.attended)
                    * bytesOfShape(local.operands[i], graph.tensor(planned.operands[i].tensor).dtype)
                    * densityOf(planned.operands[i].tensor);
    if (definition.appends) // new tokens are read and written, the others stay where they are
        work.bytes = 2 * bytesOfShape(local.operands.front(), out.dtype);
    if (definition.flops != nullptr)
        work.flops = definition.flops(local) * least * op.attributes.attended;
    if (op.attributes.unfused)
        unfuse(work, op, local);
    else if (work.kernel == KernelClass::Attention)
        describeAttention(work, definition, local, settings);
    if (work.kernel == KernelClass::Attention)
        orderContext(work, local, settings);
    if (settings.software == Software::Eager && definition.eager.narrow + definition.eager.wide > 0) {
        const EagerPasses& eager = definition.eager;
        const double bytes = bitsOf(graph.tensor(planned.operands.front().tensor).dtype) / 8.0;
        work.bytes = volume(local.operands.front()) * least * (eager.narrow * bytes + eager.wide * 4);
        work.launches = eager.launches;
    }
    // Activations may be held in another type than products are computed in.
    if (settings.computed && work.flops > 0)
        work.dtype = *settings.computed;
    if (settings.fp8Products && work.kernel == KernelClass::Gemm && bitsOf(work.dtype) == 16)
        castToFp8(work, elements, weights, settings);
    if (settings.casts > 0)
        castWeights(work, graph, mesh, planned, settings);
    if (definition.gemm != nullptr) {
        work.gemm = definition.gemm(local);
        (definition.sumsRows ? work.gemm.k : work.gemm.m) *= least;
    }
    if (settings.expertsApart && (ofExperts > 0 || contains(out.dimLabels, "experts")))
        route(work, op, ofExperts, settings);
    startFromHost(work, op, definition, ofExperts > 0, settings);
    return work;
}

} // namespace shardboard
