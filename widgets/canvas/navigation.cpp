// SPDX-License-Identifier: Apache-2.0
#include "widgets/canvas/navigation.h"

#include "widgets/look/theme.h"

#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QGestureEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QPainter>
#include <QPinchGesture>
#include <QPlainTextEdit>
#include <QTextEdit>
#include <QWheelEvent>
#include <QWidget>

#include <cmath>

namespace shardboard {

namespace {

constexpr double kWheelStep = 1.2; ///< per notch
constexpr double kKeyStep = 1.25;
constexpr double kScrollStep = 60; ///< pixels per notch

/// Where Space is a letter.
bool takesText(const QWidget* widget)
{
    const auto* combo = qobject_cast<const QComboBox*>(widget);
    return qobject_cast<const QLineEdit*>(widget) || qobject_cast<const QTextEdit*>(widget)
        || qobject_cast<const QPlainTextEdit*>(widget) || qobject_cast<const QAbstractSpinBox*>(widget)
        || (combo && combo->isEditable());
}

} // namespace

CanvasNavigation::CanvasNavigation(QWidget* canvas, NavigatedCanvas* target)
    : QObject(canvas)
    , m_canvas(canvas)
    , m_target(target)
{
    canvas->installEventFilter(this);
    canvas->grabGesture(Qt::PinchGesture);
}

CanvasNavigation::~CanvasNavigation() = default;

OverviewMap CanvasNavigation::map() const
{
    if (!m_target->canNavigate())
        return {};
    if (m_drag == Drag::Map)
        return OverviewMap(m_target->viewport(), m_draggedAtLeft);
    const bool left = isMapAtLeft();
    for (const bool atLeft : { left, !left })
        if (OverviewMap place(m_target->viewport(), atLeft); !m_target->isInTheWay(place.rect()))
            return place;
    return {};
}

/// It does not lie on what is selected; where it would on both sides, it is where it usually is.
bool CanvasNavigation::isMapAtLeft() const
{
    const QRectF usual = OverviewMap(m_target->viewport()).rect();
    const QRectF part = usual.isEmpty() ? QRectF() : m_target->selectedPart();
    if (part.isEmpty())
        return false;
    const QRectF selected = m_target->viewport().toScreen(part);
    return usual.intersects(selected) && !OverviewMap(m_target->viewport(), true).rect().intersects(selected);
}

QRectF CanvasNavigation::mapFrame() const
{
    const OverviewMap shown = map();
    return shown.isEmpty() ? QRectF() : shown.frame(m_target->viewport());
}

void CanvasNavigation::moved()
{
    m_target->viewMoved();
    m_canvas->update();
}

void CanvasNavigation::zoomAt(const QPointF& at, double factor)
{
    if (!m_target->canNavigate())
        return;
    m_target->viewport().zoomAt(at, factor);
    moved();
}

void CanvasNavigation::zoom(double factor) { zoomAt(m_target->viewport().view().center(), factor); }

void CanvasNavigation::fitAll()
{
    m_target->viewport().fit();
    moved();
}

void CanvasNavigation::fitSelection()
{
    if (!m_target->canNavigate())
        return;
    const QRectF part = m_target->selectedPart();
    if (part.isEmpty())
        m_target->viewport().fit();
    else
        m_target->viewport().show(part, m_target->viewport().largestScale());
    moved();
}

void CanvasNavigation::home()
{
    m_target->goHome();
    moved();
}

void CanvasNavigation::paintMap(QPainter& painter)
{
    const OverviewMap shown = map();
    if (shown.isEmpty())
        return;
    const Theme& theme = Theme::of(m_canvas);
    const double ratio = m_canvas->devicePixelRatioF();
    const QRectF rect = shown.rect();
    if (m_picture.isNull() || m_pictureOf != rect || !qFuzzyCompare(m_picture.devicePixelRatio(), ratio)) {
        m_pictureOf = rect;
        m_picture = QPixmap((rect.size() * ratio).toSize());
        m_picture.setDevicePixelRatio(ratio);
        m_picture.fill(theme.panel);
        QPainter inner(&m_picture);
        inner.translate(-rect.topLeft());
        inner.setClipRect(rect);
        m_target->paintMap(inner, shown.small());
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.drawPixmap(rect.topLeft(), m_picture);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.quiet, 1));
    painter.drawRect(rect.adjusted(-0.5, -0.5, -0.5, -0.5));
    const QRectF frame = shown.frame(m_target->viewport());
    painter.setPen(QPen(theme.panel, 4));
    painter.drawRect(frame.adjusted(1, 1, -2, -2));
    painter.setPen(QPen(theme.accent, 2));
    painter.drawRect(frame.adjusted(1, 1, -2, -2));
    painter.restore();
}

