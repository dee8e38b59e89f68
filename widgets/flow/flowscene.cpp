// SPDX-License-Identifier: Apache-2.0
#include "widgets/flow/flowscene.h"

#include "model/ops/opdefinition.h"
#include "model/plan/pipeline.h"
#include "widgets/document/documentview.h"
#include "widgets/document/shownspec.h"
#include "widgets/look/format.h"

#include <QStringList>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace shardboard {

namespace {

QString lastName(const std::string& name)
{
    const QString text = qstr(name);
    return text.mid(text.lastIndexOf(QLatin1Char('.')) + 1);
}

/// `mlp.down_proj` of `mlp.down_proj.grad_x`.
std::string withoutEnd(const std::string& name) { return name.substr(0, name.rfind('.')); }

class Builder {
public:
    Builder(const Evaluation& evaluation, PlannedSegmentId segment, Notation notation)
        : m_evaluation(evaluation)
        , m_id(segment)
        , m_segment(evaluation.plan.segment(segment))
        , m_notation(notation)
    {
    }

    FlowScene build()
    {
        const Segment& source = m_evaluation.graph.segment(m_segment.segment);
        m_scene.name = qstr(m_segment.name);
        if (m_segment.count > 1)
            m_scene.name += QStringLiteral(" × %1").arg(m_segment.count);
        findBase(source);
        for (const PlannedOp& op : m_segment.ops)
            add(op);
        close();
        return std::move(m_scene);
    }

private:
    /// The residual stream's layout, from the first operation that takes it; before there is one, that of the input.
    void findBase(const Segment& source)
    {
        for (const PlannedOp& op : m_segment.ops)
            for (const OperandUse& use : op.operands)
                if (m_base.dims.empty() && use.tensor == source.carryIn && source.carryIn != kNoTensor)
                    m_base = use.before;
        m_scene.residualInk = inkOf(m_base);
        if (!m_base.dims.empty())
            m_scene.residual =
                QObject::tr("residual stream %1").arg(specIn(m_notation, m_base, m_evaluation.plan.mesh, true).marked());
        else if (!m_segment.ops.empty())
            m_base = m_segment.ops.front().operands.front().before;
    }

    bool joins(const PlannedOp& planned, OpGroup group) const
    {
        const bool alone = group == OpGroup::Single || group == OpGroup::Small || group == OpGroup::Update;
        if (m_ops.empty() || alone || group != m_group)
            return false;
        const Op& op = m_evaluation.graph.op(planned.op);
        const Op& first = m_evaluation.graph.op(m_ops.front()->op);
        if (group == OpGroup::Reduction)
            return true;
        if (group == OpGroup::Gradient) // all gradients of one operation
            return withoutEnd(op.name) == withoutEnd(first.name);
        if (group == OpGroup::Projection && definitionOf(op.kind).gemm != nullptr && op.operands.front() != first.operands.front())
            return false;
        for (const OperandUse& use : planned.operands) {
            const bool inside = std::any_of(m_ops.begin(), m_ops.end(), [&](const PlannedOp* member) {
                return m_evaluation.graph.op(member->op).result == use.tensor;
            });
            if (inside && !use.collectives.empty())
                return false;
        }
        return true;
    }

    void add(const PlannedOp& planned)
    {
        const OpGroup group = groupOf(m_evaluation.graph, m_evaluation.graph.op(planned.op));
        if (!joins(planned, group))
            close();
        m_group = group;
        for (const OperandUse& use : planned.operands)
            for (const CollectiveId id : use.collectives)
                m_collectives.push_back({ id, m_evaluation.graph.tensor(use.tensor).role == TensorRole::Weight });
        m_ops.push_back(&planned);
    }

