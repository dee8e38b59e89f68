// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/dropdown.h"

#include "app/desktop/panels/panel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>

#include <algorithm>

namespace shardboard {

DropDown::DropDown(shardboard::Panel* panel, QWidget* anchor, QWidget* window)
    : QFrame(window)
    , m_panel(panel)
    , m_anchor(anchor)
    , m_window(window)
{
    setObjectName(QStringLiteral("dropDown"));
    boxLayout<QVBoxLayout>({ 4, 4, 4, 4 }, 0, this)->addWidget(panel);
    hide();
    panel->show(); // with this frame
    window->installEventFilter(this);
    QApplication::instance()->installEventFilter(this);
    connect(qApp, &QApplication::focusChanged, this, &DropDown::followFocus);
}

void DropDown::followFocus(const QWidget* before, const QWidget* now)
{
    if (!isVisible() || (now != nullptr && (now->window() != m_window || now == this || isAncestorOf(now))))
        return;
    if (before != nullptr && isAncestorOf(before) && !before->isVisible()) { // a repair took away what had it
        if (QWidget* first = firstField())
            first->setFocus(Qt::PopupFocusReason);
        else if (m_before != nullptr && m_before->isVisible()) {
            hide();
            m_before->setFocus(Qt::PopupFocusReason);
        }
    } else if (now != nullptr && geometry().intersects(QRect(now->mapTo(m_window, QPoint()), now->size()))) {
        setOpen(false); // it lies over what has the focus
    }
}

QWidget* DropDown::firstField() const
{
    for (QWidget* child : m_panel->findChildren<QWidget*>())
        if ((child->focusPolicy() & Qt::TabFocus) && child->isVisible() && child->isEnabled())
            return child;
    return nullptr;
}

void DropDown::setOpen(bool open)
{
    if (open == isVisible())
        return;
    if (!open) {
        const bool focused = isAncestorOf(QApplication::focusWidget());
        hide();
        if (focused && m_before != nullptr && m_before->isVisible())
            m_before->setFocus(Qt::PopupFocusReason);
        return;
    }
    m_before = QApplication::focusWidget();
    place();
    show();
    raise();
    if (QWidget* first = firstField())
        first->setFocus(Qt::PopupFocusReason);
}

void DropDown::place()
{
    const double scale = std::min(1.5, textScale(this));
    const QSize size(std::min(static_cast<int>(620 * scale), m_window->width() - 16),
                     std::min(static_cast<int>(360 * scale), m_window->height() * 2 / 3));
    const QPoint below = m_anchor->mapTo(m_window, QPoint(m_anchor->width(), m_anchor->height() + 4));
    setGeometry(QRect(QPoint(std::clamp(below.x() - size.width(), 8, m_window->width() - size.width() - 8), below.y()), size));
}

void DropDown::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape)
        setOpen(false);
    else
        QFrame::keyPressEvent(event);
}

bool DropDown::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_window && event->type() == QEvent::Resize && isVisible())
        place();
    if (event->type() == QEvent::MouseButtonPress && isVisible() && watched->isWidgetType()) {
        const auto* clicked = static_cast<QWidget*>(watched);
        if (clicked->window() == m_window && clicked != this && !isAncestorOf(clicked) && clicked != m_anchor
            && !m_anchor->isAncestorOf(clicked))
            setOpen(false);
    }
    return false;
}

} // namespace shardboard
