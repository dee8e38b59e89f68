// SPDX-License-Identifier: Apache-2.0
#include "widgets/tables/listfilter.h"

#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QAbstractItemView>
#include <QFrame>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPushButton>
#include <QScrollBar>
#include <QShortcut>
#include <QTableView>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kBarWidth = 300;
constexpr int kGap = 6;

void hideRow(QAbstractItemView* view, const QModelIndex& parent, int row, bool hide)
{
    if (auto* tree = qobject_cast<QTreeView*>(view)) {
        if (tree->isRowHidden(row, parent) != hide)
            tree->setRowHidden(row, parent, hide);
    } else if (auto* table = qobject_cast<QTableView*>(view)) {
        if (table->isRowHidden(row) != hide)
            table->setRowHidden(row, hide);
    } else if (auto* list = qobject_cast<QListView*>(view)) {
        if (list->isRowHidden(row) != hide)
            list->setRowHidden(row, hide);
    }
}

bool isHidden(const QAbstractItemView* view, int row)
{
    if (const auto* tree = qobject_cast<const QTreeView*>(view))
        return tree->isRowHidden(row, {});
    if (const auto* table = qobject_cast<const QTableView*>(view))
        return table->isRowHidden(row);
    const auto* list = qobject_cast<const QListView*>(view);
    return list != nullptr && list->isRowHidden(row);
}

bool rowHas(const QAbstractItemModel& model, const QModelIndex& parent, int row, const QString& text)
{
    for (int column = 0; column < model.columnCount(parent); ++column)
        if (unbroken(model.index(row, column, parent).data().toString()).contains(text, Qt::CaseInsensitive))
            return true;
    return false;
}

} // namespace

void ListFilter::installIn(QWidget* panel)
{
    QList<QAbstractItemView*> views = panel->findChildren<QAbstractItemView*>();
    if (auto* self = qobject_cast<QAbstractItemView*>(panel))
        views.prepend(self);
    views.removeIf(
        [](const QAbstractItemView* view) { return view->inherits("QComboBoxListView") || view->inherits("QHeaderView"); });
    QLineEdit* own = nullptr;
    for (QLineEdit* edit : panel->findChildren<QLineEdit*>())
        if (edit->objectName().endsWith(QLatin1String("Filter")))
            own = edit;
    for (QAbstractItemView* view : views) {
        new ListFilter(view, own, views.size() == 1 || own != nullptr ? panel : view);
        if (own != nullptr)
            break; // the first view is the list that it belongs to
    }
}

ListFilter::ListFilter(QAbstractItemView* view, QLineEdit* own, QWidget* keyScope)
    : QObject(view)
    , m_view(view)
    , m_edit(own)
    , m_own(own != nullptr)
    , m_timer(new QTimer(this))
{
    setObjectName(QStringLiteral("listFilter"));
    if (!m_own)
        makeBar();
    makeMessage();
    m_timer->setSingleShot(true);
    m_timer->setInterval(0);
    connect(m_timer, &QTimer::timeout, this, &ListFilter::apply);
    connect(m_edit, &QLineEdit::textChanged, this, &ListFilter::apply);
    auto* key = new QShortcut(QKeySequence::Find, keyScope);
    key->setContext(Qt::WidgetWithChildrenShortcut);
    connect(key, &QShortcut::activated, this, &ListFilter::open);
    view->installEventFilter(this);
    m_edit->installEventFilter(this);
    followModel();
}

void ListFilter::makeBar()
{
    m_bar = new QFrame(m_view);
    m_bar->setObjectName(QStringLiteral("filterBar"));
    m_bar->setFrameShape(QFrame::StyledPanel);
    m_bar->setAutoFillBackground(true);
    auto* edit = new QLineEdit(m_bar);
    nameWidget(edit, "filterText", tr("Filter of %1").arg(m_view->accessibleName()));
    edit->setPlaceholderText(tr("Show rows that have …"));
    m_edit = edit;
    m_count = new QLabel(m_bar);
    m_count->setObjectName(QStringLiteral("filterCount"));
    auto* close = new QToolButton(m_bar);
    close->setObjectName(QStringLiteral("filterClose"));
    close->setText(QStringLiteral("×"));
    close->setToolTip(tr("Shows all rows (Esc)"));
    close->setAccessibleName(tr("Clear filter"));
    close->setAutoRaise(true);
    connect(close, &QToolButton::clicked, this, &ListFilter::clear);
    auto* line = boxLayout<QHBoxLayout>({ 6, 4, 4, 4 }, 6, m_bar);
    line->addWidget(edit, 1);
    line->addWidget(m_count);
    line->addWidget(close);
    m_bar->hide();
}

