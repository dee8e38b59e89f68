// SPDX-License-Identifier: Apache-2.0
#include "widgets/explain/rowsmodel.h"

#include "model/design/explain/explain.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/tables/columnheading.h"

#include <QApplication>
#include <QPainter>
#include <QStringList>
#include <QStyle>
#include <QWidget>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace shardboard {

QString rowLabel(const std::string& row) { return qstr(row).replace(QStringLiteral("->"), QStringLiteral("→")); }

QString rowTitle(const Evaluation& evaluation, const Explanation& explanation, const RankedRow& row)
{
    QStringList moves;
    for (const RowMove& move : row.moves)
        if (const QString kind = qstr(collectiveName(move.kind)); move.bytes > 0 && !moves.contains(kind))
            moves << kind;
    if (moves.isEmpty() && !row.moves.empty())
        moves << qstr(collectiveName(row.moves.front().kind)); // of what each device has
    QString result = QObject::tr("whole");
    if (row.result == "P") {
        result = QObject::tr("partial");
    } else if (row.result.size() > 1 && row.result.front() == 'S') {
        const auto dim = static_cast<std::size_t>(std::atoi(row.result.c_str() + 1));
        result = QObject::tr("dim %1").arg(dim);
        if (const PlannedOp* planned = explainedOp(evaluation, explanation)) {
            const TensorSpec& spec = evaluation.graph.tensor(evaluation.graph.op(planned->op).result);
            if (dim < spec.dimLabels.size() && !spec.dimLabels[dim].empty())
                result = qstr(spec.dimLabels[dim]);
        }
    }
    return (moves.isEmpty() ? QObject::tr("nothing moves") : moves.join(QStringLiteral(" + "))) + QStringLiteral(" → ") + result;
}

QString movesText(const RankedRow& row)
{
    QStringList kinds;
    for (const RowMove& move : row.moves)
        if (move.kind != CollectiveKind::LocalSlice)
            kinds << qstr(collectiveName(move.kind));
    if (kinds.isEmpty() && !row.moves.empty())
        kinds << qstr(collectiveName(CollectiveKind::LocalSlice)); // told where it is all: it moves nothing
    QStringList out;
    for (const QString& kind : kinds) {
        const auto times = kinds.count(kind);
        const QString text = times > 1 ? QStringLiteral("%1 ×%2").arg(kind).arg(times) : kind;
        if (!out.contains(text))
            out << text;
    }
    return out.isEmpty() ? QObject::tr("nothing") : out.join(QStringLiteral(", "));
}

QString effectText(const EditEffect& effect)
{
    if (!effect.refusal.empty())
        return QObject::tr("refused: %1").arg(qstr(effect.refusal));
    return QObject::tr("%1, %2, %3 moved instead of %4")
        .arg(stepDeltaText(effect.secondsBefore, effect.seconds), bytesDeltaText(effect.peakBefore, effect.peak),
             bytesText(effect.bytes), bytesText(effect.bytesBefore));
}

RowsModel::RowsModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void RowsModel::setExplanation(std::shared_ptr<const Evaluation> evaluation, Explanation explanation, bool byTime,
                               const Colors& colors)
{
    beginResetModel();
    m_evaluation = std::move(evaluation);
    m_explanation = std::move(explanation);
    m_byTime = byTime;
    m_colors = colors;
    m_rows.clear();
    for (std::size_t axis = 0; axis < m_explanation.axes.size(); ++axis) {
        bool first = true;
        const auto& rows = m_explanation.axes[axis].rows;
        for (std::size_t row = 0; row < rows.size(); ++row)
            if (!rows[row].isPartialOnly) {
                m_rows.push_back({ static_cast<int>(axis), static_cast<int>(row), first });
                first = false;
            }
    }
    endResetModel();
}

