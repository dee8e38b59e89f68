// SPDX-License-Identifier: Apache-2.0
#include "widgets/rules/ruledelegate.h"

#include "widgets/controls/axisdrag.h"
#include "widgets/look/axishues.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/rules/rulemodel.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QLineEdit>
#include <QPainter>
#include <QStringListModel>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kChipPadding = 16;
constexpr int kChipGap = 4;

const RuleModel* modelOf(const QModelIndex& index) { return qobject_cast<const RuleModel*>(index.model()); }

/// A chip for an axis that the mesh lacks.
void paintUnknownChip(QPainter* painter, const QRectF& rect, const QString& text, const QWidget* widget, const QFont& font)
{
    const Theme& theme = Theme::of(widget);
    QPen pen(theme.quiet, 1);
    pen.setDashPattern({ 3, 2 });
    painter->setPen(pen);
    painter->setBrush(Qt::NoBrush);
    const QRectF inner = rect.adjusted(0.75, 0.75, -0.75, -0.75);
    painter->drawRoundedRect(inner, inner.height() / 2, inner.height() / 2);
    painter->setPen(theme.quiet);
    painter->setFont(font);
    painter->drawText(rect, Qt::AlignCenter, text);
}

void paintAxes(QPainter* painter, const QRect& room, const LogicalRule& rule, const Mesh& mesh, const QWidget* widget)
{
    const Theme& theme = Theme::of(widget);
    const QFont font = monoFont(widget, -1);
    const QFontMetrics metrics(font);
    if (rule.axes.empty()) {
        painter->setFont(uiFont(widget, -0.5));
        painter->setPen(theme.quiet);
        painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter, RuleModel::tr("replicated"));
        return;
    }
    const int height = std::min(room.height() - 6, metrics.height() + 4);
    int x = room.left();
    for (std::size_t i = 0; i < rule.axes.size(); ++i) {
        const QString name = qstr(rule.axes[i]);
        const int width = metrics.horizontalAdvance(name) + kChipPadding;
        const auto left = rule.axes.size() - i - 1;
        const QString more = QStringLiteral("+%1").arg(rule.axes.size() - i); // instead of this one and those behind it
        const int moreWidth = metrics.horizontalAdvance(more) + 4;
        if (i > 0 && x + width + (left > 0 ? kChipGap + moreWidth : 0) > room.right()) {
            painter->setFont(font);
            painter->setPen(theme.quiet);
            painter->drawText(QRect(x, room.top(), room.right() - x, room.height()), Qt::AlignLeft | Qt::AlignVCenter, more);
            return;
        }
        const int most = room.right() - x - (left > 0 ? kChipGap + moreWidth : 0);
        const QRectF chip(x, room.center().y() - height / 2.0 + 0.5, std::min(width, most), height);
        const int axis = mesh.find(rule.axes[i]);
        const QString text = metrics.elidedText(name, Qt::ElideRight, static_cast<int>(chip.width()) - kChipPadding + 4);
        if (axis < 0)
            paintUnknownChip(painter, chip, text, widget, font);
        else
            paintChip(*painter, chip, text, axisColor(mesh, axis), widget, font);
        x += static_cast<int>(chip.width()) + kChipGap;
    }
}

void paintMark(QPainter* painter, const QRect& rect, RuleModel::Mark mark, const Theme& theme)
{
    if (mark == RuleModel::Mark::None)
        return;
    painter->setPen(Qt::NoPen);
    painter->setBrush(mark == RuleModel::Mark::Decides       ? theme.accent
                          : mark == RuleModel::Mark::Skipped ? theme.attention
                                                             : theme.quiet);
    const QRectF bar(rect.left() + 1, rect.top() + 5, 3, rect.height() - 10);
    if (mark == RuleModel::Mark::Decides) {
        painter->drawRoundedRect(bar, 1.5, 1.5);
        return;
    }
    for (const double part : { 0.0, 2.0 / 3.0 }) // broken, so that colour never carries meaning alone
        painter->drawRect(QRectF(bar.left(), bar.top() + part * bar.height(), bar.width(), bar.height() / 3));
}

