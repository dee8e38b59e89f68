// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/keyfocus.h"

#include <QAbstractItemView>
#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QFocusEvent>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMainWindow>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QSplitter>
#include <QTextEdit>
#include <QToolBar>

#include <algorithm>
#include <utility>
#include <vector>

namespace shardboard {

namespace {

/// Their parts are Qt's business.
bool isWhole(const QWidget* widget)
{
    return qobject_cast<const QAbstractItemView*>(widget) || qobject_cast<const QAbstractSpinBox*>(widget)
        || qobject_cast<const QComboBox*>(widget) || qobject_cast<const QLineEdit*>(widget)
        || qobject_cast<const QPlainTextEdit*>(widget) || qobject_cast<const QTextEdit*>(widget);
}

void collect(QWidget* widget, std::vector<QWidget*>& out);

void collect(QLayout* layout, std::vector<QWidget*>& out)
{
    std::vector<int> items;
    for (int i = 0; i < layout->count(); ++i)
        items.push_back(i);
    if (const auto* grid = qobject_cast<QGridLayout*>(layout)) {
        const auto place = [grid](int item) {
            std::pair<int, int> at;
            int rows = 0;
            int columns = 0;
            grid->getItemPosition(item, &at.first, &at.second, &rows, &columns);
            return at;
        };
        std::stable_sort(items.begin(), items.end(), [&](int a, int b) { return place(a) < place(b); });
    }
    for (const int i : items) {
        QLayoutItem* item = layout->itemAt(i);
        if (item->widget() != nullptr)
            collect(item->widget(), out);
        else if (item->layout() != nullptr)
            collect(item->layout(), out);
    }
}

/// All that Tab may come to in a widget: itself, its layout's widgets in their order, then the others.
void collect(QWidget* widget, std::vector<QWidget*>& out)
{
    if (std::find(out.begin(), out.end(), widget) != out.end())
        return;
    if ((widget->focusPolicy() & Qt::TabFocus) && widget->focusProxy() == nullptr)
        out.push_back(widget);
    if (isWhole(widget))
        return;
    const std::size_t before = out.size();
    if (widget->layout() != nullptr)
        collect(widget->layout(), out);
    if (const auto* splitter = qobject_cast<QSplitter*>(widget))
        for (int i = 0; i < splitter->count(); ++i)
            collect(splitter->widget(i), out);
    const std::vector<QWidget*> placed(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
    for (QObject* child : widget->children()) {
        auto* part = qobject_cast<QWidget*>(child);
        if (part == nullptr || part->isWindow())
            continue;
        const bool met = std::any_of(placed.begin(), placed.end(),
                                     [part](const QWidget* one) { return part == one || part->isAncestorOf(one); });
        if (!met)
            collect(part, out);
    }
}

/// Whether Tab goes from `place` through all of them as they stand.
bool isOrdered(const QWidget* place, const std::vector<QWidget*>& wanted)
{
    const QWidget* at = place;
    for (const QWidget* next : wanted) {
        while (at != next) {
            at = at->nextInFocusChain();
            if (at == place)
                return false;
            if (at != next && (at->focusPolicy() & Qt::TabFocus) && at->focusProxy() == nullptr)
                return false;
        }
    }
    return true;
}

void orderIn(QWidget* panel)
{
    std::vector<QWidget*> stops;
    collect(panel, stops);
    if (isOrdered(panel, stops))
        return;
    // Where the panel stands, they begin. Qt orders only what takes the focus.
    const Qt::FocusPolicy policy = panel->focusPolicy();
    if (policy == Qt::NoFocus)
        panel->setFocusPolicy(Qt::TabFocus);
    QWidget* before = panel;
    for (QWidget* stop : stops) {
        if (stop != before)
            QWidget::setTabOrder(before, stop);
        before = stop;
    }
    panel->setFocusPolicy(policy);
}

} // namespace

KeyFocus::KeyFocus(QMainWindow* window)
    : QObject(window)
    , m_window(window)
{
    QCoreApplication::instance()->installEventFilter(this);
}

void KeyFocus::order() const
{
    for (QToolBar* bar : m_window->findChildren<QToolBar*>(QString(), Qt::FindDirectChildrenOnly))
        orderIn(bar);
    if (m_window->centralWidget() != nullptr)
        orderIn(m_window->centralWidget());
}

bool KeyFocus::eventFilter(QObject* watched, QEvent* event)
{
    const bool pressed = event->type() == QEvent::KeyPress;
    if ((!pressed && event->type() != QEvent::FocusIn) || !watched->isWidgetType())
        return false;
    auto* widget = static_cast<QWidget*>(watched);
    if (widget->window() != m_window)
        return false;
    if (pressed) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Tab || key == Qt::Key_Backtab)
            order();
        return false;
    }
    const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
    if (reason != Qt::TabFocusReason && reason != Qt::BacktabFocusReason && reason != Qt::ShortcutFocusReason)
        return false; // the mouse was there, or a dialog is gone
    for (QWidget* at = widget->parentWidget(); at != nullptr && !at->isWindow(); at = at->parentWidget())
        if (auto* area = qobject_cast<QScrollArea*>(at);
            area != nullptr && area->widget() != nullptr && area->widget()->isAncestorOf(widget))
            area->ensureWidgetVisible(widget, 4, 4);
    return false;
}

} // namespace shardboard
