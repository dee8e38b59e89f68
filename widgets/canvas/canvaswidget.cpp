// SPDX-License-Identifier: Apache-2.0
#include "widgets/canvas/canvaswidget.h"

#include "widgets/controls/axisdrag.h"
#include "widgets/look/axishues.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEngine>
#include <QPaintEvent>
#include <QPainter>
#include <QStatusTipEvent>

#include <utility>

namespace shardboard {

namespace {

/// Whether a widget paints itself for the screen, where what it has prepared as pixels will do, or for a picture in a file, where
/// lines and text are to stay such and pixels may be finer.
bool paintsScreen(const QPainter& painter, const QWidget& widget)
{
    const QPaintEngine* engine = painter.paintEngine(); // of what is painted to in the end
    return engine->type() == QPaintEngine::Raster && engine->paintDevice() != nullptr
        && qFuzzyCompare(engine->paintDevice()->devicePixelRatioF(), widget.devicePixelRatioF());
}

} // namespace

CanvasWidget::CanvasWidget(Document* document, const QString& objectName, const QString& accessibleName, Base base, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_navigation(new CanvasNavigation(this, this))
    , m_keepsBase(base == Base::Kept)
{
    setObjectName(objectName);
    setAccessibleName(accessibleName);
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void CanvasWidget::setHighlight(const QString& key)
{
    if (key == m_highlight)
        return;
    m_highlight = key;
    highlightChanged();
}

void CanvasWidget::highlightChanged()
{
    forgetBase();
    update();
}

void CanvasWidget::showWhole(bool whole)
{
    if (whole) {
        m_part = m_viewport;
        m_viewport.fit();
    } else {
        m_viewport = m_part;
        m_viewport.setView(viewArea());
    }
    viewMoved();
    update();
}

void CanvasWidget::bringIntoSight(const QRectF& part, double margin)
{
    if (m_viewport.isFitted())
        return;
    m_viewport.reveal(part, margin);
    viewMoved();
    update();
}

void CanvasWidget::showPart(const QRectF& part, double maxScale)
{
    m_viewport.show(part, maxScale);
    viewMoved();
    update();
}

void CanvasWidget::tellStatus(const QString& toolTip)
{
    QStatusTipEvent tip(QString(toolTip).replace(QLatin1Char('\n'), QStringLiteral(" · ")));
    QApplication::sendEvent(this, &tip);
}

void CanvasWidget::overlayChanged(const QString& description)
{
    setAccessibleDescription(description);
    reportCurrent(this);
    update();
}

void CanvasWidget::paintOverlay(QPainter&, const QRegion&) { }
void CanvasWidget::paintAboveMap(QPainter&) { }
int CanvasWidget::axisAt(const QPointF&) const { return -1; }

void CanvasWidget::paintKeptBase(QPainter& painter)
{
    if (m_base.isNull() || m_base.size() != size() * devicePixelRatioF()) {
        m_base = QPixmap(size() * devicePixelRatioF());
        m_base.setDevicePixelRatio(devicePixelRatioF());
        QPainter inner(&m_base);
        paintBase(inner);
    }
    painter.drawPixmap(0, 0, m_base);
}

void CanvasWidget::paintEvent(QPaintEvent* event)
{
    QPainter painter(this);
    const bool onScreen = paintsScreen(painter, *this);
    if (onScreen && m_keepsBase)
        paintKeptBase(painter);
    else
        paintBase(painter); // in a picture for a file text stays text
    if (isBlank())
        return;
    paintOverlay(painter, event->region());
    if (onScreen)
        m_navigation->paintMap(painter);
    paintAboveMap(painter);
    if (!hasFocus() || !hasFocusFrame())
        return;
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(Theme::of(this).accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void CanvasWidget::resizeEvent(QResizeEvent*) { layOut(); }

void CanvasWidget::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    m_pressed = event->position();
    m_pressedAxis = axisAt(m_pressed);
    if (m_pressedAxis >= 0)
        selection()->setMeshAxis(m_pressedAxis);
    else
        selectAt(m_pressed);
}

void CanvasWidget::mouseMoveEvent(QMouseEvent* event)
{
    if (m_pressedAxis < 0 || !(event->buttons() & Qt::LeftButton)) {
        hoverAt(event->position());
        return;
    }
    if ((event->position() - m_pressed).manhattanLength() < QApplication::startDragDistance())
        return;
    const int axis = std::exchange(m_pressedAxis, -1);
    const Mesh& mesh = m_document->design().mesh;
    dragAxis(this, qstr(mesh.axis(axis).name), axisColor(mesh, axis));
}

void CanvasWidget::mouseReleaseEvent(QMouseEvent*) { forgetPress(); }

void CanvasWidget::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Left:
        return moveCurrent(-1, 0);
    case Qt::Key_Right:
        return moveCurrent(1, 0);
    case Qt::Key_Up:
        return moveCurrent(0, -1);
    case Qt::Key_Down:
        return moveCurrent(0, 1);
    default:
        QWidget::keyPressEvent(event);
    }
}

bool CanvasWidget::event(QEvent* event)
{
    return answersToolTip(event, this, [this](const QPoint& point) { return toolTipAt(point); }) || QWidget::event(event);
}

} // namespace shardboard