bool CanvasNavigation::eventFilter(QObject* watched, QEvent* event)
{
    // Space is looked for wherever the focus is, while the pointer is over the canvas: dragging must not need a click first.
    if (event->type() == QEvent::KeyPress || event->type() == QEvent::KeyRelease) {
        auto* pressed = static_cast<QKeyEvent*>(event);
        if (m_inside && !m_passing && pressed->key() == Qt::Key_Space
            && (pressed->modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier && spaceKey(pressed))
            return true;
        return watched == m_canvas && event->type() == QEvent::KeyPress && key(pressed);
    }
    if (watched != m_canvas)
        return false;
    switch (event->type()) {
    case QEvent::Enter:
        setInside(true);
        return false;
    case QEvent::Leave:
        if (m_drag == Drag::None)
            setInside(false);
        return false;
    case QEvent::Hide:
        setInside(false);
        m_drag = Drag::None;
        return false;
    case QEvent::PaletteChange:
        forgetMap();
        return false;
    case QEvent::Wheel:
        return wheel(static_cast<QWheelEvent*>(event));
    case QEvent::NativeGesture:
        return nativeGesture(static_cast<QNativeGestureEvent*>(event));
    case QEvent::Gesture:
        return gesture(static_cast<QGestureEvent*>(event));
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonDblClick:
        return press(static_cast<QMouseEvent*>(event));
    case QEvent::MouseMove:
        return move(static_cast<QMouseEvent*>(event));
    case QEvent::MouseButtonRelease:
        return release(static_cast<QMouseEvent*>(event));
    default:
        return false;
    }
}

void CanvasNavigation::setInside(bool inside)
{
    if (inside == m_inside)
        return;
    m_inside = inside;
    if (inside) {
        qApp->installEventFilter(this);
    } else {
        qApp->removeEventFilter(this);
        m_space = false;
        updateCursor();
    }
}

bool CanvasNavigation::wheel(QWheelEvent* event)
{
    event->accept();
    if (!m_target->canNavigate())
        return true;
    const QPoint turned = event->angleDelta();
    if (!m_wheelScrolls || (event->modifiers() & Qt::ControlModifier)) {
        const int notches = turned.y() != 0 ? turned.y() : turned.x(); // Alt turns it sideways
        zoomAt(event->position(), std::pow(kWheelStep, notches / 120.0));
        return true;
    }
    QPointF way = event->pixelDelta().isNull() ? QPointF(turned) * (kScrollStep / 120) : QPointF(event->pixelDelta());
    if (event->modifiers() & Qt::ShiftModifier)
        way = QPointF(way.y(), way.x());
    m_target->viewport().pan(way);
    moved();
    return true;
}

bool CanvasNavigation::nativeGesture(QNativeGestureEvent* event)
{
    if (event->gestureType() == Qt::ZoomNativeGesture)
        zoomAt(event->position(), std::exp(event->value()));
    else if (event->gestureType() == Qt::SmartZoomNativeGesture)
        m_target->viewport().isFitted() ? fitSelection() : fitAll();
    else
        return false;
    event->accept();
    return true;
}

bool CanvasNavigation::gesture(QGestureEvent* event)
{
    auto* pinch = static_cast<QPinchGesture*>(event->gesture(Qt::PinchGesture));
    if (pinch == nullptr)
        return false;
    event->accept(pinch);
    if (pinch->changeFlags() & QPinchGesture::CenterPointChanged) {
        const QPointF way = pinch->centerPoint() - pinch->lastCenterPoint();
        if (pinch->state() != Qt::GestureStarted)
            m_target->viewport().pan(way);
    }
    if (pinch->changeFlags() & QPinchGesture::ScaleFactorChanged)
        zoomAt(m_canvas->mapFromGlobal(pinch->centerPoint()), pinch->scaleFactor());
    else
        moved();
    return true;
}

bool CanvasNavigation::press(QMouseEvent* event)
{
    if (m_drag != Drag::None)
        return true;
    const OverviewMap shown = map();
    m_draggedAtLeft = shown.rect().center().x() < m_target->viewport().view().center().x();
    const bool onMap = !shown.isEmpty() && shown.rect().contains(event->position());
    if (event->button() == Qt::MiddleButton || (event->button() == Qt::LeftButton && m_space))
        m_drag = Drag::Picture;
    else if (event->button() == Qt::LeftButton && onMap)
        m_drag = Drag::Map;
    else
        return onMap;
    m_button = event->button();
    m_spaceUsed = m_space;
    m_last = event->position();
    if (m_drag == Drag::Map && !shown.frame(m_target->viewport()).contains(m_last)) {
        m_target->viewport().centreOn(shown.worldAt(m_last)); // beside the frame: it comes there
        moved();
    }
    updateCursor();
    return true;
}

bool CanvasNavigation::move(QMouseEvent* event)
{
    const QPointF at = event->position();
    if (m_drag == Drag::None) {
        const bool over = !m_space && mapRect().contains(at);
        if (over || m_space) {
            m_shaped = true;
            m_canvas->setCursor(over ? Qt::SizeAllCursor : Qt::OpenHandCursor);
        } else if (m_shaped) {
            updateCursor();
        }
        return over || m_space;
    }
    if (m_drag == Drag::Picture) {
        m_target->viewport().pan(at - m_last);
    } else {
        const OverviewMap shown = map();
        if (!shown.isEmpty())
            m_target->viewport().pan((m_last - at) / shown.small().scale() * m_target->viewport().scale());
    }
    m_last = at;
    moved();
    return true;
}

bool CanvasNavigation::release(QMouseEvent* event)
{
    if (m_drag == Drag::None)
        return mapRect().contains(event->position());
    if (event->button() != m_button)
        return true;
    m_drag = Drag::None;
    updateCursor();
    if (!m_canvas->rect().contains(event->position().toPoint()))
        setInside(false);
    return true;
}

void CanvasNavigation::updateCursor()
{
    if (m_drag == Drag::Picture || m_drag == Drag::Map)
        m_canvas->setCursor(Qt::ClosedHandCursor);
    else if (m_space)
        m_canvas->setCursor(Qt::OpenHandCursor);
    else if (m_shaped)
        m_canvas->setCursor(Qt::ArrowCursor);
    m_shaped = m_drag != Drag::None || m_space;
}

/// While Space is held the left button drags. A Space that nothing was dragged with is passed on when it is released.
bool CanvasNavigation::spaceKey(QKeyEvent* event)
{
    if (!m_target->canNavigate() || QApplication::activePopupWidget() != nullptr || QApplication::activeModalWidget() != nullptr
        || takesText(QApplication::focusWidget()))
        return false;
    if (event->isAutoRepeat())
        return m_space;
    if (event->type() == QEvent::KeyPress) {
        m_space = true;
        m_spaceUsed = false;
        updateCursor();
        return true;
    }
    if (!m_space)
        return false;
    m_space = false;
    updateCursor();
    if (!m_spaceUsed)
        passSpaceOn();
    return true;
}

void CanvasNavigation::passSpaceOn()
{
    QWidget* focus = QApplication::focusWidget();
    m_passing = true;
    for (const QEvent::Type type : { QEvent::KeyPress, QEvent::KeyRelease }) {
        QKeyEvent event(type, Qt::Key_Space, Qt::NoModifier, QStringLiteral(" "));
        QCoreApplication::sendEvent(focus ? focus : m_canvas, &event);
    }
    m_passing = false;
}

bool CanvasNavigation::key(QKeyEvent* event)
{
    if (!m_target->canNavigate() || (event->modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier)))
        return false;
    switch (event->key()) {
    case Qt::Key_F:
        (event->modifiers() & Qt::ShiftModifier) ? fitAll() : fitSelection();
        return true;
    case Qt::Key_0:
        home();
        return true;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        zoom(kKeyStep);
        return true;
    case Qt::Key_Minus:
        zoom(1 / kKeyStep);
        return true;
    default:
        return false;
    }
}

} // namespace shardboard