    void close()
    {
        if (m_ops.empty())
            return;
        std::stable_sort(m_collectives.begin(), m_collectives.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
        for (const auto& [id, hanging] : m_collectives)
            m_scene.items.push_back(pill(id, hanging));
        m_scene.items.push_back(box());
        m_ops.clear();
        m_collectives.clear();
    }

    FlowItem pill(CollectiveId id, bool hanging) const
    {
        const Collective& collective = m_evaluation.plan.collective(id);
        FlowItem out;
        out.kind = FlowItem::CollectivePill;
        out.title = qstr(collectiveName(collective.kind));
        out.detail = collective.bytes == 0
            ? axesText(m_evaluation.plan.mesh, collective.axes)
            : QStringLiteral("%1 · %2").arg(bytesText(collective.bytes), secondsText(collective.seconds));
        out.toolTip = QStringLiteral("%1 over %2\n%3")
                          .arg(out.title, axesText(m_evaluation.plan.mesh, collective.axes), qstr(collective.reason));
        out.collective = id;
        out.bytes = collective.bytes;
        out.seconds = collective.seconds;
        out.ink = inkOf(collective.step.after);
        out.hanging = hanging;
        return out;
    }

    QString title() const
    {
        const Op& first = m_evaluation.graph.op(m_ops.front()->op);
        const auto weights = static_cast<int>(m_ops.size());
        switch (m_group) {
        case OpGroup::Single:
        case OpGroup::Small: {
            const OpDefinition& definition = definitionOf(first.kind);
            const bool named = (m_group == OpGroup::Small && definition.view) || definition.lookedUp >= 0;
            return named ? lastName(first.name).replace(QLatin1Char('_'), QLatin1Char(' ')) : kindTitle(first);
        }
        case OpGroup::Reduction:
            return weights == 1 ? QObject::tr("gradient of 1 weight") : QObject::tr("gradients of %1 weights").arg(weights);
        case OpGroup::Update: {
            const std::string& weight = m_evaluation.graph.tensor(first.operands.front()).name;
            const OpKind step = m_evaluation.graph.op(m_ops.front()->op).kind;
            const QString rule = step == OpKind::MuonStep ? QObject::tr("Muon")
                : step == OpKind::SgdStep                 ? QObject::tr("SGD")
                                                          : QObject::tr("Adam");
            return QObject::tr("%1 %2").arg(rule, lastName(weight.ends_with(".weight") ? withoutEnd(weight) : weight));
        }
        case OpGroup::Gradient:
            return QObject::tr("∂ %1").arg(lastName(withoutEnd(first.name)));
        default:
            return groupTitle(first);
        }
    }

    /// What does the work gives a group its name: `q · k · v`, `attention`, `silu · mul`.
    QString groupTitle(const Op& first) const
    {
        QStringList names;
        for (const PlannedOp* planned : m_ops) {
            const Op& op = m_evaluation.graph.op(planned->op);
            const OpDefinition& definition = definitionOf(op.kind);
            const bool works = definition.flops != nullptr;
            if (m_group == OpGroup::Projection && works)
                names << lastName(op.name);
            else if (m_group == OpGroup::Attention && works)
                names = { kindTitle(op) }; // its gradients come last
            else if (m_group == OpGroup::Activation && (definition.value != nullptr || op.operands.size() > 1)) // no mere part
                names << kindTitle(op);
        }
        if (names.size() > 1)
            for (QString& name : names)
                name.remove(QStringLiteral("_proj"));
        if (names.isEmpty())
            return qstr(opKindName(first.kind)).replace(QLatin1Char('_'), QLatin1Char(' '));
        return names.join(QStringLiteral(" · "));
    }

    /// `rms norm`; `∂ silu` for a gradient.
    static QString kindTitle(const Op& op)
    {
        QString name = qstr(opKindName(op.kind));
        const qsizetype grad = name.indexOf(QStringLiteral("_grad"));
        if (grad > 0)
            name = QStringLiteral("∂ ") + name.left(grad);
        return name.replace(QLatin1Char('_'), QLatin1Char(' '));
    }

    FlowItem box() const
    {
        FlowItem out;
        out.kind = m_group == OpGroup::Small ? FlowItem::Small : FlowItem::Operation;
        out.title = title();
        out.segment = m_id;
        if (m_group != OpGroup::Reduction)
            out.detail = shortLayout(m_ops.back()->result, m_evaluation.plan.mesh, m_group == OpGroup::Update ? Layout() : m_base);
        QStringList tip;
        double seconds = 0;
        for (const PlannedOp* planned : m_ops) {
            const Op& op = m_evaluation.graph.op(planned->op);
            out.ops.push_back(planned->op);
            if (const int weight = weightOfOp(m_evaluation, planned->op); weight >= 0)
                out.weights.push_back(weight);
            tip << QStringLiteral("%1  %2 → %3")
                       .arg(qstr(op.name), qstr(opKindName(op.kind)),
                            specIn(m_notation, planned->result, m_evaluation.plan.mesh, true).marked());
            seconds += planned->seconds;
        }
        tip << QObject::tr("%1 predicted").arg(secondsText(seconds));
        out.seconds = seconds;
        out.ink = inkOf(m_ops.back()->result);
        out.toolTip = tip.join(QLatin1Char('\n'));
        return out;
    }

    const Evaluation& m_evaluation;
    PlannedSegmentId m_id;
    const PlannedSegment& m_segment;
    Notation m_notation;
    FlowScene m_scene;
    Layout m_base;
    OpGroup m_group = OpGroup::Single;
    std::vector<const PlannedOp*> m_ops;
    std::vector<std::pair<CollectiveId, bool>> m_collectives;
};

} // namespace

FlowInk inkOf(const Layout& layout)
{
    FlowInk out;
    for (const auto& dim : layout.dims)
        for (const AxisRef& ref : dim)
            out.cut.push_back(ref.axis);
    for (const AxisRef& ref : layout.partial)
        out.partial.push_back(ref.axis);
    return out;
}

QString shortLayout(const Layout& layout, const Mesh& mesh, const Layout& base)
{
    const auto names = [&mesh](const std::vector<AxisRef>& refs) {
        QStringList out;
        for (const AxisRef& ref : refs)
            out << qstr(mesh.axis(ref.axis).name);
        return out.join(QLatin1Char(','));
    };
    QStringList out;
    for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
        if (!layout.dims[dim].empty() && !(dim < base.dims.size() && base.dims[dim] == layout.dims[dim]))
            out << QStringLiteral("S(%1) %2").arg(dim).arg(names(layout.dims[dim]));
    if (!layout.partial.empty())
        out << QStringLiteral("P(%1)").arg(names(layout.partial));
    return out.isEmpty() ? QStringLiteral("R") : out.join(QStringLiteral(" "));
}

FlowScene makeFlowScene(const Evaluation& evaluation, PlannedSegmentId plannedSegment, Notation notation)
{
    if (plannedSegment >= evaluation.plan.segments.size())
        return {};
    return Builder(evaluation, plannedSegment, notation).build();
}

namespace {

FlowItem foldedItem(const Evaluation& evaluation, PlannedSegmentId id)
{
    const PlannedSegment& segment = evaluation.plan.segment(id);
    FlowItem out;
    out.kind = FlowItem::Folded;
    out.segment = id;
    out.title = qstr(segment.name);
    if (segment.count > 1)
        out.title += QStringLiteral(" × %1").arg(segment.count);
    const Plan& plan = evaluation.plan;
    const double share = deviceShare(evaluation.graph, plan, id);
    std::int64_t collectives = 0;
    double bytes = 0;
    for (const Collective& collective : plan.collectives)
        if (collective.plannedSegment == id && collective.kind != CollectiveKind::LocalSlice) {
            const double times = static_cast<double>(collective.count) * deviceShare(evaluation.graph, plan, collective);
            ++collectives;
            bytes += times * static_cast<double>(collective.bytes);
            out.seconds += times * collective.seconds;
        }
    out.bytes = std::llround(bytes);
    for (const PlannedOp& op : segment.ops)
        out.seconds += op.seconds * static_cast<double>(op.count) * share;
    if (!segment.ops.empty())
        out.ink = inkOf(segment.ops.back().result);
    const QString moved = counted(collectives, QObject::tr("collective"), QObject::tr("collectives"));
    out.detail = collectives > 0 ? QStringLiteral("%1 · %2").arg(moved, secondsText(out.seconds)) : secondsText(out.seconds);
    out.toolTip =
        QObject::tr("%1, collapsed\n%2 · %3\n%6: %4 moved, %5 predicted\nEnter or a click expands it")
            .arg(out.title,
                 counted(static_cast<std::int64_t>(segment.ops.size()), QObject::tr("operation"), QObject::tr("operations")), moved,
                 bytesText(out.bytes), secondsText(out.seconds),
                 share < 1 ? QObject::tr("its layers on one stage") : QObject::tr("all its layers"));
    return out;
}

} // namespace

FlowScene makeFoldedScene(const Evaluation& evaluation, PlannedSegmentId plannedSegment, Notation notation)
{
    FlowScene out = makeFlowScene(evaluation, plannedSegment, notation);
    const auto& segments = evaluation.plan.segments;
    if (plannedSegment >= segments.size())
        return out;
    std::vector<FlowItem> items;
    for (PlannedSegmentId i { 0 }; i < segments.size(); ++i) {
        if (segments[i].phase != segments[plannedSegment].phase)
            continue;
        if (i == plannedSegment)
            std::move(out.items.begin(), out.items.end(), std::back_inserter(items));
        else
            items.push_back(foldedItem(evaluation, i));
    }
    out.items = std::move(items);
    return out;
}

} // namespace shardboard
