// SPDX-License-Identifier: Apache-2.0
#include "widgets/workbench/commandpalette.h"

#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QStyledItemDelegate>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kWidth = 620;
constexpr int kRows = 12;
constexpr int kRow = 30;
constexpr std::size_t kMost = 200; ///< nobody reads further; typing narrows it

int wordScore(const QString& text, const QString& word)
{
    constexpr int kStart = 1000;
    constexpr int kWordStart = 600;
    constexpr int kInside = 300;
    constexpr int kApart = 60;
    qsizetype at = text.indexOf(word);
    if (at == 0)
        return kStart;
    for (qsizetype next = at; next > 0; next = text.indexOf(word, next + 1))
        if (!text[next - 1].isLetterOrNumber())
            return kWordStart;
    if (at > 0)
        return kInside;
    at = 0;
    for (const QChar letter : word) {
        at = text.indexOf(letter, at);
        if (at < 0)
            return 0;
        ++at;
    }
    return word.size() > 2 ? kApart : 0; // two letters in order are in every name
}

class EntryDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override
    {
        return { 200, std::max(kRow, option.fontMetrics.height() + 10) };
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const Theme& theme = Theme::of(option.widget);
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver)) {
            painter->setPen(Qt::NoPen);
            QColor fill = theme.selection;
            if (!(option.state & QStyle::State_Selected))
                fill.setAlphaF(0.5f);
            painter->setBrush(fill);
            painter->drawRoundedRect(option.rect.adjusted(4, 1, -4, -1), kCornerRadius, kCornerRadius);
        }
        const bool possible = index.data(PaletteModel::RefusalRole).toString().isEmpty();
        const QString key =
            possible ? index.data(PaletteModel::KeyRole).toString() : index.data(PaletteModel::RefusalRole).toString();
        QRect room = option.rect.adjusted(14, 0, -14, 0);
        const QFont small = uiFont(option.widget, -1);
        const QFont mono = possible ? monoFont(option.widget, -1) : small;
        painter->setFont(mono);
        painter->setPen(theme.quiet);
        const int keyWidth = std::min(painter->fontMetrics().horizontalAdvance(key), room.width() / 2);
        painter->drawText(room, Qt::AlignRight | Qt::AlignVCenter,
                          painter->fontMetrics().elidedText(key, Qt::ElideRight, keyWidth + 2));
        room.setRight(room.right() - keyWidth - (key.isEmpty() ? 0 : 16));
        const QString detail = index.data(PaletteModel::DetailRole).toString();
        const QFontMetrics smallMetrics(small);
        const QFont font = uiFont(option.widget);
        const QFontMetrics metrics(font);
        const int detailWidth = detail.isEmpty() ? 0 : smallMetrics.horizontalAdvance(detail) + 12;
        const QString text = metrics.elidedText(index.data().toString(), Qt::ElideMiddle, std::max(80, room.width() - detailWidth));
        painter->setFont(font);
        painter->setPen(possible ? theme.text : theme.quiet);
        painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter, text);
        room.setLeft(room.left() + metrics.horizontalAdvance(text) + 12);
        painter->setFont(small);
        painter->setPen(theme.quiet);
        painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter, smallMetrics.elidedText(detail, Qt::ElideRight, room.width()));
        painter->restore();
    }
};

} // namespace

int paletteScore(const QString& text, const QString& typed)
{
    constexpr int kShortest = 100;
    const QString lower = text.toLower();
    int score = 0;
    for (const QString& word : typed.toLower().split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        const int one = wordScore(lower, word);
        if (one == 0)
            return 0;
        score += one;
    }
    return score == 0 ? 1 : score + std::max(0, kShortest - static_cast<int>(text.size()));
}

PaletteModel::PaletteModel(QObject* parent)
    : QAbstractListModel(parent)
{
}

void PaletteModel::show(const std::vector<PaletteEntry>& entries, const QString& typed)
{
    std::vector<std::pair<int, const PaletteEntry*>> found;
    const bool all = typed.trimmed().isEmpty();
    for (const PaletteEntry& entry : entries) {
        // The place counts too (`theme dark`), but less than the name.
        int score = all ? 1 : 2 * paletteScore(entry.text, typed);
        if (score == 0)
            score = paletteScore(entry.text + QLatin1Char(' ') + entry.detail, typed);
        if (score > 0)
            found.emplace_back(entry.refusal.isEmpty() ? score : (score + 1) / 2, &entry);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    beginResetModel();
    m_shown.clear();
    for (std::size_t i = 0; i < found.size() && i < kMost; ++i)
        m_shown.push_back(*found[i].second);
    endResetModel();
}

const PaletteEntry* PaletteModel::entry(int row) const
{
    return row >= 0 && row < rowCount() ? &m_shown[static_cast<std::size_t>(row)] : nullptr;
}

int PaletteModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(m_shown.size()); }

QVariant PaletteModel::data(const QModelIndex& index, int role) const
{
    const PaletteEntry* it = entry(index.row());
    if (!it)
        return {};
    switch (role) {
    case Qt::DisplayRole:
        return it->text;
    case DetailRole:
        return it->detail;
    case KeyRole:
        return it->key;
    case RefusalRole:
        return it->refusal;
    case Qt::ToolTipRole:
        return it->refusal.isEmpty() ? it->toolTip : it->refusal;
    case Qt::AccessibleTextRole: {
        QStringList parts { it->text, it->detail, it->key, it->refusal };
        parts.removeAll(QString());
        return parts.join(QStringLiteral(", "));
    }
    default:
        return {};
    }
}

