// SPDX-License-Identifier: Apache-2.0
#include "widgets/rules/rulemodel.h"

#include "model/text/text.h"
#include "widgets/edits/ruleedits.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"
#include "widgets/tables/columnheading.h"

#include <QCoreApplication>
#include <QDataStream>
#include <QIODevice>
#include <QMimeData>

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

/// Rows mean nothing in another list, nor in another window of another process.
quint64 markOf(const RuleModel* model)
{
    return static_cast<quint64>(reinterpret_cast<quintptr>(model)) ^ static_cast<quint64>(QCoreApplication::applicationPid());
}

std::vector<int> rowsIn(const QMimeData* data, const RuleModel* model)
{
    QByteArray bytes = data ? data->data(QLatin1String(RuleModel::kMimeType)) : QByteArray();
    QDataStream stream(&bytes, QIODevice::ReadOnly);
    std::vector<int> rows;
    quint64 mark = 0;
    stream >> mark;
    if (mark != markOf(model))
        return {};
    while (!stream.atEnd()) {
        qint32 row = -1;
        stream >> row;
        if (stream.status() != QDataStream::Ok)
            return {};
        rows.push_back(row);
    }
    return rows;
}

} // namespace

RuleModel::RuleModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void RuleModel::setDesign(const Design& design, const Evaluation* evaluation, const Look& look)
{
    const auto& rules = design.rules.rules;
    const bool sameRows = rules.size() == m_rules.size();
    if (!sameRows)
        beginResetModel();
    m_rules = rules;
    m_uses = evaluation ? ruleUses(design, *evaluation) : std::vector<RuleUse>(rules.size());
    m_marks.assign(rules.size(), Mark::None);
    m_mesh = design.mesh;
    m_look = look;
    std::set<std::string> names;
    for (const LogicalRule& rule : rules)
        names.insert(rule.name);
    for (std::size_t i = 0; evaluation && i < evaluation->weights.size(); ++i)
        for (const std::string& name : evaluation->weights[i].spec.logicalNames)
            names.insert(name);
    m_names.clear();
    for (const std::string& name : names)
        if (!name.empty())
            m_names << verbatim(name);
    if (!sameRows)
        endResetModel();
    else if (!m_rules.empty())
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

void RuleModel::setTrace(const WeightTrace& trace)
{
    if (m_rules.empty())
        return;
    m_marks.assign(m_rules.size(), Mark::None);
    for (const TraceDim& dim : trace.dims) {
        for (const TraceRule& tried : dim.rules) {
            if (tried.rule < 0 || static_cast<std::size_t>(tried.rule) >= m_marks.size())
                continue;
            m_marks[static_cast<std::size_t>(tried.rule)] = tried.outcome == RuleOutcome::Decided ? Mark::Decides
                : tried.outcome == RuleOutcome::AxisTaken                                         ? Mark::Skipped
                                                                                                  : Mark::NotAsked;
        }
    }
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

int RuleModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_rules.size()); }

int RuleModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString RuleModel::text(int row, int column) const
{
    const RuleUse& rule = use(row);
    switch (column) {
    case NumberColumn:
        return QString::number(row + 1);
    case NameColumn:
        return qstr(m_rules[static_cast<std::size_t>(row)].name);
    case AxesColumn: {
        const auto& axes = m_rules[static_cast<std::size_t>(row)].axes;
        return axes.empty() ? tr("replicated") : shownText(axesToText(axes));
    }
    case DecidesColumn:
        return rule.shadowedBy >= 0 ? tr("never") : rule.dims == 0 ? QStringLiteral("–") : countText(rule.decided);
    case LostColumn:
        return rule.lost > 0 ? countText(rule.lost) : QString();
    default:
        return {};
    }
}

QString RuleModel::toolTip(int row, int column) const
{
    const LogicalRule& rule = m_rules[static_cast<std::size_t>(row)];
    QString out = tr("Rule %1: %2 → %3").arg(QString::number(row + 1), qstr(rule.name), text(row, AxesColumn));
    if (!use(row).story.isEmpty())
        out += QLatin1Char('\n') + use(row).story;
    if (!rule.place.empty())
        out += QLatin1Char('\n') + tr("from %1").arg(qstr(rule.place));
    if (column == NameColumn || column == AxesColumn)
        out += QLatin1Char('\n') + tr("Double-click to edit");
    return out;
}

