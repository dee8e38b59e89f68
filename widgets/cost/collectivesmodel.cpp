// SPDX-License-Identifier: Apache-2.0
#include "widgets/cost/collectivesmodel.h"

#include "model/plan/time/steptime.h"
#include "widgets/document/shownspec.h"
#include "widgets/look/format.h"
#include "widgets/tables/columnheading.h"

#include <QStringList>

#include <utility>

namespace shardboard {

namespace {

/// By row: a device waits for it for more than a tenth of the step.
std::vector<bool> heavyOnes(const Evaluation& evaluation)
{
    std::vector<bool> out;
    for (const DeviceCollective& it : deviceCollectives(evaluation.graph, evaluation.plan))
        out.push_back(it.exposed > 0 && it.exposed > 0.1 * evaluation.plan.seconds());
    return out;
}

} // namespace

CollectivesModel::CollectivesModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void CollectivesModel::setEvaluation(std::shared_ptr<const Evaluation> evaluation, const QColor& quiet, const QColor& attention,
                                     const QFont& mono, Notation notation)
{
    const int before = m_rows;
    const int after = evaluation ? static_cast<int>(evaluation->plan.collectives.size()) : 0;
    // Rows that stay have other content: views keep what they have laid out, and the usual edit moves little.
    if (after < before) {
        beginRemoveRows({}, after, before - 1);
        m_rows = after;
        endRemoveRows();
    }
    const bool sameLook = quiet == m_quiet && attention == m_attention && mono == m_mono && notation == m_notation;
    const auto old = std::exchange(m_evaluation, std::move(evaluation));
    const std::vector<bool> heavyBefore = std::exchange(m_heavy, m_evaluation ? heavyOnes(*m_evaluation) : std::vector<bool>());
    m_quiet = quiet;
    m_attention = attention;
    m_mono = mono;
    m_notation = notation;
    for (int row = 0; row < m_rows; ++row) {
        const int first = row;
        while (row < m_rows
               && !(sameLook && old && saysTheSame(*old, row)
                    && m_heavy[static_cast<std::size_t>(row)] == heavyBefore[static_cast<std::size_t>(row)]))
            ++row;
        if (row > first)
            Q_EMIT dataChanged(index(first, 0), index(row - 1, ColumnCount - 1));
    }
    if (after > before) {
        beginInsertRows({}, before, after - 1);
        m_rows = after;
        endInsertRows();
    }
}

/// Whether a row says what it said of the evaluation before.
bool CollectivesModel::saysTheSame(const Evaluation& before, int row) const
{
    const auto at = static_cast<std::size_t>(row);
    const Collective& a = m_evaluation->plan.collectives[at];
    const Collective& b = before.plan.collectives[at];
    const auto nameOf = [](const Evaluation& evaluation, const Collective& it) -> const std::string& {
        return evaluation.graph.tensor(it.tensor).name;
    };
    const auto phaseOf = [](const Evaluation& evaluation, const Collective& it) {
        return evaluation.plan.segment(it.plannedSegment).phase;
    };
    return a.kind == b.kind && a.axes == b.axes && a.groupSize == b.groupSize && a.bytes == b.bytes && a.count == b.count
        && a.seconds == b.seconds && a.cause == b.cause && a.reason == b.reason && a.algorithm == b.algorithm && a.link == b.link
        && a.step.before == b.step.before && a.step.after == b.step.after && phaseOf(*m_evaluation, a) == phaseOf(before, b)
        && nameOf(*m_evaluation, a) == nameOf(before, b) && m_evaluation->plan.mesh == before.plan.mesh;
}

int CollectivesModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_rows; }

int CollectivesModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString CollectivesModel::text(const Collective& collective, int column) const
{
    const Plan& plan = m_evaluation->plan;
    switch (column) {
    case KindColumn:
        return qstr(collectiveName(collective.kind));
    case PhaseColumn:
        return qstr(phaseName(plan.segment(collective.plannedSegment).phase));
    case AxisColumn:
        return axesText(plan.mesh, collective.axes);
    case GroupColumn:
        return countText(collective.groupSize);
    case TensorColumn:
        return qstr(m_evaluation->graph.tensor(collective.tensor).name);
    case BytesColumn:
        return bytesText(collective.bytes);
    case CountColumn:
        return countText(collective.count);
    case TimeColumn:
        return secondsText(collective.seconds * static_cast<double>(collective.count));
    case CauseColumn:
        return qstr(collective.cause);
    default:
        return {};
    }
}

