// SPDX-License-Identifier: Apache-2.0
#include "widgets/cuts/cutsmodel.h"

#include "model/core/checked.h"

#include "widgets/look/devicecolors.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/tables/columnheading.h"

#include <QPainter>
#include <QStringList>

#include <algorithm>
#include <limits>

namespace shardboard {

namespace {

constexpr std::int64_t kMostBoxes = 256; ///< more parts than this are drawn pixel by pixel
constexpr std::int64_t kSaturated = std::numeric_limits<std::int64_t>::max();

} // namespace

CutsModel::CutsModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void CutsModel::setComparison(const CutComparison& comparison, const Mesh& mesh, std::vector<std::int64_t> colors,
                              const PartColors& palette, std::int64_t rowBytes, std::optional<CutRule> current, const Look& look)
{
    beginResetModel();
    m_comparison = comparison;
    m_mesh = mesh;
    m_colors = std::move(colors);
    m_palette = palette;
    m_rowBytes = rowBytes;
    m_current = current;
    m_look = look;
    m_empty = false;
    endResetModel();
}

void CutsModel::clear()
{
    beginResetModel();
    m_empty = true;
    endResetModel();
}

void CutsModel::setUsersShown(bool shown)
{
    if (shown == m_usersShown)
        return;
    m_usersShown = shown;
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, RuleColumn), index(rowCount() - 1, RuleColumn));
}

int CutsModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || m_empty ? 0 : static_cast<int>(m_comparison.rows.size());
}

int CutsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString CutsModel::differsText(const CutRow& row, std::size_t most) const
{
    if (row.differing == 0)
        return tr("none");
    QStringList out;
    const auto ranges = differingPositions(row, m_comparison, m_mesh);
    for (const Range& range : ranges) {
        if (static_cast<std::size_t>(out.size()) == most) {
            out << QStringLiteral("…");
            break;
        }
        // Neighbours of an edited device order have no ids in a row, so each stands for itself.
        if (!m_mesh.deviceIds().empty()) {
            for (std::int64_t position = range.lo; position < range.hi && static_cast<std::size_t>(out.size()) < most; ++position)
                out << QString::number(m_mesh.deviceId(position));
        } else {
            out << (range.size() > 1 ? QStringLiteral("%1–%2").arg(range.lo).arg(range.hi - 1) : QString::number(range.lo));
        }
    }
    return out.join(QStringLiteral(", "));
}

QString CutsModel::text(const CutRow& row, int column) const
{
    if (column == RuleColumn)
        return m_usersShown ? QStringLiteral("%1 · %2").arg(qstr(cutRuleName(row.rule)), qstr(cutRuleUser(row.rule)))
                            : qstr(cutRuleName(row.rule));
    if (row.refused)
        return column == BarColumn ? qstr(row.refused->text()) : QString();
    switch (column) {
    case SizesColumn:
        return sizesText(row.sizes, 6);
    case DiffersColumn:
        return differsText(row, 4);
    case PaddingColumn:
        return row.padding == kSaturated ? QStringLiteral("∞") : countText(row.padding);
    default:
        return {};
    }
}

QString CutsModel::toolTip(const CutRow& row, int column) const
{
    if (row.refused)
        return qstr(row.refused->text());
    switch (column) {
    case SizesColumn:
    case BarColumn:
        return row.empty > 0
            ? tr("%1\n%2 without elements").arg(sizesText(row.sizes, 64), counted(row.empty, tr("part"), tr("parts")))
            : sizesText(row.sizes, 64);
    case DiffersColumn:
        return row.differing == 0 ? tr("Every device holds the same elements as under the balanced rule")
                                  : tr("%1 of %2 parts have other elements than under the balanced rule, on devices %3")
                                        .arg(row.differing)
                                        .arg(m_comparison.parts)
                                        .arg(differsText(row, 64));
    case PaddingColumn: {
        const auto bytes = checkedMultiply(row.padding, m_rowBytes);
        return tr("Elements of the dim that are added when every part is padded to the largest, %1").arg(row.largest)
            + (bytes ? tr(": %1 over all parts").arg(bytesText(*bytes)) : QString());
    }
    default:
        return tr("%1 cuts this way. Double-click, or press Return, to cut the weight by this rule")
            .arg(qstr(cutRuleUser(row.rule)));
    }
}

