// SPDX-License-Identifier: Apache-2.0
#include "widgets/canvas/accessiblecanvas.h"

#include <QWidget>

namespace shardboard {

namespace {

class CanvasItem : public QAccessibleInterface, public QAccessibleActionInterface {
public:
    CanvasItem(QWidget* canvas, int index)
        : m_canvas(canvas)
        , m_index(index)
    {
    }

    int index() const { return m_index; }

    bool isValid() const override { return items() != nullptr && m_index < items()->accessibleCount(); }
    QObject* object() const override { return nullptr; }
    QAccessibleInterface* parent() const override { return m_canvas ? QAccessible::queryAccessibleInterface(m_canvas) : nullptr; }
    int childCount() const override { return 0; }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QAccessible::Role role() const override { return QAccessible::ListItem; }

    QString text(QAccessible::Text kind) const override
    {
        if (!isValid() || (kind != QAccessible::Name && kind != QAccessible::Description))
            return {};
        // The first line says what it is, the others more about it.
        const QString all = items()->accessibleItemName(m_index);
        return kind == QAccessible::Name ? QString(all).replace(QLatin1Char('\n'), QStringLiteral(", "))
                                         : all.section(QLatin1Char('\n'), 1);
    }
    void setText(QAccessible::Text, const QString&) override { }

    QRect rect() const override
    {
        if (!isValid())
            return {};
        const QRect place = items()->accessibleItemRect(m_index).toAlignedRect().intersected(m_canvas->rect());
        return place.isEmpty() ? QRect() : place.translated(m_canvas->mapToGlobal(QPoint()));
    }

    QAccessible::State state() const override
    {
        QAccessible::State state;
        if (!isValid()) {
            state.invalid = true;
            return state;
        }
        const bool current = items()->accessibleCurrent() == m_index;
        state.focusable = true;
        state.selectable = true;
        state.selected = items()->isAccessibleSelected(m_index);
        state.focused = current && m_canvas->hasFocus();
        state.invisible = !m_canvas->isVisible();
        state.offscreen = rect().isEmpty();
        return state;
    }

    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
    }
    QStringList actionNames() const override { return { pressAction(), setFocusAction() }; }
    void doAction(const QString& action) override
    {
        if (!isValid())
            return;
        m_canvas->setFocus(Qt::OtherFocusReason);
        if (action == pressAction())
            dynamic_cast<AccessibleItems*>(m_canvas.data())->accessibleActivate(m_index);
    }
    QStringList keyBindingsForAction(const QString&) const override { return {}; }

private:
    const AccessibleItems* items() const { return dynamic_cast<const AccessibleItems*>(m_canvas.data()); }

    QPointer<QWidget> m_canvas;
    int m_index;
};

QAccessibleInterface* makeInterface(const QString&, QObject* object)
{
    if (object == nullptr || !object->isWidgetType() || dynamic_cast<AccessibleItems*>(object) == nullptr)
        return nullptr;
    return new AccessibleCanvas(static_cast<QWidget*>(object));
}

} // namespace

void installAccessibleCanvases()
{
    QAccessible::removeFactory(makeInterface); // once is enough
    QAccessible::installFactory(makeInterface);
}

void AccessibleItems::reportCurrent(QWidget* canvas)
{
    const int current = canvas->hasFocus() ? accessibleCurrent() : -1;
    if (current == m_reported)
        return;
    m_reported = current;
    if (current < 0 || dynamic_cast<AccessibleCanvas*>(QAccessible::queryAccessibleInterface(canvas)) == nullptr)
        return; // nothing to tell, or nobody asked for children
    QAccessibleEvent event(canvas, QAccessible::Focus);
    event.setChild(current);
    QAccessible::updateAccessibility(&event);
}

AccessibleCanvas::AccessibleCanvas(QWidget* widget)
    : QAccessibleWidget(widget, QAccessible::List)
{
}

AccessibleCanvas::~AccessibleCanvas()
{
    for (const QAccessible::Id id : std::as_const(m_children))
        QAccessible::deleteAccessibleInterface(id);
}

const AccessibleItems* AccessibleCanvas::items() const { return dynamic_cast<const AccessibleItems*>(object()); }

int AccessibleCanvas::childCount() const { return items() == nullptr ? 0 : items()->accessibleCount(); }

QAccessibleInterface* AccessibleCanvas::child(int index) const
{
    if (index < 0 || index >= childCount())
        return nullptr;
    auto it = m_children.find(index);
    if (it == m_children.end())
        it = m_children.insert(index, QAccessible::registerAccessibleInterface(new CanvasItem(widget(), index)));
    return QAccessible::accessibleInterface(*it);
}

QAccessibleInterface* AccessibleCanvas::childAt(int x, int y) const
{
    return items() == nullptr ? nullptr : child(items()->accessibleItemAt(widget()->mapFromGlobal(QPointF(x, y))));
}

int AccessibleCanvas::indexOfChild(const QAccessibleInterface* child) const
{
    const auto* item = dynamic_cast<const CanvasItem*>(child);
    return item != nullptr && item->parent() == this ? item->index() : -1;
}

QAccessibleInterface* AccessibleCanvas::focusChild() const
{
    if (items() == nullptr || !widget()->hasFocus())
        return nullptr;
    return child(items()->accessibleCurrent());
}

} // namespace shardboard
