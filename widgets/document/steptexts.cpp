// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/steptexts.h"

#include "widgets/look/format.h"

#include <QObject>
#include <QStringList>

namespace shardboard {

namespace {

const PlannedSegment* segmentOf(const Evaluation& evaluation, const PlanStep& step)
{
    return step.segment < evaluation.plan.segments.size() ? &evaluation.plan.segment(step.segment) : nullptr;
}

const Collective* collectiveOf(const Evaluation& evaluation, const PlanStep& step)
{
    return step.collective < evaluation.plan.collectives.size() ? &evaluation.plan.collective(step.collective) : nullptr;
}

const PlannedOp* operationOf(const Evaluation& evaluation, const PlanStep& step)
{
    const PlannedSegment* segment = segmentOf(evaluation, step);
    return segment && step.operation < segment->ops.size() ? &segment->ops[step.operation] : nullptr;
}

} // namespace

QString stepTitle(const Evaluation& evaluation, const PlanStep& step)
{
    if (const Collective* collective = collectiveOf(evaluation, step))
        return QObject::tr("%1 over %2")
            .arg(qstr(collectiveName(collective->kind)), axesText(evaluation.plan.mesh, collective->axes));
    const PlannedOp* op = operationOf(evaluation, step);
    return op ? qstr(evaluation.graph.op(op->op).name) : QString();
}

QString stepDetail(const Evaluation& evaluation, const PlanStep& step)
{
    QStringList out;
    std::int64_t times = 1;
    if (const Collective* collective = collectiveOf(evaluation, step)) {
        times = collective->count;
        if (collective->bytes == 0)
            out << QObject::tr("nothing moves");
        else
            out << bytesText(collective->bytes) << secondsText(collective->seconds);
        out << QObject::tr("groups of %1").arg(collective->groupSize);
    } else if (const PlannedOp* op = operationOf(evaluation, step)) {
        times = op->count;
        const QString kind = qstr(opKindName(evaluation.graph.op(op->op).kind));
        out << QString(kind).replace(QLatin1Char('_'), QLatin1Char(' ')) << secondsText(op->seconds);
    } else {
        return {};
    }
    if (times > 1)
        out << QObject::tr("%1 times a step").arg(times);
    return out.join(QStringLiteral(" · "));
}

QString stepSearchText(const Evaluation& evaluation, const PlanStep& step)
{
    QString out = stepTitle(evaluation, step);
    if (const Collective* collective = collectiveOf(evaluation, step))
        out +=
            QLatin1Char(' ') + qstr(evaluation.graph.tensor(collective->tensor).name) + QLatin1Char(' ') + qstr(collective->cause);
    else if (const PlannedOp* op = operationOf(evaluation, step))
        out += QLatin1Char(' ') + qstr(opKindName(evaluation.graph.op(op->op).kind));
    return out;
}

} // namespace shardboard
