// SPDX-License-Identifier: Apache-2.0
#include "model/io/documents/explainjson.h"

#include "model/io/design/designkeys.h"
#include "model/text/names.h"

#include <nlohmann/json.hpp>

namespace shardboard {

using nlohmann::json;

namespace {

const char* linkName(CauseLink::Kind kind)
{
    constexpr std::array kNames { "layout", "pin", "pick", "product", "need", "update", "earlier" };
    return nameIn(kNames, kind);
}

const char* verdictName(RankedRow::Verdict verdict)
{
    constexpr std::array kNames { "picked", "allowed", "refused", "impossible" };
    return nameIn(kNames, verdict);
}

const char* byName(AxisExplanation::By by)
{
    constexpr std::array kNames { "only-row", "price", "tie", "pin", "combination" };
    return nameIn(kNames, by);
}

json effectJson(const EditEffect& effect)
{
    if (!effect.refusal.empty())
        return { { "refused", effect.refusal } };
    const auto pair = [](auto before, auto after) { return json { { "before", before }, { "after", after } }; };
    return { { "seconds", pair(effect.secondsBefore, effect.seconds) },
             { "collective_bytes", pair(effect.bytesBefore, effect.bytes) },
             { "peak_bytes_per_device", pair(effect.peakBefore, effect.peak) },
             { "collectives", pair(effect.collectivesBefore, effect.collectives) } };
}

class Writer {
public:
    Writer(const Design& design, const Evaluation& evaluation)
        : m_design(design)
        , m_evaluation(evaluation)
        , m_mesh(evaluation.plan.mesh)
    {
    }

    json write(const Explanation& it) const
    {
        json out { { "kind", targetKindName(it.target.kind) }, { "name", it.target.name }, { "picker", it.picker } };
        if (it.target.layer >= 0)
            out["layer"] = it.target.layer;
        if (it.target.kind == ExplainTarget::Kind::Collective)
            out["collective"] = collective(it.target.collective);
        if (it.target.kind == ExplainTarget::Kind::Weight)
            out["weight"] = weight(it.target.weight);
        if (const PlannedOp* op = explainedOp(m_evaluation, it))
            out["operation"] = operation(it, *op);
        out["causes"] = json::array();
        for (const CauseLink& link : it.causes)
            out["causes"].push_back(cause(link));
        out["axes"] = json::array();
        for (const AxisExplanation& on : it.axes)
            out["axes"].push_back(axis(on));
        if (!it.notPicked.empty())
            out["not_picked"] = it.notPicked;
        out["collectives"] = json::array();
        for (const CollectiveId index : it.collectives)
            out["collectives"].push_back(collective(index));
        if (it.target.kind == ExplainTarget::Kind::Weight)
            out["layouts"] = json::array();
        for (const LayoutChoice& choice : it.layouts)
            out["layouts"].push_back({ { "text", choice.text },
                                       { "spec", choice.spec },
                                       { "strategy", strategyJson(std::get<SetStrategy>(choice.edit.changes.front()).entry) },
                                       { "effect", effectJson(choice.effect) } });
        return out;
    }

private:
    const Collective& at(CollectiveId index) const { return m_evaluation.plan.collective(index); }
    const std::string& tensorName(TensorId id) const { return m_evaluation.graph.tensor(id).name; }

    json collective(CollectiveId index) const
    {
        const Collective& it = at(index);
        const PlannedSegment& segment = m_evaluation.plan.segment(it.plannedSegment);
        json axes = json::array();
        for (const int axis : it.axes)
            axes.push_back(m_mesh.axis(axis).name);
        return { { "id", it.id },
                 { "kind", collectiveName(it.kind) },
                 { "axes", axes },
                 { "group_size", it.groupSize },
                 { "tensor", tensorName(it.tensor) },
                 { "from", specText(it.step.before, m_mesh) },
                 { "to", specText(it.step.after, m_mesh) },
                 { "bytes", it.bytes },
                 { "seconds", it.seconds },
                 { "count", it.count },
                 { "layer", segment.name },
                 { "phase", phaseName(segment.phase) },
                 { "wanted_by", segment.name + "/" + m_evaluation.graph.op(it.op).name },
                 { "operand", it.operand },
                 { "brief", it.cause },
                 { "reason", it.reason } };
    }

