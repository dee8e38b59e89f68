// SPDX-License-Identifier: Apache-2.0
// What a canvas draws, as screen readers see it: each device, tile, weight or operation is a child of the canvas with a name, a
// place and a state. A canvas implements AccessibleItems and keeps no objects for its items; a child is made when somebody asks for
// it, so that 16,384 devices cost nothing until then. GUI thread.
#pragma once

#include <QAccessible>
#include <QAccessibleWidget>
#include <QHash>
#include <QPointer>
#include <QRectF>
#include <QString>

class QWidget;

namespace shardboard {

/// Implemented by a QWidget that draws items itself. Indices are 0 to accessibleCount() - 1; what they stand for may change with
/// every repaint, and an index that is there no more is answered with empty values.
class AccessibleItems {
public:
    virtual ~AccessibleItems() = default;
    virtual int accessibleCount() const = 0;
    virtual QString accessibleItemName(int index) const = 0;
    /// On the canvas, in its coordinates; may lie outside while the canvas is zoomed.
    virtual QRectF accessibleItemRect(int index) const = 0;
    virtual int accessibleItemAt(const QPointF& point) const = 0; ///< -1: none
    virtual int accessibleCurrent() const = 0; ///< the item that keys act on; -1: none
    virtual bool isAccessibleSelected(int index) const { return index == accessibleCurrent(); }
    virtual void accessibleActivate(int index) = 0; ///< as if it was clicked
    /// What screen readers were told of last; -1 while the current item is one that they need not hear of, as the focus is
    /// elsewhere.
    int reportedItem() const { return m_reported; }

protected:
    /// Tells screen readers of the current item if it is another one than before and `canvas` (this object) has the focus.
    void reportCurrent(QWidget* canvas);

private:
    int m_reported = -1;
};

/// Answers for every widget that implements AccessibleItems; to be called once, before the first window. Calling it again is
/// harmless.
void installAccessibleCanvases();

class AccessibleCanvas : public QAccessibleWidget {
public:
    explicit AccessibleCanvas(QWidget* widget);
    ~AccessibleCanvas() override;

    int childCount() const override;
    QAccessibleInterface* child(int index) const override;
    QAccessibleInterface* childAt(int x, int y) const override; ///< screen coordinates
    int indexOfChild(const QAccessibleInterface* child) const override;
    QAccessibleInterface* focusChild() const override;
    qsizetype madeChildren() const { return m_children.size(); }

private:
    const AccessibleItems* items() const;

    mutable QHash<int, QAccessible::Id> m_children;
};

} // namespace shardboard
