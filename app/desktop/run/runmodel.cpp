// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/run/runmodel.h"

#include "widgets/look/format.h"
#include "widgets/tables/elidingheader.h"

#include <QCoreApplication>
#include <QStringList>

#include <cmath>

namespace shardboard {

namespace {

QString say(const char* text) { return QCoreApplication::translate("shardboard::RunModel", text); }

bool isCollective(const RunOperation& operation) { return collectiveFromName(operation.kind).has_value(); }

bool isText(int column) { return column == RunModel::Operation || column == RunModel::Kind; }

} // namespace

QString relativeErrorText(double error)
{
    if (!std::isfinite(error))
        return say("not finite");
    return error == 0 ? say("exact") : QString::number(error, 'e', 1);
}

QString verdictText(const RunResult& result)
{
    if (!result.compared)
        return say("Not compared with the unsharded computation: turn on “Verify” to check the numbers.");
    const QString worst = relativeErrorText(result.maxRelativeError);
    const QString tolerance = QString::number(result.tolerance, 'g', 2);
    if (result.verified)
        return say("Equal to the unsharded computation: largest relative error %1 at %2, allowed %3.")
            .arg(worst, qstr(result.worstOp), tolerance);
    return say("Not equal to the unsharded computation: first at %1; largest relative error %2 at %3, allowed %4.")
        .arg(qstr(result.firstDeviation), worst, qstr(result.worstOp), tolerance);
}

void RunModel::setResult(const RunResult& result, const QString& hardware)
{
    beginResetModel();
    m_result = result;
    m_hardware = hardware;
    endResetModel();
}

void RunModel::clear() { setResult({}, {}); }

void RunModel::setStale(const QColor& ink)
{
    if (m_stale == ink)
        return;
    m_stale = ink;
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1), { Qt::ForegroundRole, Qt::ToolTipRole });
}

void RunModel::setMono(const QFont& font)
{
    if (m_mono == font)
        return;
    m_mono = font;
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1), { Qt::FontRole });
}

int RunModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_result.operations.size());
}

int RunModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString RunModel::text(const RunOperation& operation, int column) const
{
    switch (column) {
    case Operation:
        return qstr(operation.id);
    case Kind:
        return qstr(operation.kind);
    case Measured:
        return secondsText(operation.medianSeconds);
    case Predicted:
        return secondsText(operation.predictedSeconds);
    case Bytes:
        return operation.bytes > 0 ? bytesText(operation.bytes) : QString();
    case Count:
        return countText(operation.count);
    case RelativeError:
        return operation.relativeError < 0 ? QString() : relativeErrorText(operation.relativeError);
    default:
        return {};
    }
}

QString RunModel::exactText(const RunOperation& operation, int column) const
{
    switch (column) {
    case Measured:
        return say("%1 s for one occurrence, on the slowest logical device").arg(operation.medianSeconds, 0, 'g', 9);
    case Predicted:
        return say("%1 s for one occurrence, predicted for the design's hardware").arg(operation.predictedSeconds, 0, 'g', 9);
    case Bytes:
        return operation.bytes > 0 ? exactBytesText(operation.bytes) : QString();
    case RelativeError:
        return operation.relativeError < 0 ? QString() : QString::number(operation.relativeError, 'g', 9);
    default:
        return text(operation, column);
    }
}

/// All of a row, for where there is no room for its columns.
QString RunModel::wholeText(const RunOperation& operation) const
{
    QStringList lines { text(operation, Operation) };
    if (m_stale.isValid())
        lines.prepend(say("Stale: of an earlier layout."));
    for (int column = 0; column < ColumnCount; ++column)
        if (const QString value = text(operation, column); column != Operation && !value.isEmpty())
            lines << say("%1: %2").arg(headerData(column, Qt::Horizontal, Qt::DisplayRole).toString(), value);
    return lines.join(QLatin1Char('\n'));
}

QVariant RunModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid())
        return {};
    const RunOperation& operation = m_result.operations[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return text(operation, index.column());
    case Qt::ToolTipRole:
        if (index.column() == Operation)
            return wholeText(operation);
        return m_stale.isValid() ? say("Stale: of an earlier layout. ") + exactText(operation, index.column())
                                 : exactText(operation, index.column());
    case Qt::ForegroundRole:
        return m_stale.isValid() ? QVariant(m_stale) : QVariant();
    case Qt::TextAlignmentRole:
        return int((isText(index.column()) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::FontRole: {
        QFont font;
        if (!isText(index.column()))
            font = m_mono;
        font.setBold(index.column() == Operation && isCollective(operation));
        return font;
    }
    default:
        return {};
    }
}

QVariant RunModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section >= ColumnCount)
        return {};
    if (role == Qt::TextAlignmentRole)
        return int((isText(section) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole && section == RelativeError)
        return say("largest error relative to the unsharded computation");
    if (role == Qt::ToolTipRole) // all of it, where the heading is elided
        return headerData(section, orientation, Qt::DisplayRole);
    if (role == ElidingHeader::kShortTitleRole)
        return section == Predicted && !m_hardware.isEmpty() ? QVariant(say("predicted")) : QVariant();
    if (role != Qt::DisplayRole)
        return {};
    static constexpr const char* kNames[ColumnCount] = {
        QT_TRANSLATE_NOOP("shardboard::RunModel", "operation"), QT_TRANSLATE_NOOP("shardboard::RunModel", "measured"),
        QT_TRANSLATE_NOOP("shardboard::RunModel", "predicted"), QT_TRANSLATE_NOOP("shardboard::RunModel", "error"),
        QT_TRANSLATE_NOOP("shardboard::RunModel", "kind"),      QT_TRANSLATE_NOOP("shardboard::RunModel", "bytes"),
        QT_TRANSLATE_NOOP("shardboard::RunModel", "× a step"),
    };
    // The run is on this machine, the prediction for another one: say so where the numbers stand.
    if (section == Measured && !m_result.backend.empty())
        return say("on %1").arg(qstr(m_result.backend));
    if (section == Predicted && !m_hardware.isEmpty())
        return say("predicted %1").arg(m_hardware);
    return say(kNames[section]);
}

} // namespace shardboard
