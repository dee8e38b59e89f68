// SPDX-License-Identifier: Apache-2.0
#include "model/session/document.h"

#include "model/design/checkstrategies.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/explain/explain.h"
#include "model/design/layoutstrategy.h"
#include "model/io/design/designfile.h"
#include "model/io/file/textfile.h"
#include "model/session/editcommand.h"
#include "model/session/selection.h"

#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QSignalBlocker>
#include <QUndoStack>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

constexpr int kUndoLimit = 200; // each step keeps two designs
constexpr std::int64_t kUndoBytes = std::int64_t { 512 } << 20; // of evaluations, which steps share with their neighbours

/// What is selected, by names that outlive an evaluation.
struct NamedWeight {
    std::string name;
    std::int64_t firstLayer = -1;
};

struct NamedSelection {
    NamedWeight weight;
    NamedWeight hovered;
    std::vector<NamedWeight> weights;
    std::string collective;
    std::string operation;
    std::string meshAxis;
    std::int64_t device = -1;
};

NamedSelection namesOf(const Selection& selection, const Evaluation& evaluation)
{
    NamedSelection names;
    const auto named = [&evaluation](int index) {
        const WeightLayout& weight = evaluation.weights[static_cast<std::size_t>(index)];
        return NamedWeight { weight.spec.name, weight.firstLayer };
    };
    if (selection.weight() >= 0)
        names.weight = named(selection.weight());
    if (selection.hoveredWeight() >= 0 && selection.hoveredWeight() < static_cast<int>(evaluation.weights.size()))
        names.hovered = named(selection.hoveredWeight());
    for (const int weight : selection.weights())
        names.weights.push_back(named(weight));
    if (selection.collective() < evaluation.plan.collectives.size())
        names.collective = evaluation.plan.collective(selection.collective()).id;
    const auto& segments = evaluation.plan.segments;
    if (selection.segment() < segments.size() && selection.operation() < segments[selection.segment()].ops.size())
        names.operation = operationId(evaluation, selection.segment(), selection.operation());
    if (selection.meshAxis() >= 0 && selection.meshAxis() < evaluation.plan.mesh.axisCount())
        names.meshAxis = evaluation.plan.mesh.axis(selection.meshAxis()).name;
    names.device = selection.device();
    return names;
}

/// The weight of that name; where layers were joined or split, the one that holds the same first layer or else the first.
int findWeight(const Evaluation& evaluation, const NamedWeight& wanted)
{
    int found = -1;
    for (std::size_t i = 0; i < evaluation.weights.size() && !wanted.name.empty(); ++i) {
        const WeightLayout& weight = evaluation.weights[i];
        if (weight.spec.name != wanted.name)
            continue;
        if (found < 0 || weight.firstLayer == wanted.firstLayer)
            found = static_cast<int>(i);
    }
    return found;
}

CollectiveId findCollective(const Evaluation& evaluation, const std::string& id)
{
    const auto& collectives = evaluation.plan.collectives;
    const auto it = std::ranges::find_if(collectives, [&](const Collective& c) { return c.id == id; });
    return id.empty() || it == collectives.end() ? CollectiveId {} : CollectiveId(it - collectives.begin());
}

/// The planned operation of that id; where layers of the segment are planned apart now, the last of them.
std::pair<PlannedSegmentId, PlannedOpId> findOperation(const Evaluation& evaluation, const std::string& id)
{
    if (!id.empty())
        if (const auto found = explainTargets(evaluation, id);
            found.ok() && found.value().back().kind == ExplainTarget::Kind::Operation)
            return { found.value().back().segment, found.value().back().op };
    return {};
}

std::string fileName(const QString& path) { return QFile::encodeName(path).toStdString(); }

} // namespace

Document::Document(QObject* parent)
    : QObject(parent)
    , m_kept(kUndoBytes)
    , m_undoStack(new QUndoStack(this))
    , m_selection(new Selection(this))
{
    m_undoStack->setUndoLimit(kUndoLimit);
    connect(m_undoStack, &QUndoStack::cleanChanged, this, [this](bool clean) { Q_EMIT modifiedChanged(!clean); });
}