QVariant CutsModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount() || index.column() >= ColumnCount)
        return {};
    const CutRow& cut = row(index.row());
    const bool current = m_current == cut.rule;
    const bool number = index.column() == SizesColumn || index.column() == PaddingColumn || index.column() == DiffersColumn;
    switch (role) {
    case Qt::DisplayRole:
        return text(cut, index.column());
    case Qt::ToolTipRole:
        return toolTip(cut, index.column());
    case Qt::AccessibleTextRole:
        return index.column() == BarColumn && !cut.refused ? sizesText(cut.sizes, 64) : text(cut, index.column());
    case kCurrentRole:
        return current;
    case kRefusedRole:
        return cut.refused.has_value();
    case Qt::TextAlignmentRole:
        return static_cast<int>((index.column() == PaddingColumn ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::FontRole:
        return index.column() == RuleColumn && current ? QVariant(m_look.bold) : number ? QVariant(m_look.mono) : QVariant();
    case Qt::ForegroundRole:
        if (cut.refused && index.column() != RuleColumn)
            return m_look.error;
        return index.column() == DiffersColumn && cut.differing == 0 ? QVariant(m_look.quiet) : QVariant();
    default:
        return {};
    }
}

QVariant CutsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    static const ColumnHeading columns[ColumnCount] = {
        { QT_TR_NOOP("cut rule"), QT_TR_NOOP("The rule, and who cuts by it") },
        { QT_TR_NOOP("parts"), QT_TR_NOOP("The dim from its first element to its last") },
        { QT_TR_NOOP("sizes"), QT_TR_NOOP("Elements of the parts in order") },
        { QT_TR_NOOP("differs on"), QT_TR_NOOP("Devices that hold other elements than under the balanced rule") },
        { QT_TR_NOOP("padding"), QT_TR_NOOP("Elements added when every part is padded to the largest"), true },
    };
    return headingData(columns, section, orientation, role, [](const char* text) { return tr(text); });
}

CutBarDelegate::CutBarDelegate(const CutsModel* model, QObject* parent)
    : QStyledItemDelegate(parent)
    , m_model(model)
{
}

void CutBarDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const CutRow& row = m_model->row(index.row());
    if (row.refused) {
        QStyledItemDelegate::paint(painter, option, index);
        return;
    }
    painter->save();
    if (option.state & QStyle::State_Selected)
        painter->fillRect(option.rect, Theme::of(option.widget).selection);
    const QRect bar = option.rect.adjusted(8, 4, -8, -4);
    if (m_model->comparison().parts > kMostBoxes)
        paintManyParts(*painter, bar, row);
    else
        paintParts(*painter, QRectF(bar), row, option.widget);
    painter->restore();
}

void CutBarDelegate::paintParts(QPainter& painter, const QRectF& bar, const CutRow& row, const QWidget* widget) const
{
    const Theme& theme = Theme::of(widget);
    const double size = static_cast<double>(std::max<std::int64_t>(m_model->comparison().size, 1));
    const QFont font = monoFont(widget, -1.5);
    const QFontMetrics metrics(font);
    painter.setFont(font);
    std::int64_t at = 0;
    std::size_t part = 0;
    for (const SizeRun& run : row.sizes) {
        for (std::int64_t i = 0; i < run.count; ++i, ++part, at += run.size) {
            const double left = std::round(bar.left() + bar.width() * static_cast<double>(at) / size);
            const double right = std::round(bar.left() + bar.width() * static_cast<double>(at + run.size) / size);
            const QRectF box(left, bar.top(), right - left - (right - left > 4 ? 1 : 0), bar.height());
            if (box.width() <= 0)
                continue; // an empty part
            const PartColor color = m_model->colorOf(static_cast<std::int64_t>(part));
            painter.fillRect(box, color.fill);
            if (color.hatch != Qt::NoBrush)
                painter.fillRect(box, QBrush(color.hatchColor, color.hatch));
            if (run.size < row.largest && box.width() > 4) {
                painter.setPen(QPen(theme.text, 1, Qt::DotLine));
                painter.setBrush(Qt::NoBrush);
                painter.drawRect(box.adjusted(1.5, 1.5, -1.5, -1.5));
            }
            const QString text = QString::number(run.size);
            if (metrics.horizontalAdvance(text) + 4 > box.width())
                continue;
            painter.setPen(color.label);
            painter.drawText(box, Qt::AlignCenter, text);
        }
    }
}

/// Each pixel in the colour of the part that its first element is in.
void CutBarDelegate::paintManyParts(QPainter& painter, const QRect& bar, const CutRow& row) const
{
    const double size = static_cast<double>(m_model->comparison().size);
    auto run = row.sizes.begin();
    std::int64_t runBegin = 0; ///< first element of the run
    std::int64_t runPart = 0;
    for (int x = 0; x < bar.width(); ++x) {
        const auto element = static_cast<std::int64_t>(size * x / bar.width());
        while (run != row.sizes.end() && element >= runBegin + run->size * run->count) {
            runBegin += run->size * run->count;
            runPart += run->count;
            ++run;
        }
        if (run == row.sizes.end())
            return;
        const std::int64_t part = runPart + (element - runBegin) / run->size;
        painter.fillRect(QRect(bar.left() + x, bar.top(), 1, bar.height()), m_model->colorOf(part).fill);
    }
}

} // namespace shardboard
