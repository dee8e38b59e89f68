// SPDX-License-Identifier: Apache-2.0
#include "engine/conformance/opcase.h"

#include "engine/conformance/opsample.h"
#include "model/ops/opdefinition.h"
#include "model/ops/shardingrule.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace shardboard::conformance {

namespace {

using Cases = std::vector<OpCase>;

OpAttributes with(const std::function<void(OpAttributes&)>& set)
{
    OpAttributes out;
    set(out);
    return out;
}

/// An operation on made-up operands of these shapes; operand 1 of rank 1 lies around 1, as a norm's weight.
OpCase plain(OpKind kind, const std::vector<Shape>& operands, const Shape& result, const OpAttributes& attributes = {},
             const std::string& remark = {})
{
    GraphMaker maker;
    std::vector<TensorId> ids;
    for (std::size_t i = 0; i < operands.size(); ++i)
        ids.push_back(maker.input(operands[i], i == 1 && operands[i].size() == 1 ? 1 : 0));
    maker.op(kind, ids, result, attributes);
    return maker.done(opKindName(kind) + " " + shapeText(operands.front()) + (remark.empty() ? "" : ", " + remark));
}

/// The same with operand 1 as a weight, which may be read in pieces.
OpCase weighted(OpKind kind, const Shape& x, const Shape& weight, const Shape& result)
{
    GraphMaker maker;
    maker.op(kind, { maker.input(x), maker.weight(weight) }, result);
    return maker.done(opKindName(kind) + " " + shapeText(x) + " " + shapeText(weight));
}

/// Recurrences keep to numbers that many tokens do not blow up.
Fill fillOf(const std::vector<ShapeRule::Side>& operands, const Shape& shape, std::size_t i)
{
    const bool recurs = std::ranges::any_of(operands, [](const ShapeRule::Side& side) { return side.name == "decay"; });
    if (recurs && operands[i].name == "decay")
        return { -1, 0.3 };
    if (recurs && operands[i].name == "rate")
        return { 0.5, 0.2 };
    if (recurs && operands[i].name == "k")
        return { 0, 1 / std::sqrt(static_cast<double>(shape.back())) };
    return { i == 1 && shape.size() == 1 ? 1.0 : 0.0, 1 };
}

/// What the rule of every operation makes, small and, but for gradients, large.
void addSamples(Cases& all)
{
    for (const OpDefinition* definition : allDefinitions())
        for (const std::int64_t most : { 400, 20'000 }) {
            const auto& operands = ruleOf(definition->kind).shapes().operands();
            const auto sample = sampleOf(definition->kind, most);
            if (!definition->runs || !sample || (most > 1000 && operands.front().name == "dy"))
                continue;
            GraphMaker maker;
            std::vector<TensorId> ids;
            for (std::size_t i = 0; i < operands.size(); ++i) {
                const Shape& shape = sample->operands[i];
                const auto [mean, deviation] = fillOf(operands, shape, i);
                if (operands[i].name == "gates") // most of them are 0
                    ids.push_back(maker.op(OpKind::TopKGates, { maker.input(shape) }, shape,
                                           with([](OpAttributes& a) { a.chosen = 2, a.scale = 1; })));
                else
                    ids.push_back(operands[i].name == "weight" ? maker.weight(shape, mean, deviation)
                                                               : maker.input(shape, mean, deviation));
            }
            maker.op(definition->kind, ids, sample->result, sample->attributes);
            all.push_back(maker.done(definition->name + (" of " + shapeText(sample->operands.front()))));
        }
}

/// Sizes and attributes at which kernels take another way.
void addLimits(Cases& all)
{
    const Shape x { 3, 5, 18 };
    const Shape wide { 2, 7, 515 };
    for (const OpKind kind : { OpKind::Add, OpKind::Mul }) {
        all.push_back(plain(kind, { x, { 18 } }, x, {}, "broadcast"));
        all.push_back(plain(kind, { x, { 5, 1 } }, x, {}, "broadcast in the last dim"));
    }
    all.push_back(plain(OpKind::SoftCap, { x }, x, with([](OpAttributes& a) { a.cap = 0.05; }), "low"));
    const auto norm = with([](OpAttributes& a) { a.epsilon = 1e-5; });
    all.push_back(plain(OpKind::RmsNorm, { wide, { 515 } }, wide, norm));
    all.push_back(plain(OpKind::LayerNorm, { wide, { 515 }, { 515 } }, wide, norm));
    all.push_back(weighted(OpKind::Linear, { 2, 37, 130 }, { 75, 130 }, { 2, 37, 75 }));
    all.push_back(weighted(OpKind::Linear, { 1, 1, 200 }, { 300, 200 }, { 1, 1, 300 }));
    all.push_back(weighted(OpKind::Linear, { 1, 3, 64 }, { 1100, 64 }, { 1, 3, 1100 }));
    all.push_back(weighted(OpKind::LinearGradX, { 2, 37, 75 }, { 75, 130 }, { 2, 37, 130 }));
    all.push_back(plain(OpKind::LinearGradW, { { 2, 37, 75 }, { 2, 37, 130 } }, { 75, 130 }));
    for (const std::int64_t tokens : { 3, 40 }) {
        all.push_back(weighted(OpKind::ExpertLinear, { 6, 2, tokens, 10 }, { 6, 14, 10 }, { 6, 2, tokens, 14 }));
        all.push_back(weighted(OpKind::ExpertLinearT, { 6, 2, tokens, 10 }, { 6, 10, 14 }, { 6, 2, tokens, 14 }));
    }
    const auto rope = with([](OpAttributes& a) { a.ropeTheta = 10000, a.position = 3; });
    all.push_back(plain(OpKind::Rope, { { 2, 5, 6, 10 } }, { 2, 5, 6, 10 }, rope, "the whole head"));
    all.push_back(plain(OpKind::KvAppend, { { 3, 7, 4, 6 } }, { 3, 7, 4, 6 }, {}, "nothing before"));
}

void addAttention(Cases& all)
{
    struct Form {
        const char* name;
        std::int64_t fresh, cached, heads, kvHeads, stored, width;
        double scale, cap;
    };
    for (const Form& f :
         { Form { "plain", 7, 7, 4, 4, 8, 8, 0, 0 }, Form { "grouped heads", 9, 9, 12, 6, 8, 8, 0, 0 },
           Form { "wide values, capped", 9, 9, 6, 3, 5, 5, 0.7, 0.8 }, Form { "one new token", 1, 33, 8, 2, 8, 8, 0, 0 },
           Form { "a part of the values", 1, 9, 6, 1, 8, 5, 0.3, 0 }, Form { "some new tokens", 4, 19, 4, 2, 8, 8, 0, 0 },
           Form { "many tokens", 150, 150, 4, 2, 8, 8, 0, 0 } }) {
        const Shape q { 2, f.fresh, f.heads, 8 }, k { 2, f.cached, f.kvHeads, 8 }, v { 2, f.cached, f.kvHeads, f.stored };
        const Shape y { 2, f.fresh, f.heads, f.width };
        const auto a = with([&](OpAttributes& out) { out.scale = f.scale, out.cap = f.cap; });
        all.push_back(plain(OpKind::Attention, { q, k, v }, y, a, f.name));
        all.push_back(plain(OpKind::SinkAttention, { q, k, v, { f.heads } }, y, a, f.name));
    }
    const Shape x { 2, 6, 12, 4 };
    all.push_back(plain(OpKind::Attention, { x, x, x }, x, with([](OpAttributes& a) { a.unfused = true; }), "unfused"));
    const Shape cache { 2, 14, 3, 4 };
    all.push_back(plain(OpKind::Attention, { x, cache, cache }, x, with([](OpAttributes& a) { a.bothWays = true; }), "both ways"));
    all.push_back(plain(OpKind::Attention, { x, cache, cache }, x, with([](OpAttributes& a) { a.alibi = true; }), "alibi"));
    all.push_back(plain(OpKind::Attention, { x, x, x }, x, with([](OpAttributes& a) { a.alibi = true; }), "alibi of a square"));
}

void addEmbedding(Cases& all)
{
    GraphMaker maker;
    maker.op(OpKind::Embedding, { maker.tokens({ 3, 7 }), maker.weight({ 61, 18 }) }, { 3, 7, 18 });
    all.push_back(maker.done("embedding"));
    GraphMaker gradient;
    const TensorId tokens = gradient.tokens({ 3, 70 });
    gradient.op(OpKind::Embedding, { tokens, gradient.weight({ 61, 18 }) }, { 3, 70, 18 });
    gradient.op(OpKind::EmbeddingGrad, { gradient.input({ 3, 70, 18 }), tokens }, { 61, 18 });
    all.push_back(gradient.done("embedding gradient"));
}

void addLoss(Cases& all)
{
    for (const std::int64_t vocabulary : { 37, 1500 }) {
        const Shape logits { 2, 5, vocabulary }, rows { 2, 5 };
        const std::string of = " of " + std::to_string(vocabulary);
        GraphMaker maker;
        const TensorId x = maker.input(logits, 0.5, 2);
        const TensorId targets = maker.tokens(rows);
        const TensorId highest = maker.op(OpKind::LogitMax, { x }, rows);
        all.push_back(maker.done("largest logit" + of));
        const TensorId sum = maker.op(OpKind::SumExp, { x, highest }, rows);
        all.push_back(maker.done("sum of exponentials" + of));
        const TensorId target = maker.op(OpKind::TargetLogit, { x, targets }, rows);
        all.push_back(maker.done("target logit" + of));
        GraphMaker whole = maker;
        whole.op(OpKind::TokenLoss, { highest, sum, target }, rows);
        all.push_back(whole.done("loss" + of));
        maker.op(OpKind::LogitGrad, { x, highest, sum, targets }, logits);
        all.push_back(maker.done("gradient of the logits" + of));
    }
}

/// Tokens to experts and back, most gates being 0.
void addExperts(Cases& all)
{
    const auto softmax = with([](OpAttributes& a) { a.chosen = 2, a.scale = 1, a.normalized = true; });
    const auto grouped = with([](OpAttributes& a) { a.chosen = 3, a.scale = 4, a.groups = 4, a.chosenGroups = 2; });
    const Shape logits { 2, 6, 8 }, x { 2, 6, 10 }, spread { 8, 2, 6, 10 }, wide { 8, 2, 6, 14 };
    all.push_back(plain(OpKind::TopKGates, { logits }, logits, grouped, "groups"));
    GraphMaker maker;
    const TensorId gates = maker.op(OpKind::TopKGates, { maker.input(logits) }, logits, softmax);
    const TensorId sent = maker.op(OpKind::Dispatch, { maker.input(x), gates }, spread);
    all.push_back(maker.done("dispatch"));
    const TensorId product = maker.op(OpKind::ExpertLinear, { sent, maker.weight({ 8, 14, 10 }) }, wide);
    all.push_back(maker.done("products of few tokens of each expert"));
    const TensorId sum = maker.op(OpKind::ExpertBias, { product, maker.weight({ 8, 14 }) }, wide);
    all.push_back(maker.done("biases of experts"));
    const Shape back { 2, 6, 14 };
    maker.op(OpKind::Combine, { sum, gates }, back);
    all.push_back(maker.done("combine"));
    const TensorId dy = maker.op(OpKind::CombineGradY, { maker.input(back), gates }, wide);
    all.push_back(maker.done("gradient of combine"));
    GraphMaker ofGates = maker;
    ofGates.op(OpKind::CombineGradGates, { ofGates.input(back), sum }, logits);
    all.push_back(ofGates.done("gradient of the gates"));
    GraphMaker ofBias = maker;
    ofBias.op(OpKind::ExpertBiasGrad, { dy }, { 8, 14 });
    all.push_back(ofBias.done("gradient of the biases of experts"));
    GraphMaker ofWeight = maker;
    ofWeight.op(OpKind::ExpertLinearGradW, { dy, sent }, { 8, 14, 10 });
    all.push_back(ofWeight.done("gradient of the weights of experts"));
    maker.op(OpKind::DispatchGrad, { dy, gates }, back);
    all.push_back(maker.done("gradient of dispatch"));
}

} // namespace

TensorId GraphMaker::add(Shape shape, TensorRole role, Fill fill)
{
    GraphTensor tensor;
    tensor.spec.name = "t" + std::to_string(m_graph.tensors.size());
    tensor.spec.shape = std::move(shape);
    tensor.spec.dtype = DType::F32;
    tensor.spec.role = role;
    tensor.fill = fill;
    m_graph.tensors.push_back(std::move(tensor));
    return lastId(m_graph.tensors);
}

TensorId GraphMaker::tokens(Shape shape)
{
    const TensorId id = add(std::move(shape), TensorRole::Input, {});
    m_graph.tensors.back().spec.dtype = DType::I32;
    return id;
}

TensorId GraphMaker::op(OpKind kind, std::vector<TensorId> operands, Shape result, const OpAttributes& attributes)
{
    const TensorId id = add(std::move(result), TensorRole::Activation, {});
    m_graph.ops.push_back({ "op" + std::to_string(m_graph.ops.size()), kind, std::move(operands), id, attributes });
    return id;
}

OpCase GraphMaker::done(std::string name)
{
    Graph graph = m_graph;
    Segment segment;
    segment.name = "case";
    for (std::size_t i = 0; i < graph.ops.size(); ++i)
        segment.ops.push_back(OpId(i));
    graph.segments.push_back(std::move(segment));
    return { std::move(name), std::move(graph) };
}

std::vector<OpCase> opCases()
{
    Cases all;
    addSamples(all);
    addLimits(all);
    addAttention(all);
    addEmbedding(all);
    addLoss(all);
    addExperts(all);
    return all;
}

} // namespace shardboard::conformance
