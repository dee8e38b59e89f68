// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/axispicker.h"

#include "widgets/controls/axisdrag.h"
#include "widgets/look/axishues.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QDropEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMimeData>
#include <QMouseEvent>
#include <QPainter>
#include <QToolButton>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kSpacing = 4;
constexpr int kCross = 18;

} // namespace

PickedAxis::PickedAxis(const QString& name, const QColor& color, std::int64_t size, QWidget* parent)
    : QAbstractButton(parent)
    , m_color(color)
{
    setObjectName(QStringLiteral("picked_") + name);
    setText(name);
    setAccessibleName(tr("mesh axis %1").arg(name));
    setAccessibleDescription(tr("Delete removes it, Alt and an arrow key move it"));
    setToolTip(!color.isValid()
                   ? tr("The mesh has no axis %1").arg(name)
                   : tr("%1 = %2. Drag sideways, or press Alt and an arrow key, to change the order; Delete removes it")
                         .arg(name)
                         .arg(size));
    setFocusPolicy(Qt::StrongFocus);
}

QSize PickedAxis::sizeHint() const
{
    const QFontMetrics metrics(monoFont(this, -0.5));
    return { metrics.horizontalAdvance(text()) + 14 + kCross, std::max(24, metrics.height() + 8) };
}

QRect PickedAxis::crossRect() const { return { width() - kCross, 0, kCross, height() }; }

void PickedAxis::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QFont font = monoFont(this, -0.5);
    if (m_color.isValid()) {
        paintChip(painter, rect(), QString(), m_color, this, font);
    } else {
        painter.setPen(QPen(theme.error, 1.5, Qt::DashLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), height() / 2.0, height() / 2.0);
    }
    painter.setFont(font);
    painter.setPen(!m_color.isValid() ? theme.error : theme.text);
    painter.drawText(rect().adjusted(10, 0, -kCross, 0), Qt::AlignVCenter | Qt::AlignLeft,
                     QFontMetrics(font).elidedText(text(), Qt::ElideMiddle, width() - kCross - 12));
    const QPointF middle(crossRect().left() + 6.5, height() / 2.0);
    painter.setPen(QPen(theme.quiet, 1.3));
    painter.drawLine(middle + QPointF(-3, -3), middle + QPointF(3, 3));
    painter.drawLine(middle + QPointF(-3, 3), middle + QPointF(3, -3));
    if (hasFocus()) {
        painter.setPen(QPen(theme.accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), height() / 2.0, height() / 2.0);
    }
}

void PickedAxis::mousePressEvent(QMouseEvent* event)
{
    m_pressed = event->pos();
    m_dragging = false;
    QAbstractButton::mousePressEvent(event);
}

void PickedAxis::mouseMoveEvent(QMouseEvent* event)
{
    if (!(event->buttons() & Qt::LeftButton))
        return;
    m_dragging = m_dragging || (event->pos() - m_pressed).manhattanLength() >= QApplication::startDragDistance();
    if (m_dragging)
        Q_EMIT draggedTo(mapToParent(event->pos()));
}

void PickedAxis::mouseReleaseEvent(QMouseEvent* event)
{
    const bool dropped = m_dragging;
    m_dragging = false;
    const bool crossed = event->button() == Qt::LeftButton && crossRect().contains(event->pos()) && crossRect().contains(m_pressed);
    QAbstractButton::mouseReleaseEvent(event);
    if (!dropped && crossed)
        Q_EMIT removed();
}

void PickedAxis::keyPressEvent(QKeyEvent* event)
{
    const bool arrow = event->key() == Qt::Key_Left || event->key() == Qt::Key_Right;
    if (event->key() == Qt::Key_Delete || event->key() == Qt::Key_Backspace)
        Q_EMIT removed();
    else if (arrow && (event->modifiers() & Qt::AltModifier))
        Q_EMIT moved(event->key() == Qt::Key_Left ? -1 : 1);
    else
        QAbstractButton::keyPressEvent(event);
}

AxisPicker::AxisPicker(QWidget* parent)
    : QWidget(parent)
    , m_add(new QToolButton(this))
{
    setAccessibleName(tr("Mesh axes to cut over, major first"));
    setAcceptDrops(true);
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    m_add->setObjectName(QStringLiteral("pickAxis"));
    m_add->setText(QStringLiteral("+"));
    m_add->setAccessibleName(tr("Add a mesh axis"));
    m_add->setToolTip(tr("Cut over one more mesh axis, as the most minor one"));
    m_add->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(m_add);
    connect(menu, &QMenu::aboutToShow, this, [this, menu] {
        menu->clear();
        fillMenu(menu);
    });
    m_add->setMenu(menu);
}

void AxisPicker::setMesh(const Mesh& mesh)
{
    if (mesh == m_mesh)
        return;
    m_mesh = mesh;
    rebuild();
}

void AxisPicker::setAxes(const std::vector<std::string>& axes)
{
    if (axes == m_axes)
        return;
    m_axes = axes;
    rebuild();
}

