// SPDX-License-Identifier: Apache-2.0
// How one moves in a canvas, alike in all of them: wheel and pinch zoom at the cursor; the middle button, or the left one while
// Space is held, drags; F shows what is selected, Shift+F everything, + - and 0 zoom; and while not everything is in sight a map
// in the corner shows where one is, and can be dragged. It works on the canvas's viewport and watches its events.
#pragma once

#include "widgets/canvas/overviewmap.h"
#include "widgets/canvas/viewport.h"

#include <QObject>
#include <QPixmap>

class QGestureEvent;
class QKeyEvent;
class QMouseEvent;
class QNativeGestureEvent;
class QPainter;
class QWheelEvent;
class QWidget;

namespace shardboard {

/// What a canvas says about itself.
class NavigatedCanvas {
public:
    virtual ~NavigatedCanvas() = default;
    virtual Viewport& viewport() = 0;
    /// Nothing to move in otherwise.
    virtual bool canNavigate() const { return true; }
    /// What F shows, in the world; empty where nothing is selected.
    virtual QRectF selectedPart() const = 0;
    /// The viewport was changed.
    virtual void viewMoved() = 0;
    /// What 0 goes back to.
    virtual void goHome() { viewport().fit(); }
    /// Whether a map there would cover what one has not come nearer to; then it has no place.
    virtual bool isInTheWay(const QRectF& map) const
    {
        (void)map;
        return false;
    }
    /// The whole world, coarsely, for the map; `map` is from the world to the painter.
    virtual void paintMap(QPainter& painter, const Viewport& map) const = 0;
};

class CanvasNavigation : public QObject {
    Q_OBJECT
public:
    /// `target` is the widget too.
    CanvasNavigation(QWidget* canvas, NavigatedCanvas* target);
    ~CanvasNavigation() override;

    /// The wheel moves the picture, and zooms with Ctrl alone; else it zooms.
    void setWheelScrolls(bool scrolls) { m_wheelScrolls = scrolls; }
    bool wheelScrolls() const { return m_wheelScrolls; }

    void zoomAt(const QPointF& at, double factor);
    void zoom(double factor); ///< about the middle of the view
    void fitSelection(); ///< everything where nothing is selected
    void fitAll();
    void home();

    QRectF mapRect() const { return map().rect(); } ///< on the widget, empty while there is none
    QRectF mapFrame() const; ///< the frame in it
    /// The last thing that a canvas paints.
    void paintMap(QPainter& painter);
    void forgetMap() { m_picture = QPixmap(); } ///< what it shows is another one

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    OverviewMap map() const;
    bool isMapAtLeft() const;
    bool wheel(QWheelEvent* event);
    bool gesture(QGestureEvent* event);
    bool nativeGesture(QNativeGestureEvent* event);
    bool press(QMouseEvent* event);
    bool move(QMouseEvent* event);
    bool release(QMouseEvent* event);
    bool key(QKeyEvent* event);
    bool spaceKey(QKeyEvent* event);
    void passSpaceOn();
    void setInside(bool inside);
    void updateCursor();
    void moved();

    enum class Drag { None, Picture, Map };
    QWidget* m_canvas;
    NavigatedCanvas* m_target;
    QPixmap m_picture; ///< of the map
    QRectF m_pictureOf; ///< the map that it is of
    QPointF m_last;
    Drag m_drag = Drag::None;
    bool m_draggedAtLeft = false; ///< where the map was when it was taken hold of
    Qt::MouseButton m_button = Qt::NoButton;
    bool m_wheelScrolls = false;
    bool m_inside = false; ///< the pointer is over the canvas
    bool m_space = false; ///< Space is held
    bool m_spaceUsed = false; ///< and something was dragged with it
    bool m_passing = false; ///< a Space that dragged nothing is given to whom it was meant for
    bool m_shaped = false; ///< the cursor is ours
};

} // namespace shardboard