void ListFilter::makeMessage()
{
    m_message = new QWidget(m_view);
    m_message->setObjectName(QStringLiteral("filterMessage"));
    m_messageText = new QLabel(m_message);
    m_messageText->setObjectName(QStringLiteral("filterMessageText"));
    m_messageText->setAlignment(Qt::AlignCenter);
    m_messageText->setTextFormat(Qt::PlainText);
    auto* button = new QPushButton(tr("Clear filter"), m_message);
    button->setObjectName(QStringLiteral("filterClear"));
    connect(button, &QPushButton::clicked, this, &ListFilter::clear);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, kGap, m_message);
    column->addWidget(m_messageText);
    column->addWidget(button, 0, Qt::AlignHCenter);
    m_message->hide();
}

void ListFilter::followModel()
{
    const QAbstractItemModel* model = m_view->model();
    if (model == nullptr)
        return;
    const auto again = [this] {
        if (m_hiding || !text().isEmpty() || m_message->isVisible())
            m_timer->start();
    };
    connect(model, &QAbstractItemModel::rowsInserted, this, again);
    connect(model, &QAbstractItemModel::rowsRemoved, this, again);
    connect(model, &QAbstractItemModel::modelReset, this, again);
    connect(model, &QAbstractItemModel::layoutChanged, this, again);
    connect(model, &QAbstractItemModel::dataChanged, this, again);
}

QString ListFilter::text() const { return m_edit ? m_edit->text().trimmed() : QString(); }

bool ListFilter::saysNoMatch() const { return !m_message->isHidden(); }

void ListFilter::open()
{
    if (!m_edit)
        return;
    if (m_bar) {
        m_bar->show();
        m_bar->raise();
        place();
    }
    m_edit->setFocus(Qt::ShortcutFocusReason);
    m_edit->selectAll();
}

void ListFilter::clear()
{
    if (!m_edit)
        return;
    m_edit->clear();
    if (m_bar)
        m_bar->hide();
    apply();
    m_view->setFocus(Qt::OtherFocusReason);
}

void ListFilter::apply()
{
    m_timer->stop();
    if (!m_own && (m_hiding || !text().isEmpty())) {
        int shown = 0;
        int all = 0;
        showMatching({}, false, shown, all);
        m_hiding = !text().isEmpty();
        m_count->setText(m_hiding ? tr("%1 of %2").arg(shown).arg(all) : QString());
    }
    updateMessage();
}

/// Hides rows of a parent that have the text neither themselves nor in what is in them or around them. Whether any is left.
bool ListFilter::showMatching(const QModelIndex& parent, bool parentMatches, int& shown, int& all) const
{
    const QAbstractItemModel& model = *m_view->model();
    const QString wanted = text();
    bool any = false;
    for (int row = 0; row < model.rowCount(parent); ++row) {
        const bool matches = wanted.isEmpty() || parentMatches || rowHas(model, parent, row, wanted);
        const QModelIndex index = model.index(row, 0, parent);
        const bool inside = model.hasChildren(index) && showMatching(index, matches, shown, all);
        hideRow(m_view, parent, row, !matches && !inside);
        any = any || matches || inside;
        ++all;
        shown += matches || inside;
    }
    return any;
}

void ListFilter::updateMessage()
{
    const QAbstractItemModel* model = m_view->model();
    bool left = false;
    for (int row = 0; model != nullptr && row < model->rowCount() && !left; ++row)
        left = !isHidden(m_view, row);
    const bool none = !text().isEmpty() && !left && model != nullptr && (m_own || model->rowCount() > 0);
    if (none) {
        m_messageText->setText(tr("No row has “%1”.").arg(text()));
        setTextColor(m_messageText, Theme::of(m_view).quiet);
        m_message->raise();
    }
    m_message->setVisible(none);
    place();
}

void ListFilter::place()
{
    const int right = m_view->verticalScrollBar()->isVisible() ? m_view->verticalScrollBar()->width() : 0;
    const int below = m_view->horizontalScrollBar()->isVisible() ? m_view->horizontalScrollBar()->height() : 0;
    if (m_bar) {
        const QSize size(std::min(kBarWidth, m_view->width() - right - 2 * kGap), m_bar->sizeHint().height());
        m_bar->setGeometry(m_view->width() - right - kGap - size.width(), m_view->height() - below - kGap - size.height(),
                           size.width(), size.height());
    }
    const QSize message = m_message->sizeHint();
    const int room = m_view->height() - (m_bar && !m_bar->isHidden() ? m_bar->height() + 2 * kGap : 0);
    const int top = m_view->viewport()->y(); // beneath the headings
    m_message->setGeometry(std::max(0, (m_view->width() - message.width()) / 2),
                           std::max(top, top + (room - top - message.height()) / 2), message.width(), message.height());
}

bool ListFilter::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_view && event->type() == QEvent::Resize)
        place();
    if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool active = !text().isEmpty() || (m_bar && m_bar->isVisible());
        if (key->key() == Qt::Key_Escape && active) {
            clear();
            return true;
        }
        if (watched == m_edit && !m_own
            && (key->key() == Qt::Key_Down || key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter)) {
            m_view->setFocus(Qt::OtherFocusReason);
            return true;
        }
    }
    return QObject::eventFilter(watched, event);
}

} // namespace shardboard