void AxisPicker::fillMenu(QMenu* menu)
{
    for (int i = 0; i < m_mesh.axisCount(); ++i) {
        const MeshAxis& axis = m_mesh.axis(i);
        if (std::find(m_axes.begin(), m_axes.end(), axis.name) != m_axes.end())
            continue;
        const std::string name = axis.name;
        connect(menu->addAction(QStringLiteral("%1 = %2").arg(qstr(axis.name)).arg(axis.size)), &QAction::triggered, this,
                [this, name] { pick(name); });
    }
}

void AxisPicker::rebuild()
{
    for (PickedAxis* chip : m_chips) {
        chip->disconnect(this); // keys that were on their way to it are for none of those that come
        chip->hide();
        chip->deleteLater(); // it may be the sender
    }
    m_chips.clear();
    for (std::size_t i = 0; i < m_axes.size(); ++i) {
        const int axis = m_mesh.find(m_axes[i]);
        auto* chip = new PickedAxis(qstr(m_axes[i]), axis < 0 ? QColor() : axisColor(m_mesh, axis),
                                    axis < 0 ? 0 : m_mesh.axis(axis).size, this);
        m_chips.push_back(chip);
        connect(chip, &PickedAxis::removed, this, [this, chip] {
            auto axes = m_axes;
            axes.erase(axes.begin() + placeOf(chip));
            change(std::move(axes), placeOf(chip));
        });
        connect(chip, &PickedAxis::moved, this, [this, chip](int by) { move(placeOf(chip), placeOf(chip) + by); });
        connect(chip, &PickedAxis::draggedTo, this, [this, chip](const QPoint& point) {
            const auto under = std::find_if(m_chips.begin(), m_chips.end(), [&](const PickedAxis* other) {
                return other != chip && other->geometry().contains(point);
            });
            if (under != m_chips.end())
                move(placeOf(chip), placeOf(*under));
        });
        if (isVisible())
            chip->show();
    }
    const bool left = std::any_of(m_mesh.axes().begin(), m_mesh.axes().end(), [this](const MeshAxis& axis) {
        return std::find(m_axes.begin(), m_axes.end(), axis.name) == m_axes.end();
    });
    m_add->setEnabled(left);
    m_add->raise();
    arrange(width(), true);
    updateGeometry();
}

int AxisPicker::placeOf(const PickedAxis* chip) const
{
    return static_cast<int>(std::find(m_chips.begin(), m_chips.end(), chip) - m_chips.begin());
}

/// The same chips in another order, so that a drag goes on with the chip that is under the mouse.
void AxisPicker::move(int from, int to)
{
    const auto isPlace = [count = static_cast<int>(m_axes.size())](int place) { return place >= 0 && place < count; };
    if (!isPlace(from) || !isPlace(to) || from == to)
        return;
    const auto put = [from, to](auto& list) {
        const auto moved = list[static_cast<std::size_t>(from)];
        list.erase(list.begin() + from);
        list.insert(list.begin() + to, moved);
    };
    put(m_axes);
    put(m_chips);
    arrange(width(), true);
    Q_EMIT axesChanged();
}

void AxisPicker::change(std::vector<std::string> axes, int focus)
{
    m_axes = std::move(axes);
    rebuild();
    if (!m_chips.empty())
        m_chips[static_cast<std::size_t>(std::min(focus, static_cast<int>(m_chips.size()) - 1))]->setFocus();
    else
        m_add->setFocus();
    Q_EMIT axesChanged();
}

void AxisPicker::pick(const std::string& axis)
{
    auto axes = m_axes;
    axes.push_back(axis);
    const int last = static_cast<int>(axes.size()) - 1;
    change(std::move(axes), last);
}

int AxisPicker::arrange(int width, bool place) const
{
    std::vector<QWidget*> all(m_chips.begin(), m_chips.end());
    all.push_back(m_add);
    int x = 0;
    int y = 0;
    int line = 0;
    for (QWidget* child : all) {
        const QSize wanted = child->sizeHint();
        const QSize size(std::min(wanted.width(), std::max(width, 40)), std::max(24, child == m_add ? 24 : wanted.height()));
        if (x > 0 && x + size.width() > width) {
            x = 0;
            y += line + kSpacing;
            line = 0;
        }
        if (place)
            child->setGeometry(QRect(QPoint(x, y), size));
        x += size.width() + kSpacing;
        line = std::max(line, size.height());
    }
    return y + line;
}

QSize AxisPicker::sizeHint() const { return { 160, arrange(160, false) }; }
QSize AxisPicker::minimumSizeHint() const { return { 80, 24 }; }
int AxisPicker::heightForWidth(int width) const { return arrange(width, false); }

void AxisPicker::resizeEvent(QResizeEvent*) { arrange(width(), true); }

void AxisPicker::dragEnterEvent(QDragEnterEvent* event)
{
    const std::string axis = axisFromMimeData(event->mimeData()).toStdString();
    if (m_mesh.find(axis) >= 0 && std::find(m_axes.begin(), m_axes.end(), axis) == m_axes.end())
        event->acceptProposedAction();
}

void AxisPicker::dropEvent(QDropEvent* event)
{
    const std::string axis = axisFromMimeData(event->mimeData()).toStdString();
    if (m_mesh.find(axis) < 0 || std::find(m_axes.begin(), m_axes.end(), axis) != m_axes.end())
        return;
    event->acceptProposedAction();
    pick(axis);
}

} // namespace shardboard