Document::~Document()
{
    const QSignalBlocker blocker(m_undoStack); // clearing it must not reach views that ask a document that is half gone
    m_undoStack->clear();
}

void Document::setNotation(Notation notation)
{
    if (notation == m_notation)
        return;
    m_notation = notation;
    Q_EMIT notationChanged();
}

bool Document::isModified() const { return !m_undoStack->isClean(); }

Status Document::setDesign(const Design& design) { return replace(design, {}, {}); }

Status Document::replace(const Design& design, const QString& filePath, const FileIdentity& file)
{
    QElapsedTimer timer;
    timer.start();
    auto evaluation = evaluate(design, Misfits::Replicate);
    if (!evaluation.ok())
        return evaluation.error();
    m_evaluationSeconds = static_cast<double>(timer.nsecsElapsed()) * 1e-9;
    m_selection->clear();
    m_undoStack->clear();
    m_undoStack->setClean();
    m_kept.clear();
    m_filePath = filePath;
    m_file = file;
    adopt(design, std::move(evaluation).value());
    Q_EMIT filePathChanged();
    Q_EMIT opened();
    return done();
}

Status Document::setUnsaved(const Design& design, const FileIdentity& file)
{
    const Status status = replace(design, file.path, file);
    if (status.ok())
        m_undoStack->resetClean();
    return status;
}

Status Document::open(const QString& path)
{
    const std::string file = fileName(path);
    FileIdentity identity = outsideOf(path); // before it is read: who changes it meanwhile changes its time
    const auto text = readTextFile(file, kLargestDesign);
    if (!text.ok())
        return text.error();
    const auto design = designFromText(text.value(), file);
    if (!design.ok())
        return design.error();
    identity.size = static_cast<qint64>(text.value().size());
    identity.digest = digestOf(text.value());
    const Status status = replace(design.value(), QFileInfo(path).absoluteFilePath(), identity);
    if (status.ok())
        return status;
    Error error = status.error(); // the flow knows the place in the design, not the file
    if (error.where.rfind(file, 0) != 0)
        error.where = error.where.empty() ? file : file + ":" + error.where;
    return error;
}

Status Document::save(const QString& path)
{
    const std::string text = designText(m_design);
    const Status status = writeFileAtomically(fileName(path), text);
    if (!status.ok())
        return status;
    m_file = identityOf(path, text);
    m_undoStack->setClean();
    if (const QString absolute = QFileInfo(path).absoluteFilePath(); m_filePath != absolute) {
        m_filePath = absolute;
        Q_EMIT filePathChanged();
    }
    Q_EMIT saved();
    return status;
}

Result<std::shared_ptr<const Evaluation>> Document::evaluateEdit(const Design& edited, Misfits misfits) const
{
    auto evaluation = evaluate(edited, Misfits::Replicate);
    if (!evaluation.ok() || !m_evaluation || misfits == Misfits::Replicate)
        return evaluation;
    // What was wrong before may stay, so that it can be mended step by step.
    if (const Misfit* misfit = newMisfit(*evaluation.value(), *m_evaluation))
        return misfit->error;
    return evaluation;
}

Status Document::check(const Design& edited) const
{
    if (m_evaluation)
        if (const auto told = checkStrategies(edited, m_design, *m_evaluation))
            return *told;
    const auto evaluation = evaluateEdit(edited, Misfits::Refuse);
    if (!evaluation.ok())
        return evaluation.error();
    return done();
}

Status Document::edit(const Design& edited, const QString& text, Misfits misfits)
{
    if (edited == m_design)
        return done();
    QElapsedTimer timer;
    timer.start();
    auto evaluation = evaluateEdit(edited, misfits);
    if (!evaluation.ok())
        return evaluation.error();
    m_evaluationSeconds = static_cast<double>(timer.nsecsElapsed()) * 1e-9;
    m_undoStack->push(new EditCommand(*this, { m_design, m_evaluation }, { edited, evaluation.value() }, text));
    return done();
}

Design Document::withStrategy(const std::string& match, const Strategy& strategy) const
{
    return withStrategy(m_design, match, strategy);
}