QVariant CollectivesModel::exact(const Collective& collective, int column) const
{
    switch (column) {
    case GroupColumn:
        return static_cast<qlonglong>(collective.groupSize);
    case BytesColumn:
        return static_cast<qlonglong>(collective.bytes);
    case CountColumn:
        return static_cast<qlonglong>(collective.count);
    case TimeColumn:
        return collective.seconds * static_cast<double>(collective.count);
    default:
        return text(collective, column);
    }
}

QString CollectivesModel::toolTip(const Collective& collective) const
{
    const Mesh& mesh = m_evaluation->plan.mesh;
    const QString by =
        collective.algorithm.empty() ? QString() : tr("\nby %1 over %2").arg(qstr(collective.algorithm), qstr(collective.link));
    return tr("%1 of %2\n%9 → %10\n%3 on each of %4 devices, %5 times a step\n%6 each, %7 a step\n%8")
               .arg(qstr(collectiveName(collective.kind)), qstr(m_evaluation->graph.tensor(collective.tensor).name),
                    exactBytesText(collective.bytes), QString::number(collective.groupSize), countText(collective.count),
                    QStringLiteral("%1 s").arg(collective.seconds, 0, 'g', 9),
                    QStringLiteral("%1 s").arg(collective.seconds * static_cast<double>(collective.count), 0, 'g', 9),
                    qstr(collective.reason), specIn(m_notation, collective.step.before, mesh, true).marked(),
                    specIn(m_notation, collective.step.after, mesh, true).marked())
        + by;
}

QVariant CollectivesModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount() || index.column() >= ColumnCount)
        return {};
    const Collective& collective = m_evaluation->plan.collectives[static_cast<std::size_t>(index.row())];
    const int column = index.column();
    const bool number = column == GroupColumn || column == BytesColumn || column == CountColumn || column == TimeColumn;
    switch (role) {
    case Qt::DisplayRole:
        return text(collective, column);
    case kSortRole:
        return column == PhaseColumn ? data(index, kPhaseRole) : exact(collective, column);
    case kPhaseRole:
        return static_cast<int>(m_evaluation->plan.segment(collective.plannedSegment).phase);
    case Qt::ToolTipRole:
        return toolTip(collective);
    case Qt::TextAlignmentRole:
        return static_cast<int>((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::FontRole:
        if (number)
            return m_mono;
        if (column == KindColumn) {
            QFont bold;
            bold.setBold(true);
            return bold;
        }
        return {};
    case Qt::ForegroundRole: {
        if (m_heavy[static_cast<std::size_t>(index.row())]
            && (column == KindColumn || column == TimeColumn || column == BytesColumn))
            return m_attention;
        return column == CauseColumn || column == PhaseColumn ? QVariant(m_quiet) : QVariant();
    }
    default:
        return {};
    }
}

QVariant CollectivesModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    static const ColumnHeading columns[ColumnCount] = {
        { QT_TR_NOOP("collective"), QT_TR_NOOP("What the devices of a group do together") },
        { QT_TR_NOOP("phase"), QT_TR_NOOP("Forward, backward, or the update of the weights") },
        { QT_TR_NOOP("mesh axis"), QT_TR_NOOP("Mesh axes that the group spans") },
        { QT_TR_NOOP("group"), QT_TR_NOOP("Devices in each device group"), true },
        { QT_TR_NOOP("tensor"), QT_TR_NOOP("The tensor that is moved") },
        { QT_TR_NOOP("bytes S"), QT_TR_NOOP("The large side of one call on one device"), true },
        { QT_TR_NOOP("× step"), QT_TR_NOOP("Calls in a step of the workload: of all layers and micro-batches"), true },
        { QT_TR_NOOP("time"), QT_TR_NOOP("Predicted, all calls of a step, hidden behind computing or not"), true },
        { QT_TR_NOOP("caused by"), QT_TR_NOOP("The operation that wanted it, and why") },
    };
    return headingData(columns, section, orientation, role, [](const char* text) { return tr(text); });
}

} // namespace shardboard