QVariant RuleModel::foreground(int row, int column) const
{
    const RuleUse& rule = use(row);
    if (column == NumberColumn)
        return m_look.quiet;
    if (column == DecidesColumn && rule.shadowedBy >= 0)
        return m_look.attention;
    if (column == LostColumn)
        return m_look.attention;
    return rule.shadowedBy >= 0 || rule.dims == 0 || rule.decided == 0 ? QVariant(m_look.quiet) : QVariant();
}

QVariant RuleModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount() || index.column() >= ColumnCount)
        return {};
    const int row = index.row();
    const int column = index.column();
    const bool number = column == NumberColumn || column == DecidesColumn || column == LostColumn;
    switch (role) {
    case Qt::DisplayRole:
        return text(row, column);
    case Qt::EditRole:
        return column == AxesColumn ? axesToText(rule(row).axes)
            : column == NameColumn  ? verbatim(rule(row).name)
                                    : text(row, column);
    case Qt::ToolTipRole:
        return toolTip(row, column);
    case Qt::AccessibleTextRole:
        return toolTip(row, column);
    case Qt::TextAlignmentRole:
        return static_cast<int>((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::FontRole:
        return number ? QVariant(m_look.mono) : QVariant();
    case Qt::ForegroundRole:
        return foreground(row, column);
    default:
        return {};
    }
}

QVariant RuleModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    static const ColumnHeading columns[ColumnCount] = {
        { "", QT_TR_NOOP("Rules are tried from top to bottom") },
        { QT_TR_NOOP("logical name"), QT_TR_NOOP("Name of a tensor dim that the rule is for") },
        { QT_TR_NOOP("mesh axes"), QT_TR_NOOP("Mesh axes that cut the dim, major first") },
        { QT_TR_NOOP("decides"),
          QT_TR_NOOP("Dims of weights and inputs that get their axes from the rule; repeated layers count once"), true },
        { QT_TR_NOOP("skipped"), QT_TR_NOOP("Dims on which the rule was skipped because one of its axes already cuts another dim"),
          true },
    };
    return headingData(columns, section, orientation, role, [](const char* text) { return tr(text); });
}

Qt::ItemFlags RuleModel::flags(const QModelIndex& index) const
{
    if (!index.isValid())
        return Qt::ItemIsDropEnabled; // between rows, never on one
    Qt::ItemFlags out = Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsDragEnabled | Qt::ItemNeverHasChildren;
    if (index.column() == NameColumn || index.column() == AxesColumn)
        out |= Qt::ItemIsEditable;
    return out;
}

bool RuleModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    if (role != Qt::EditRole || !index.isValid() || index.row() >= rowCount())
        return false;
    LogicalRule rule = m_rules[static_cast<std::size_t>(index.row())];
    if (index.column() == NameColumn) {
        const std::string name = value.toString().toStdString();
        rule.name = std::string(trimmed(name));
        if (rule.name.empty()) {
            Q_EMIT refused(tr("A rule needs the logical name of a tensor dim, such as embed."));
            return false;
        }
    } else if (index.column() == AxesColumn) {
        rule.axes = axesFromText(value.toString());
    }
    if (!(rule == m_rules[static_cast<std::size_t>(index.row())]))
        Q_EMIT changeWanted(index.row(), rule);
    return true;
}

QStringList RuleModel::mimeTypes() const { return { QLatin1String(kMimeType) }; }

QMimeData* RuleModel::mimeData(const QModelIndexList& indexes) const
{
    std::set<int> rows;
    for (const QModelIndex& index : indexes)
        rows.insert(index.row());
    QByteArray bytes;
    QDataStream stream(&bytes, QIODevice::WriteOnly);
    stream << markOf(this);
    QStringList lines;
    for (const int row : rows) {
        stream << static_cast<qint32>(row);
        lines << QStringLiteral("%1: %2").arg(text(row, NameColumn), text(row, AxesColumn));
    }
    auto* data = new QMimeData;
    data->setData(QLatin1String(kMimeType), bytes);
    data->setText(lines.join(QLatin1Char('\n')));
    return data;
}

bool RuleModel::canDropMimeData(const QMimeData* data, Qt::DropAction action, int, int, const QModelIndex& parent) const
{
    return action == Qt::MoveAction && !parent.isValid() && data && data->hasFormat(QLatin1String(kMimeType));
}

bool RuleModel::dropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column, const QModelIndex& parent)
{
    if (!canDropMimeData(data, action, row, column, parent))
        return false;
    const auto rows = rowsIn(data, this);
    if (rows.empty())
        return false;
    Q_EMIT moveWanted(rows, row < 0 ? rowCount() : row);
    return true;
}

} // namespace shardboard