Design Document::withStrategy(Design design, const std::string& match, const Strategy& strategy)
{
    const auto& entries = design.strategies;
    const auto same = std::find_if(entries.rbegin(), entries.rend(), [&](const auto& e) { return e.match == match; });
    const auto cut = same == entries.rend() ? std::nullopt : same->cut;
    return shardboard::withStrategy(std::move(design), { match, strategy, cut });
}

Strategy Document::withAxisOnDim(int weight, int axis, int dim) const
{
    if (!m_evaluation || weight < 0 || static_cast<std::size_t>(weight) >= m_evaluation->weights.size())
        return {};
    const WeightLayout& current = m_evaluation->weights[static_cast<std::size_t>(weight)];
    const Mesh& mesh = m_evaluation->plan.mesh;
    if (axis < 0 || axis >= mesh.axisCount() || dim >= static_cast<int>(current.layout.dims.size()))
        return current.strategy;
    Layout layout = current.layout;
    for (auto& axes : layout.dims)
        axes.erase(std::remove_if(axes.begin(), axes.end(), [&](const AxisRef& ref) { return ref.axis == axis; }), axes.end());
    if (dim >= 0)
        layout.dims[static_cast<std::size_t>(dim)].push_back({ axis, 1, 0 });
    return strategyOf(layout, mesh);
}

std::string Document::patternOf(int weight) const
{
    if (!m_evaluation || weight < 0 || static_cast<std::size_t>(weight) >= m_evaluation->weights.size())
        return {};
    const WeightLayout& current = m_evaluation->weights[static_cast<std::size_t>(weight)];
    // A single layer that the design treats differently from the others keeps its own entry.
    const auto sameName =
        std::ranges::count_if(m_evaluation->weights, [&](const WeightLayout& w) { return w.spec.name == current.spec.name; });
    if (sameName > 1 && current.copies == 1 && current.firstLayer >= 0)
        return concreteName(current.spec.name, current.firstLayer);
    return current.spec.name;
}

void Document::adopt(const Design& design, std::shared_ptr<const Evaluation> evaluation)
{
    const NamedSelection names = m_evaluation ? namesOf(*m_selection, *m_evaluation) : NamedSelection {};
    m_design = design;
    m_evaluation = std::move(evaluation);
    m_kept.keep(m_evaluation);
    const Mesh& mesh = m_evaluation->plan.mesh;
    const std::vector<int> weights = m_selection->weights();
    const int weight = m_selection->weight();
    const CollectiveId collective = m_selection->collective();
    const std::pair operation(m_selection->segment(), m_selection->operation());
    const int meshAxis = m_selection->meshAxis();
    const auto device = m_selection->device();
    const auto hovered = m_selection->hoveredDevice();
    const int hoveredWeight = m_selection->hoveredWeight();
    {
        // Views see the new indices only together with the new evaluation.
        const QSignalBlocker blocker(m_selection);
        m_selection->setEvaluation(m_evaluation);
        std::vector<int> found;
        for (const NamedWeight& wanted : names.weights)
            if (const int index = findWeight(*m_evaluation, wanted); index >= 0)
                found.push_back(index);
        m_selection->setWeights(std::move(found), findWeight(*m_evaluation, names.weight));
        const auto [segment, op] = findOperation(*m_evaluation, names.operation);
        m_selection->setOperation(segment, op);
        m_selection->setCollective(findCollective(*m_evaluation, names.collective));
        m_selection->setMeshAxis(names.meshAxis.empty() ? -1 : mesh.find(names.meshAxis));
        m_selection->setDevice(names.device);
        m_selection->setHoveredDevice(hovered);
        m_selection->setHoveredWeight(findWeight(*m_evaluation, names.hovered));
    }
    Q_EMIT evaluated();
    if (weight != m_selection->weight() || weights != m_selection->weights() || collective != m_selection->collective()
        || operation != std::pair(m_selection->segment(), m_selection->operation()) || meshAxis != m_selection->meshAxis()
        || device != m_selection->device())
        Q_EMIT m_selection->changed();
    if (hovered != m_selection->hoveredDevice())
        Q_EMIT m_selection->hoverChanged();
    if (hoveredWeight != m_selection->hoveredWeight())
        Q_EMIT m_selection->weightHoverChanged();
}

} // namespace shardboard
