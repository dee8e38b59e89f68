// SPDX-License-Identifier: Apache-2.0
// What all canvases have in common: a picture of the open document that one moves in, of which what follows neither the pointer
// nor the selection is kept as pixels; tool tips, and the same texts in the status bar for the keyboard; arrow keys; mesh axes that
// are dragged from where they stand; the frame of the focus; and items for screen readers. A canvas says what lies where and
// paints it.
#pragma once

#include "widgets/canvas/accessiblecanvas.h"
#include "widgets/canvas/navigation.h"
#include "widgets/canvas/viewport.h"

#include "model/session/document.h"
#include "model/session/selection.h"

#include <QPixmap>
#include <QPointF>
#include <QRegion>
#include <QString>
#include <QWidget>

namespace shardboard {

class CanvasWidget : public QWidget, public AccessibleItems, protected NavigatedCanvas {
    Q_OBJECT
public:
    CanvasNavigation* navigation() const { return m_navigation; }
    const Viewport& currentView() const { return m_viewport; }

    /// What is not drawn as this entry of the legend says is drawn quietly; empty: nothing is.
    void setHighlight(const QString& key);

    /// For a picture of all of it: everything is in sight until it is called with false; then what was in sight before.
    virtual void showWhole(bool whole);
    /// By so many pixels it would have to be higher to show everything in full size.
    virtual int missingHeight() const { return 0; }

    QSize sizeHint() const override { return { 380, 320 }; }
    QSize minimumSizeHint() const override { return { 200, 130 }; }

protected:
    enum class Base { Kept, PaintedAnew };
    CanvasWidget(Document* document, const QString& objectName, const QString& accessibleName, Base base, QWidget* parent);

    Document* document() const { return m_document; }
    Selection* selection() const { return m_document->selection(); }
    const QString& highlight() const { return m_highlight; }

    /// The widget has another size.
    virtual void layOut() = 0;
    /// Another entry of the legend is to be seen.
    virtual void highlightChanged();
    /// Where the picture is seen, on the widget.
    virtual QRectF viewArea() const { return m_viewport.view(); }
    /// Nothing but the base is painted, not even the frame of the focus.
    virtual bool isBlank() const { return false; }
    virtual void paintBase(QPainter& painter) = 0;
    /// What follows the pointer and the selection; `region` is to be painted anew. Below the map.
    virtual void paintOverlay(QPainter& painter, const QRegion& region);
    virtual void paintAboveMap(QPainter& painter);
    virtual bool hasFocusFrame() const { return true; }
    /// Empty: none.
    virtual QString toolTipAt(const QPointF& point) const = 0;
    /// By an arrow key.
    virtual void moveCurrent(int dx, int dy) = 0;
    /// Mesh axis that can be dragged from there, or -1.
    virtual int axisAt(const QPointF& point) const;
    /// By the left button, where no axis is.
    virtual void selectAt(const QPointF& point) = 0;
    virtual void hoverAt(const QPointF& point) = 0;

    Viewport& viewport() override { return m_viewport; }
    void viewMoved() override { forgetBase(); }
    void forgetBase() { m_base = QPixmap(); }
    /// An axis that the button is down on may be none any more.
    void forgetPress() { m_pressedAxis = -1; }
    /// Moves as little as brings a part of the world into sight, with so many pixels around it; nothing where everything is.
    void bringIntoSight(const QRectF& part, double margin);
    void showPart(const QRectF& part, double maxScale);
    /// The status bar says to the keyboard what a tool tip says under the pointer.
    void tellStatus(const QString& toolTip);
    /// The overlay is another one: screen readers are told, too.
    void overlayChanged(const QString& description);

    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

    Viewport m_viewport;
    Viewport m_part; ///< what was in sight before the whole was shown

private:
    void paintKeptBase(QPainter& painter);

    Document* m_document;
    CanvasNavigation* m_navigation;
    QPixmap m_base;
    bool m_keepsBase;
    QString m_highlight; ///< key of a legend's entry
    QPointF m_pressed;
    int m_pressedAxis = -1;
};

} // namespace shardboard
