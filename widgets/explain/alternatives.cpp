// SPDX-License-Identifier: Apache-2.0
#include "widgets/explain/alternatives.h"

#include "model/design/evaluate/evaluate.h"
#include "model/plan/planner/pinning.h"
#include "model/text/contains.h"
#include "widgets/document/shownspec.h"
#include "widgets/jobs/background.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace shardboard {

namespace {

constexpr int kMostAxes = 3; // each costs two or three evaluations

void evaluateInto(Alternative& alternative, int weight, Notation notation)
{
    const auto evaluation = evaluate(alternative.edit.design);
    if (!evaluation.ok()) {
        alternative.refusal = evaluation.cancelled() ? QObject::tr("cancelled") : errorText(evaluation.error());
        return;
    }
    const Evaluation& result = *evaluation.value();
    alternative.seconds = result.plan.seconds();
    alternative.peak = result.plan.memory.peak;
    if (weight < static_cast<int>(result.weights.size())) {
        const auto& layout = result.weights[static_cast<std::size_t>(weight)].layout;
        alternative.layout = layout;
        alternative.spec = specIn(notation, layout, result.plan.mesh).marked();
    }
}

/// Seconds of a step without pins; nothing where that cannot be planned.
std::optional<double> withoutPins(Design design)
{
    design.pins.clear();
    const auto evaluation = planOnly(design, Misfits::Replicate);
    return evaluation.ok() ? std::optional(evaluation.value()->plan.seconds()) : std::nullopt;
}

/// The design's pins that speak of an operation which takes the weight, or of what that takes beside it.
QString pinsAround(const Design& design, int weight)
{
    constexpr qsizetype kMost = 2;
    const auto evaluation = planOnly(design, Misfits::Replicate);
    if (!evaluation.ok() || weight >= static_cast<int>(evaluation.value()->weights.size()))
        return {};
    const Graph& graph = evaluation.value()->graph;
    const TensorId tensor = evaluation.value()->weights[static_cast<std::size_t>(weight)].tensor;
    std::set<TensorId> around;
    for (const Op& op : graph.ops)
        if (contains(op.operands, tensor)) {
            around.insert(op.result);
            around.insert(op.operands.begin(), op.operands.end());
        }
    QStringList out;
    for (const Pin& pin : design.pins)
        if (std::ranges::any_of(graph.segments, [&](const Segment& segment) {
                return std::ranges::any_of(segment.ops, [&](OpId op) {
                    return around.contains(graph.op(op).result) && pinNames(pin, graph, op, segment.name);
                });
            }))
            out << qstr(pinText(pin));
    if (out.size() > kMost)
        out = QStringList(out.mid(0, kMost)) << QObject::tr("%1 more").arg(out.size() - kMost);
    return out.join(QStringLiteral(", "));
}

/// Whether the pins are why an alternative takes as long as what is there.
void findPins(Alternative& alternative, const Alternative& current, int weight, std::optional<double>& currentWithout)
{
    const Design& design = current.edit.design;
    if (design.pins.empty() || design.picker.profile != PickerProfile::Shardboard || !design.model.hasGraph()
        || !alternative.refusal.isEmpty() || alternative.layout == current.layout
        || !sameStepTime(current.seconds, alternative.seconds))
        return;
    if (!currentWithout)
        currentWithout = withoutPins(design);
    const auto without = withoutPins(alternative.edit.design);
    if (currentWithout && without && !sameStepTime(*currentWithout, *without)) {
        alternative.pins = pinsAround(design, weight);
        if (alternative.pins.isEmpty())
            alternative.pins = QObject::tr("those of other operations");
    }
}

} // namespace

bool sameStepTime(double now, double then) { return now > 0 && std::abs(then - now) / now * 100 < 0.05; }

std::vector<Alternative> weightCandidates(const Document& document, int weight)
{
    std::vector<Alternative> out;
    const auto evaluation = document.evaluation();
    if (!evaluation || weight < 0 || weight >= static_cast<int>(evaluation->weights.size()))
        return out;
    const WeightLayout& now = evaluation->weights[static_cast<std::size_t>(weight)];
    const Mesh& mesh = document.design().mesh;
    Alternative current;
    current.title = now.layout.isReplicated() ? QObject::tr("replicated") : parallelText(now);
    current.current = true;
    current.layout = now.layout;
    current.spec = specIn(document.notation(), now.layout, mesh).marked();
    current.seconds = evaluation->plan.seconds();
    current.peak = evaluation->plan.memory.peak;
    current.edit.design = document.design();
    out.push_back(std::move(current));
    const auto add = [&](const QString& title, WeightEdit edit) {
        Alternative alternative;
        alternative.title = title;
        alternative.edit = std::move(edit);
        out.push_back(std::move(alternative));
    };
    add(QObject::tr("replicate"),
        strategyEdit(document, { weight }, Strategy {}, QObject::tr("Replicate %1").arg(weightsText(document, { weight }))));
    const int dims = static_cast<int>(std::min<std::size_t>(now.spec.shape.size(), 2));
    int tried = 0;
    for (int axis = 0; axis < mesh.axisCount() && tried < kMostAxes; ++axis) {
        const bool stages = axis == stageAxis(document.design()); // nothing is cut over them
        if (mesh.axis(axis).size == 1 || (stages && dimOfAxis(now.layout, axis) < 0))
            continue;
        ++tried;
        const QString name = qstr(mesh.axis(axis).name);
        for (int dim = -1; dim < (stages ? 0 : dims); ++dim)
            if (dim != dimOfAxis(now.layout, axis))
                add(dim < 0 ? QObject::tr("take %1 off").arg(name) : QObject::tr("cut dim %1 over %2").arg(dim).arg(name),
                    axisEdit(document, { weight }, axis, dim));
    }
    return out;
}

std::vector<Alternative> evaluatedAlternatives(std::vector<Alternative> candidates, int weight, Notation notation,
                                               const std::atomic<bool>* stop)
{
    std::vector<Alternative> out;
    std::optional<double> currentWithout;
    for (Alternative& alternative : candidates) {
        if (stop && stop->load())
            return {};
        if (!alternative.current)
            evaluateInto(alternative, weight, notation);
        if (!out.empty())
            findPins(alternative, out.front(), weight, currentWithout);
        const bool known = std::any_of(out.begin(), out.end(), [&](const Alternative& other) {
            return other.refusal.isEmpty() && other.layout == alternative.layout;
        });
        if (!alternative.refusal.isEmpty() || !known)
            out.push_back(std::move(alternative));
    }
    if (!out.empty())
        std::stable_sort(out.begin() + 1, out.end(), [](const Alternative& a, const Alternative& b) {
            return a.refusal.isEmpty() != b.refusal.isEmpty() ? a.refusal.isEmpty() : a.seconds < b.seconds;
        });
    return out;
}

} // namespace shardboard