void RowsModel::setEffects(const Explanation& explanation)
{
    for (AxisExplanation& axis : m_explanation.axes)
        for (const AxisExplanation& other : explanation.axes)
            for (std::size_t row = 0; other.axis == axis.axis && row < std::min(axis.rows.size(), other.rows.size()); ++row)
                if (axis.rows[row].row == other.rows[row].row)
                    axis.rows[row].effect = other.rows[row].effect;
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

const AxisExplanation* RowsModel::axisAt(int row) const
{
    if (row < 0 || row >= static_cast<int>(m_rows.size()))
        return nullptr;
    return &m_explanation.axes[static_cast<std::size_t>(m_rows[static_cast<std::size_t>(row)].axis)];
}

const RankedRow* RowsModel::rowAt(int row) const
{
    const AxisExplanation* axis = axisAt(row);
    return axis == nullptr ? nullptr : &axis->rows[static_cast<std::size_t>(m_rows[static_cast<std::size_t>(row)].row)];
}

QString RowsModel::detail(int index) const
{
    const RankedRow* row = rowAt(index);
    if (row == nullptr)
        return {};
    const AxisExplanation& axis = *axisAt(index);
    QStringList parts { tr("%1 over %2: %3")
                            .arg(rowLabel(row->row), qstr(m_evaluation->plan.mesh.axis(axis.axis).name),
                                 rowTitle(*m_evaluation, m_explanation, *row)) };
    if (const QString text = note(axis, *row); !text.isEmpty())
        parts << text;
    for (const RowMove& move : row->moves)
        parts << tr("%1 of %2, %3 on a device, %4")
                     .arg(qstr(collectiveName(move.kind)), qstr(m_evaluation->graph.tensor(move.tensor).name),
                          bytesText(move.bytes), secondsText(move.seconds));
    if (row->effect)
        parts << tr("pinned it makes %1").arg(effectText(*row->effect));
    return parts.join(QStringLiteral(" · "));
}

int RowsModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rows.size()); }
int RowsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString RowsModel::note(const AxisExplanation& axis, const RankedRow& row) const
{
    switch (row.verdict) {
    case RankedRow::Verdict::Picked:
        return axis.by == AxisExplanation::By::Pin ? tr("pinned: %1").arg(qstr(axis.why)) : tr("picked: %1").arg(qstr(axis.why));
    case RankedRow::Verdict::Refused:
        return axis.by == AxisExplanation::By::Pin && row.why == axis.why ? tr("refused by the pin")
                                                                          : tr("refused: %1").arg(qstr(row.why));
    case RankedRow::Verdict::Impossible:
        return tr("cannot be: %1").arg(qstr(row.why));
    case RankedRow::Verdict::Allowed:
        break;
    }
    return row.sound ? QString() : tr("unsound: it does not compute the right thing");
}

QString RowsModel::text(const Place& place, int column) const
{
    const AxisExplanation& axis = m_explanation.axes[static_cast<std::size_t>(place.axis)];
    const RankedRow& row = axis.rows[static_cast<std::size_t>(place.row)];
    const bool possible = row.verdict != RankedRow::Verdict::Impossible;
    switch (column) {
    case AxisColumn:
        return place.first ? qstr(m_evaluation->plan.mesh.axis(axis.axis).name) : QString();
    case RowColumn:
        return rowLabel(row.row);
    case PriceColumn:
        if (!possible)
            return QStringLiteral("–");
        return secondsText(row.seconds);
    case MovesColumn: {
        return possible ? breakable(movesText(row)) : QString();
    }
    case StepColumn:
        if (row.effect && row.effect->refusal.empty() && row.effect->secondsBefore > 0) {
            const double percent = (row.effect->seconds / row.effect->secondsBefore - 1) * 100;
            const double size = std::abs(percent);
            return size < 0.05 ? tr("same")
                               : QStringLiteral("%1%2 %").arg(percent < 0 ? QStringLiteral("−") : QStringLiteral("+"),
                                                              QString::number(size, 'f', size < 10 ? 1 : 0));
        }
        return row.effect ? tr("refused") : QString();
    case NoteColumn:
        return breakable(note(axis, row));
    default:
        return {};
    }
}

QString RowsModel::toolTip(const AxisExplanation& axis, const RankedRow& row) const
{
    QStringList lines { tr("%1 over %2").arg(rowLabel(row.row), qstr(m_evaluation->plan.mesh.axis(axis.axis).name)) };
    if (const QString text = note(axis, row); !text.isEmpty())
        lines << text;
    for (const RowMove& move : row.moves)
        lines << tr("%1 of %2: %3 on a device, %4")
                     .arg(qstr(collectiveName(move.kind)), qstr(m_evaluation->graph.tensor(move.tensor).name),
                          bytesText(move.bytes), secondsText(move.seconds));
    if (!m_byTime && row.verdict != RankedRow::Verdict::Impossible)
        lines << tr("as MAX counts: %1").arg(exactBytesText(static_cast<std::int64_t>(std::llround(row.cost))));
    if (row.effect)
        lines << tr("pinned: %1").arg(effectText(*row.effect));
    if (row.pin)
        lines << tr("pin: %1").arg(qstr(pinText(*row.pin)));
    return lines.join(QLatin1Char('\n'));
}

