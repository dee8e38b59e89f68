// SPDX-License-Identifier: Apache-2.0
#include "widgets/timeline/errorsmodel.h"

#include "widgets/look/format.h"
#include "widgets/tables/columnheading.h"

#include <array>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kAttention = 0.15; ///< errors from here on are marked
constexpr double kMatters = 0.01; ///< where they are that share of the step

constexpr std::array<ColumnHeading, ErrorsModel::ColumnCount> kColumns { {
    { QT_TR_NOOP("operation"), QT_TR_NOOP("Operations and collectives of the step"), false },
    { QT_TR_NOOP("predicted"), QT_TR_NOOP("Seconds of all its occurrences in the step, as predicted for the design's hardware"),
      true },
    { QT_TR_NOOP("measured"), QT_TR_NOOP("Seconds of all its occurrences in the step"), true },
    { QT_TR_NOOP("lost"), QT_TR_NOOP("By how much it took longer than was predicted"), true },
    { QT_TR_NOOP("error"), QT_TR_NOOP("The same by what was predicted"), true },
    { QT_TR_NOOP("bound by"), QT_TR_NOOP("What limits it, as predicted"), false },
    { QT_TR_NOOP("constant"), QT_TR_NOOP("The constant of the hardware that its prediction depends on the most"), false },
    { QT_TR_NOOP("count"), QT_TR_NOOP("Occurrences in the step"), true },
} };

QString signedText(double value, const QString& magnitude)
{
    return value < 0 ? QStringLiteral("−") + magnitude : value > 0 ? QStringLiteral("+") + magnitude : magnitude;
}

} // namespace

void ErrorsModel::setTable(const ErrorTable& table, const std::map<std::string, std::int64_t>& unmatched, const Look& look)
{
    beginResetModel();
    m_table = table;
    m_unmatched.assign(unmatched.begin(), unmatched.end());
    m_look = look;
    endResetModel();
}

int ErrorsModel::itemOf(int row) const
{
    return row >= 0 && static_cast<std::size_t>(row) < m_table.rows.size() ? m_table.rows[static_cast<std::size_t>(row)].item : -1;
}

int ErrorsModel::rowOf(int item) const
{
    for (std::size_t i = 0; i < m_table.rows.size() && item >= 0; ++i)
        if (m_table.rows[i].item == item)
            return static_cast<int>(i);
    return -1;
}

int ErrorsModel::rowCount(const QModelIndex& parent) const
{
    if (parent.isValid() || (m_table.rows.empty() && m_unmatched.empty()))
        return 0;
    return static_cast<int>(m_table.rows.size() + 1 + m_unmatched.size());
}

int ErrorsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

/// The rows, the step, then what is not in the plan.
ErrorRow ErrorsModel::rowAt(int row) const
{
    const auto index = static_cast<std::size_t>(row);
    if (index < m_table.rows.size())
        return m_table.rows[index];
    ErrorRow out;
    if (isTotal(row)) {
        out.id = m_table.step >= 0 || m_unmatched.empty() ? "step" : "all";
        out.predicted = m_table.predicted;
        out.measured = m_table.measured;
        return out;
    }
    const auto& [reason, count] = m_unmatched[index - m_table.rows.size() - 1];
    out.id = "not matched: " + reason;
    out.count = count;
    return out;
}

QString ErrorsModel::text(const ErrorRow& row, int column) const
{
    const bool times = row.predicted != 0 || row.measured != 0;
    switch (column) {
    case Operation:
        return qstr(row.id);
    case Predicted:
        return times ? secondsText(row.predicted) : QString();
    case Measured:
        return times ? secondsText(row.measured) : QString();
    case Lost:
        return times ? signedText(row.lost(), secondsText(std::abs(row.lost()))) : QString();
    case RelativeError: {
        const auto error = row.error();
        if (!error)
            return {};
        // A prediction for another machine is off by factors.
        return std::abs(*error) < 10 ? signedText(*error, percentText(std::abs(*error))) : tr("× %1").arg(digitsText(*error + 1));
    }
    case Bound:
        return qstr(row.boundBy);
    case Constant:
        return qstr(row.constant);
    case Count:
        return row.count > 0 ? countText(row.count) : QString();
    default:
        return {};
    }
}

QVariant ErrorsModel::sortKey(const ErrorRow& row, int column) const
{
    switch (column) {
    case Predicted:
        return row.predicted;
    case Measured:
        return row.measured;
    case Lost:
        return std::abs(row.lost());
    case RelativeError:
        return std::abs(row.error().value_or(0));
    case Count:
        return static_cast<qlonglong>(row.count);
    default:
        return text(row, column);
    }
}

QString ErrorsModel::tip(const ErrorRow& row) const
{
    QStringList lines { qstr(row.id) };
    for (int column = Predicted; column < ColumnCount; ++column)
        if (const QString value = text(row, column); !value.isEmpty())
            lines << tr("%1: %2").arg(tr(kColumns[static_cast<std::size_t>(column)].title), value);
    if (!row.constant.empty())
        lines << tr("If it is off everywhere, measure it by a calibration");
    return lines.join(QLatin1Char('\n'));
}

QVariant ErrorsModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid())
        return {};
    const ErrorRow row = rowAt(index.row());
    const int column = index.column();
    switch (role) {
    case Qt::DisplayRole: // most rows are of the block; of which link latency is, the constant and the tip say
        return column == Bound             ? text(row, column).section(QStringLiteral(" of "), 0, 0)
            : row.id.starts_with("block/") ? text(row, column).mid(column == Operation ? 6 : 0)
                                           : text(row, column);
    case Qt::ToolTipRole:
        return tip(row);
    case kSortRole:
        return sortKey(row, column);
    case kTotalRole:
        return index.row() >= static_cast<int>(m_table.rows.size());
    case Qt::TextAlignmentRole:
        return static_cast<int>((kColumns[static_cast<std::size_t>(column)].isNumber ? Qt::AlignRight : Qt::AlignLeft)
                                | Qt::AlignVCenter);
    case Qt::FontRole:
        if (kColumns[static_cast<std::size_t>(column)].isNumber)
            return m_look.mono;
        return isTotal(index.row()) || (row.collective && column == Operation) ? QVariant(m_look.bold) : QVariant();
    case Qt::ForegroundRole: {
        if (m_look.stale || column == Constant)
            return m_look.quiet;
        const auto error = row.error();
        const bool matters = std::abs(row.lost()) >= kMatters * m_table.measured;
        if (column == RelativeError && error && std::abs(*error) >= kAttention && matters)
            return m_look.attention;
        return {};
    }
    default:
        return {};
    }
}

QVariant ErrorsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    return headingData(kColumns, section, orientation, role, [](const char* text) { return tr(text); });
}

} // namespace shardboard