    json weight(int index) const
    {
        const WeightLayout& it = m_evaluation.weights[static_cast<std::size_t>(index)];
        json out { { "name", it.spec.name },
                   { "shape", it.spec.shape },
                   { "dtype", dtypeName(it.spec.dtype) },
                   { "spec", specText(it.layout, m_mesh) },
                   { "copies", it.copies },
                   { "bytes_per_device", it.bytesPerDevice },
                   { "entry", nullptr } };
        if (it.entry >= 0)
            out["entry"] = { { "number", it.entry + 1 },
                             { "strategy", strategyJson(m_design.strategies[static_cast<std::size_t>(it.entry)]) } };
        return out;
    }

    json operation(const Explanation& explanation, const PlannedOp& planned) const
    {
        const Op& op = m_evaluation.graph.op(planned.op);
        const PlannedSegment& segment = m_evaluation.plan.segment(explanation.segment);
        json operands = json::array();
        for (const OperandUse& use : planned.operands)
            operands.push_back({ { "tensor", tensorName(use.tensor) },
                                 { "before", specText(use.before, m_mesh) },
                                 { "spec", specText(use.layout, m_mesh) } });
        return { { "id", operationId(m_evaluation, explanation.segment, explanation.op) },
                 { "op", opKindName(op.kind) },
                 { "phase", phaseName(segment.phase) },
                 { "layer", segment.name },
                 { "count", planned.count },
                 { "seconds", planned.seconds },
                 { "operands", operands },
                 { "result", { { "tensor", tensorName(op.result) }, { "spec", specText(planned.result, m_mesh) } } } };
    }

    json cause(const CauseLink& link) const
    {
        json out { { "kind", linkName(link.kind) }, { "text", link.text } };
        if (!link.detail.empty())
            out["detail"] = link.detail;
        if (link.tensor != kNoTensor)
            out["tensor"] = tensorName(link.tensor);
        if (link.op.valid())
            out["op"] = m_evaluation.graph.op(link.op).name;
        if (link.pin >= 0)
            out["pin"] = pin(link.pin);
        return out;
    }

    json pin(int index) const
    {
        return { { "number", index + 1 }, { "pin", pinJson(m_design.pins[static_cast<std::size_t>(index)]) } };
    }

    json axis(const AxisExplanation& it) const
    {
        json rows = json::array();
        for (const RankedRow& row : it.rows)
            rows.push_back(rowJson(row));
        json out { { "axis", m_mesh.axis(it.axis).name },
                   { "size", m_mesh.axis(it.axis).size },
                   { "decided_by", byName(it.by) },
                   { "why", it.why },
                   { "rows", rows } };
        if (it.pin >= 0)
            out["pin"] = pin(it.pin);
        if (!it.unmet.empty())
            out["unmet"] = it.unmet;
        return out;
    }

    json rowJson(const RankedRow& row) const
    {
        json moves = json::array();
        for (const RowMove& move : row.moves)
            moves.push_back({ { "kind", collectiveName(move.kind) },
                              { "tensor", tensorName(move.tensor) },
                              { "bytes", move.bytes },
                              { "seconds", move.seconds } });
        json out { { "row", row.row },       { "operands", row.operands },
                   { "result", row.result }, { "verdict", verdictName(row.verdict) },
                   { "sound", row.sound },   { "price_bytes", nullptr },
                   { "seconds", nullptr },   { "moves", moves } };
        if (row.verdict != RankedRow::Verdict::Impossible) {
            out["price_bytes"] = row.cost;
            out["seconds"] = row.seconds;
        }
        if (!row.why.empty())
            out["why"] = row.why;
        if (row.pin)
            out["pin"] = pinJson(*row.pin);
        if (row.effect)
            out["effect"] = effectJson(*row.effect);
        return out;
    }

    const Design& m_design;
    const Evaluation& m_evaluation;
    const Mesh& m_mesh;
};

} // namespace

json explanationJson(const Design& design, const Evaluation& evaluation, const Explanation& explanation)
{
    return Writer(design, evaluation).write(explanation);
}

} // namespace shardboard