Qt::ItemFlags PaletteModel::flags(const QModelIndex& index) const
{
    return index.isValid() ? Qt::ItemIsEnabled | Qt::ItemIsSelectable : Qt::NoItemFlags; // what is refused can be read, too
}

CommandPalette::CommandPalette(Source entries, NamedSource named, QWidget* window)
    : QFrame(window)
    , m_entries(std::move(entries))
    , m_named(std::move(named))
    , m_field(new QLineEdit(this))
    , m_list(new QListView(this))
    , m_empty(new QLabel(tr("Nothing has that name."), this))
    , m_model(new PaletteModel(this))
{
    nameWidget(this, "commandPalette", tr("Command palette"));
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    nameWidget(m_field, "paletteField", tr("Find a command, setting, number, finding, weight or device"));
    m_field->setPlaceholderText(tr("Find a command, a setting, a number, a finding, a weight, help …"));
    m_field->setClearButtonEnabled(true);
    nameWidget(m_list, "paletteList", tr("Results"));
    m_list->setModel(m_model);
    m_list->setItemDelegate(new EntryDelegate(m_list));
    m_list->setUniformItemSizes(true);
    m_list->setFocusPolicy(Qt::NoFocus); // the field keeps it; keys are passed on
    m_list->setMouseTracking(true);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_empty->setObjectName(QStringLiteral("paletteEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setContentsMargins(0, 16, 0, 16);
    auto* column = boxLayout<QVBoxLayout>({ 8, 8, 8, 8 }, 6, this);
    column->addWidget(m_field);
    column->addWidget(m_empty);
    column->addWidget(m_list, 1);
    m_field->installEventFilter(this);
    window->installEventFilter(this);
    connect(m_field, &QLineEdit::textChanged, this, [this] { filter(); });
    connect(m_list, &QListView::clicked, this, [this](const QModelIndex& index) {
        m_list->setCurrentIndex(index);
        choose();
    });
    updateLook();
    hide();
}

void CommandPalette::open(const QString& typed)
{
    if (isHidden())
        m_before = QApplication::focusWidget();
    m_all = m_entries();
    m_field->setText(typed);
    filter();
    place();
    m_open = true;
    show();
    raise();
    m_field->setFocus(Qt::ShortcutFocusReason);
    m_field->selectAll();
}

void CommandPalette::filter()
{
    std::vector<PaletteEntry> entries = m_named(m_field->text());
    entries.insert(entries.end(), m_all.begin(), m_all.end());
    m_model->show(entries, m_field->text());
    const bool any = m_model->rowCount() > 0;
    m_empty->setVisible(!any);
    m_list->setVisible(any);
    if (any)
        m_list->setCurrentIndex(m_model->index(0));
    m_list->scrollToTop();
    place();
}

void CommandPalette::place()
{
    const QWidget* window = parentWidget();
    constexpr int kTop = 40;
    const int wide = std::min(kWidth, window->width() - 2 * kPanelMargin);
    const int rows = std::clamp(m_model->rowCount(), 1, kRows);
    const int tall = std::min(m_field->sizeHint().height() + 24
                                  + (m_model->rowCount() > 0 ? rows * std::max(kRow, fontMetrics().height() + 10) + 4 : 60),
                              window->height() - kTop - kPanelMargin);
    setGeometry((window->width() - wide) / 2, kTop, wide, tall);
}

void CommandPalette::moveCurrent(int by)
{
    const int count = m_model->rowCount();
    if (count == 0)
        return;
    const int row = m_list->currentIndex().row();
    const bool step = by == 1 || by == -1;
    m_list->setCurrentIndex(m_model->index(step ? (row + by + count) % count : std::clamp(row + by, 0, count - 1)));
}

void CommandPalette::choose()
{
    const PaletteEntry* found = m_model->entry(m_list->currentIndex().row());
    if (!found || !found->refusal.isEmpty())
        return; // why is told beside it
    const PaletteEntry entry = *found; // what it does may change the list
    dismiss();
    if (entry.run)
        entry.run();
}

void CommandPalette::dismiss()
{
    m_open = false; // hiding takes the focus away, which must not dismiss it once more
    hide();
    if (m_before && m_before->isVisible())
        m_before->setFocus(Qt::PopupFocusReason);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == parentWidget()) {
        if (event->type() == QEvent::Resize && isVisible())
            place();
        if (event->type() == QEvent::MouseButtonPress && isVisible())
            dismiss();
        return QFrame::eventFilter(watched, event);
    }
    if (watched != m_field)
        return QFrame::eventFilter(watched, event);
    if (event->type() == QEvent::FocusOut && m_open && QApplication::focusWidget() != nullptr
        && !isAncestorOf(QApplication::focusWidget())) {
        m_open = false; // somebody went elsewhere
        hide();
    }
    if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept(); // not for others who use it
        return true;
    }
    if (event->type() != QEvent::KeyPress)
        return QFrame::eventFilter(watched, event);
    switch (static_cast<QKeyEvent*>(event)->key()) {
    case Qt::Key_Down:
        moveCurrent(1);
        return true;
    case Qt::Key_Up:
        moveCurrent(-1);
        return true;
    case Qt::Key_PageDown:
        moveCurrent(kRows);
        return true;
    case Qt::Key_PageUp:
        moveCurrent(-kRows);
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        choose();
        return true;
    case Qt::Key_Escape:
        dismiss();
        return true;
    case Qt::Key_Tab:
    case Qt::Key_Backtab:
        return true; // there is nowhere to go
    default:
        return QFrame::eventFilter(watched, event);
    }
}

void CommandPalette::changeEvent(QEvent* event)
{
    QFrame::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        updateLook();
}

void CommandPalette::updateLook() { setTextColor(m_empty, Theme::of(this).quiet); }

} // namespace shardboard