QVariant RowsModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount() || index.column() >= ColumnCount)
        return {};
    const Place& place = m_rows[static_cast<std::size_t>(index.row())];
    const AxisExplanation& axis = m_explanation.axes[static_cast<std::size_t>(place.axis)];
    const RankedRow& row = axis.rows[static_cast<std::size_t>(place.row)];
    const bool picked = row.verdict == RankedRow::Verdict::Picked;
    switch (role) {
    case Qt::DisplayRole:
        return text(place, index.column());
    case Qt::ToolTipRole:
        return toolTip(axis, row);
    case PickedRole:
        return picked;
    case BarRole: {
        if (row.verdict == RankedRow::Verdict::Impossible)
            return -1.0;
        double most = 0;
        for (const RankedRow& other : axis.rows)
            if (other.verdict != RankedRow::Verdict::Impossible)
                most = std::max(most, other.seconds);
        return most > 0 ? row.seconds / most : 0.0;
    }
    case Qt::TextAlignmentRole:
        return static_cast<int>((index.column() == StepColumn ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::FontRole:
        if (index.column() == RowColumn || index.column() == StepColumn || index.column() == PriceColumn)
            return m_colors.mono;
        return index.column() == AxisColumn ? QVariant(m_colors.bold) : QVariant();
    case Qt::ForegroundRole:
        if (index.column() == AxisColumn || picked)
            return m_colors.text;
        if (index.column() == NoteColumn && row.verdict == RankedRow::Verdict::Refused)
            return m_colors.error;
        return row.verdict == RankedRow::Verdict::Allowed && index.column() != NoteColumn ? m_colors.text : m_colors.quiet;
    default:
        return {};
    }
}

QVariant RowsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    static const ColumnHeading columns[ColumnCount] = {
        { QT_TR_NOOP("mesh axis"), QT_TR_NOOP("The mesh axis that the row is for; each is decided on its own") },
        { QT_TR_NOOP("row"),
          QT_TR_NOOP("Placements of the operands and, after the arrow, of the result: R whole, S1 cut on dim 1, P partial") },
        { QT_TR_NOOP("price"), QT_TR_NOOP("What the row's own reshards take, predicted") },
        { QT_TR_NOOP("reshards"), QT_TR_NOOP("The collectives that bring the operands there") },
        { QT_TR_NOOP("step"), QT_TR_NOOP("The whole step, if the row is pinned"), true },
        { QT_TR_NOOP("why"), QT_TR_NOOP("Why it was picked, is refused, or is not possible") },
        {},
    };
    return headingData(columns, section, orientation, role, [](const char* text) { return tr(text); });
}

void PriceDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    QStyleOptionViewItem plain = option;
    initStyleOption(&plain, index);
    const QString text = plain.text;
    plain.text.clear();
    const QWidget* widget = option.widget;
    (widget != nullptr ? widget->style() : QApplication::style())->drawControl(QStyle::CE_ItemViewItem, &plain, painter, widget);
    const Theme& theme = Theme::of(widget);
    const double share = index.data(RowsModel::BarRole).toDouble();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRectF cell = QRectF(option.rect).adjusted(6, 0, -6, 0);
    painter->setFont(plain.font);
    painter->setPen(share < 0 ? theme.quiet : plain.palette.color(QPalette::Text));
    painter->drawText(QRectF(cell.left(), cell.top(), kTextWidth, cell.height()), Qt::AlignRight | Qt::AlignVCenter, text);
    const double room = cell.width() - kTextWidth - 8;
    if (share >= 0 && room > 8) {
        const QRectF track(cell.left() + kTextWidth + 8, cell.center().y() - 4, room, 8);
        painter->setPen(Qt::NoPen);
        painter->setBrush(theme.track);
        painter->drawRoundedRect(track, 4, 4);
        if (share > 0) {
            painter->setBrush(index.data(RowsModel::PickedRole).toBool() ? theme.accent : theme.attention);
            painter->drawRoundedRect(QRectF(track.left(), track.top(), std::max(4.0, track.width() * share), track.height()), 4, 4);
        }
    }
    painter->restore();
}

} // namespace shardboard