/// Keeps what stands before the last separator when a completion is put in.
class LastWordCompleter : public QCompleter {
public:
    LastWordCompleter(const QStringList& words, QLineEdit* edit, QChar separator)
        : QCompleter(words, edit)
        , m_edit(edit)
        , m_separator(separator)
    {
        setCaseSensitivity(Qt::CaseInsensitive);
    }
    QString pathFromIndex(const QModelIndex& index) const override
    {
        const QString text = m_edit->text();
        const auto last = text.lastIndexOf(m_separator);
        const QString gap = m_separator == QLatin1Char(',') ? QStringLiteral(" ") : QString();
        return (last < 0 ? QString() : text.left(last + 1) + gap) + QCompleter::pathFromIndex(index);
    }
    QStringList splitPath(const QString& path) const override { return { path.mid(path.lastIndexOf(m_separator) + 1).trimmed() }; }

private:
    QLineEdit* m_edit;
    QChar m_separator;
};

} // namespace

void completeLastWord(QLineEdit* edit, const QStringList& words, QChar separator)
{
    edit->setCompleter(new LastWordCompleter(words, edit, separator));
}

RuleDelegate::RuleDelegate(QObject* parent)
    : QStyledItemDelegate(parent)
{
}

QSize RuleDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const
{
    return { 60, std::max(kRowHeight, option.fontMetrics.height() + 8) };
}

void RuleDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const RuleModel* model = modelOf(index);
    if (!model)
        return;
    const Theme& theme = Theme::of(option.widget);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const bool marked = model->mark(index.row()) == RuleModel::Mark::Decides;
    if (option.state & QStyle::State_Selected)
        painter->fillRect(option.rect.adjusted(0, 1, 0, -1), theme.selection);
    else if (marked || (option.state & QStyle::State_MouseOver))
        painter->fillRect(option.rect.adjusted(0, 1, 0, -1), blended(theme.panel, theme.selection, 0.5));
    if (index.column() == RuleModel::NumberColumn)
        paintMark(painter, option.rect, model->mark(index.row()), theme);
    const QRect room = option.rect.adjusted(8, 0, -8, 0);
    if (index.column() == RuleModel::AxesColumn) {
        paintAxes(painter, room, model->rule(index.row()), model->mesh(), option.widget);
    } else {
        const QVariant color = index.data(Qt::ForegroundRole);
        const bool number = index.column() != RuleModel::NameColumn;
        const QFont font = number ? monoFont(option.widget, -1) : uiFont(option.widget, 0, marked);
        painter->setFont(font);
        painter->setPen(color.isValid() ? color.value<QColor>() : theme.text);
        painter->drawText(room, index.data(Qt::TextAlignmentRole).toInt(),
                          QFontMetrics(font).elidedText(index.data().toString(), Qt::ElideRight, room.width()));
    }
    if ((option.state & QStyle::State_HasFocus) && option.widget && option.widget->hasFocus()) {
        painter->setPen(QPen(theme.accent, 1));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(QRectF(option.rect).adjusted(0.5, 1.5, -0.5, -1.5));
    }
    painter->restore();
}

QWidget* RuleDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem&, const QModelIndex& index) const
{
    const RuleModel* model = modelOf(index);
    if (!model)
        return nullptr;
    auto* edit = new QLineEdit(parent);
    edit->setObjectName(QStringLiteral("ruleEdit"));
    if (index.column() == RuleModel::AxesColumn) {
        QStringList axes;
        for (const MeshAxis& axis : model->mesh().axes())
            axes << qstr(axis.name);
        completeLastWord(edit, axes);
        edit->setPlaceholderText(RuleModel::tr("mesh axes, major first; empty: replicated"));
        edit->setAccessibleName(RuleModel::tr("Mesh axes of the rule, separated by commas"));
    } else {
        completeLastWord(edit, model->knownNames());
        edit->setPlaceholderText(RuleModel::tr("logical name"));
        edit->setAccessibleName(RuleModel::tr("Logical name of the rule"));
    }
    return edit;
}

void RuleDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const
{
    static_cast<QLineEdit*>(editor)->setText(index.data(Qt::EditRole).toString());
}

void RuleDelegate::setModelData(QWidget* editor, QAbstractItemModel* model, const QModelIndex& index) const
{
    model->setData(index, static_cast<QLineEdit*>(editor)->text());
}

void RuleDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex&) const
{
    const int height = std::max(editor->sizeHint().height(), option.rect.height());
    editor->setGeometry(option.rect.left(), option.rect.center().y() - height / 2, std::max(option.rect.width(), 160), height);
}

} // namespace shardboard
