// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshcanvas.h"

#include "model/plan/time/traffic.h"
#include "widgets/document/documentview.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvassizes.h"

#include <QKeyEvent>

#include <algorithm>
#include <cmath>

namespace shardboard {

using namespace meshcanvas;

namespace {

constexpr double kInset = 0.3; ///< of a cell, between its middle and an arrow
constexpr double kArrow = 14; ///< shorter arrows are joined
constexpr std::size_t kMostArrows = 160; ///< more are not calm
constexpr double kArrowCell = 6; ///< smaller devices are not told apart by arrows
constexpr double kUnit = 14; ///< smaller units are no aim for a click
constexpr double kFills = 0.55; ///< of the view, in either direction: one is in that unit
constexpr double kLeastGrid = 28; ///< devices that have no more leave no room for them

} // namespace

MeshCanvas::MeshCanvas(Document* document, QWidget* parent)
    : CanvasWidget(document, QStringLiteral("meshCanvas"), tr("Device mesh"), Base::Kept, parent)
{
    m_viewport.setVerticalPlace(0.25);
    m_viewport.setWorld(m_scene.grid.world(), kLargestCell);
}

QSize MeshCanvas::sizeHint() const { return { 400, 300 }; }

void MeshCanvas::refresh()
{
    const auto evaluation = document()->evaluation();
    const bool another = m_evaluation != evaluation;
    if (another) { // what was shown is of the plan before
        m_transfer = {};
        m_transferTitle.clear();
    }
    m_evaluation = evaluation;
    if (!(m_scene.mesh == document()->design().mesh)) { // there may be no such axis any more
        m_hoveredAxis = -1;
        forgetPress();
    }
    m_scene.prepare(document()->design(), evaluation.get(), selectedWeight(*document()), m_foundText, roomIn(size()),
                    Theme::of(this));
    if (another)
        heat();
    m_hoveredUnit.reset();
    m_viewport.setView(gridArea());
    if (m_viewport.world() != m_scene.grid.world())
        m_viewport.setWorld(m_scene.grid.world(), kLargestCell); // another mesh; another weight is seen from where one was
    viewMoved();
    navigation()->forgetMap();
    updateOverlay();
}

void MeshCanvas::heat()
{
    m_scene.heat.clear();
    if (!m_evaluation)
        return;
    const double step = m_evaluation->plan.seconds();
    for (const LevelTraffic& level : trafficOf(m_evaluation->graph, m_evaluation->plan, m_scene.hardware))
        m_scene.heat.push_back(step > 0 ? std::min(1.0, level.seconds / step) : 0);
}

void MeshCanvas::setColoring(Coloring coloring)
{
    if (coloring == m_scene.coloring)
        return;
    m_scene.coloring = coloring;
    refresh();
}

void MeshCanvas::highlightChanged()
{
    m_scene.highlight = highlight();
    refresh();
}

PartColor MeshCanvas::colorAt(std::int64_t position) const { return m_scene.colorAt(position, Theme::of(this)); }

QString MeshCanvas::deviceText(std::int64_t position) const { return m_scene.deviceText(position, selectedWeight(*document())); }

void MeshCanvas::updateOverlay()
{
    const std::int64_t device = shownDevice(*document());
    overlayChanged(device < 0 ? QString() : deviceText(device));
}

void MeshCanvas::setFound(const QString& text)
{
    if (text == m_foundText)
        return;
    m_foundText = text;
    refresh();
}

bool MeshCanvas::findNext(bool back)
{
    if (!document()->hasDesign() || m_scene.found.isEmpty())
        return false;
    if (m_scene.found.axis() >= 0) {
        selection()->setMeshAxis(m_scene.found.axis());
        return true;
    }
    const std::int64_t count = m_scene.mesh.deviceCount();
    const std::int64_t by = back ? count - 1 : 1;
    std::int64_t position = selection()->device();
    if (position < 0 || position >= count)
        position = back ? 0 : count - 1;
    for (std::int64_t i = 0; i < count; ++i) {
        position = (position + by) % count;
        if (!m_scene.found.matches(m_scene.mesh, position))
            continue;
        selection()->setDevice(position);
        constexpr double kRead = 28;
        if (m_viewport.scale() < kRead && m_viewport.largestScale() > kRead) { // large enough to be read
            constexpr double kAround = 3;
            showPart(m_scene.grid.cell(position).adjusted(-kAround, -kAround, kAround, kAround), kLargestCell);
        }
        tellDevice(position);
        return true;
    }
    return false;
}

QRectF MeshCanvas::gridArea(const QRectF& canvas) const
{
    const double text = textScale(this);
    const QSizeF bars = roomForBars(m_scene.grid, text);
    const QRectF out = canvas.adjusted(kPanelMargin + bars.width(), bars.height() + 8, -kPanelMargin,
                                       -kFooter * text - 8 - (coloring() == Coloring::Memory ? kScale * text : 0));
    const double words = m_transferTitle.isEmpty() ? 0 : kWords * text;
    return out.adjusted(0, 0, 0, out.height() - words < kLeastGrid ? 0 : -words); // what moves comes before what is said about it
}

/// Without what comes and goes, so that devices stay where they are.
MeshRoom MeshCanvas::roomIn(const QSizeF& canvas) const
{
    const double text = textScale(this);
    return { { canvas.width() - 2 * kPanelMargin, canvas.height() - 16 - kFooter * text }, text, kLargestCell };
}

MeshCanvas::Fitted MeshCanvas::fittedIn(const QSize& size) const
{
    const MeshGrid grid = m_scene.gridIn(roomIn(size));
    const QSizeF bars = roomForBars(grid, textScale(this));
    const QRectF area =
        QRectF(QPointF(), roomIn(size).size)
            .adjusted(bars.width(), bars.height(), 0, coloring() == Coloring::Memory ? -kScale * textScale(this) : 0);
    const QRectF world = grid.world();
    const double cell =
        world.isEmpty() ? 0 : std::min({ area.width() / world.width(), area.height() / world.height(), kLargestCell });
    return { cell >= kCardCell ? 2 : cell >= kLabelCell ? 1 : 0, cell * world.height() };
}

QRectF MeshCanvas::deviceRect(std::int64_t position) const { return m_viewport.toScreen(m_scene.grid.cell(position)); }

std::int64_t MeshCanvas::deviceAt(const QPointF& point) const
{
    return gridArea().contains(point) ? m_scene.grid.positionAt(m_viewport.toWorld(point)) : -1;
}

int MeshCanvas::axisAt(const QPointF& point) const
{
    for (const MeshBar& bar : m_bars)
        if (bar.zone.contains(point))
            return bar.axis;
    return -1;
}

int MeshCanvas::accessibleCount() const { return document()->hasDesign() ? static_cast<int>(m_scene.mesh.deviceCount()) : 0; }
QString MeshCanvas::accessibleItemName(int index) const { return deviceText(index); }
QRectF MeshCanvas::accessibleItemRect(int index) const { return deviceRect(index); }
int MeshCanvas::accessibleItemAt(const QPointF& point) const { return static_cast<int>(deviceAt(point)); }
int MeshCanvas::accessibleCurrent() const { return static_cast<int>(selection()->device()); }
void MeshCanvas::accessibleActivate(int index) { selection()->setDevice(index); }

std::vector<int> MeshCanvas::groupAxes() const
{
    const auto valid = [this](int axis) { return axis >= 0 && axis < m_scene.mesh.axisCount(); };
    if (valid(m_hoveredAxis))
        return { m_hoveredAxis };
    if (valid(m_scene.found.axis()))
        return { m_scene.found.axis() };
    if (const Collective* collective = selectedCollective(*document()))
        return collective->axes;
    if (valid(selection()->meshAxis()))
        return { selection()->meshAxis() };
    return {};
}

void MeshCanvas::showTransfer(CollectiveId collective, double progress, const QString& title, const QString& words)
{
    const auto evaluation = document()->evaluation();
    if (!evaluation || collective >= evaluation->plan.collectives.size())
        collective = {};
    m_progress = progress;
    if (collective == m_transfer && title == m_transferTitle && words == m_transferWords) {
        if (collective.valid())
            update();
        return;
    }
    const bool room = m_transferTitle.isEmpty() != title.isEmpty();
    m_transfer = collective;
    m_transferTitle = title;
    m_transferWords = words;
    if (room)
        layOut();
    else
        layTransfer();
    update();
}

const Collective* MeshCanvas::transferCollective() const
{
    const auto evaluation = document()->evaluation();
    if (!evaluation || m_transfer >= evaluation->plan.collectives.size())
        return nullptr;
    return &evaluation->plan.collective(m_transfer); // owned by the document
}

/// Which arrows there are follows from the collective and from what is in sight; not from one frame to the next.
void MeshCanvas::layTransfer()
{
    m_arrows.clear();
    m_moves = {};
    const Collective* collective = transferCollective();
    if (collective == nullptr)
        return;
    const Plan& plan = document()->evaluation()->plan;
    const double scale = m_viewport.scale();
    const auto visible =
        scale >= kArrowCell ? positionsIn(m_scene.grid, m_viewport.visibleWorld(), 4 * kMostArrows) : std::vector<std::int64_t>();
    const std::int64_t selected = selection()->device();
    m_moves = shownTransfers(*collective, plan, visible,
                             selected >= 0         ? selected
                                 : visible.empty() ? 0
                                                   : visible.front(),
                             kMostArrows);
    const QPointF origin = m_viewport.toScreen(QPointF());
    m_arrows = arrowsOf(m_moves.moves, m_scene.grid, scale, kArrow);
    for (Arrow& arrow : m_arrows) {
        // Beside the ids of the devices, not on them.
        const QPointF way = arrow.to - arrow.from;
        const double length = std::max(std::hypot(way.x(), way.y()), 1.0);
        const QPointF inset = way / length * std::min(scale * kInset, length / 4);
        arrow.from += origin + inset;
        arrow.to += origin - inset;
    }
}

QString MeshCanvas::transferText() const
{
    QString out = m_transferWords;
    if (m_moves.groups > 0 && m_moves.groups < m_moves.allGroups)
        out += tr(" · %1 of %2 groups drawn").arg(m_moves.groups).arg(m_moves.allGroups);
    return out;
}

QRectF MeshCanvas::selectedPart() const
{
    const std::int64_t device = selection()->device();
    if (device >= 0 && device < m_scene.mesh.deviceCount())
        return m_scene.grid.cell(device).adjusted(-0.25, -0.25, 0.25, 0.25);
    const auto axes = groupAxes();
    QRectF hull;
    if (!axes.empty() && m_scene.mesh.groupSize(axes) <= 4096)
        for (const std::int64_t member : m_scene.mesh.group(0, axes))
            hull = hull.united(m_scene.grid.cell(member));
    return hull;
}

void MeshCanvas::layOut()
{
    if (document()->hasDesign())
        arrange();
    m_viewport.setView(gridArea());
    viewMoved();
}

/// For the room there is now. Who has zoomed in still sees the device that was in the middle, as large as before.
void MeshCanvas::arrange()
{
    const bool zoomed = !m_viewport.isFitted();
    const double scale = m_viewport.scale();
    const QSizeF seen = m_viewport.visibleWorld().size();
    const std::int64_t middle = m_scene.grid.unitNear(MeshGrid::kDevices, m_viewport.visibleWorld().center());
    if (!m_scene.arrange(roomIn(size())))
        return;
    m_viewport.setView(gridArea());
    m_viewport.setWorld(m_scene.grid.world(), kLargestCell);
    navigation()->forgetMap();
    if (!zoomed)
        return;
    QRectF part(QPointF(), seen);
    part.moveCenter(m_scene.grid.cell(middle).center());
    m_viewport.show(part, scale);
}

void MeshCanvas::viewMoved()
{
    const QRectF seen = m_viewport.toScreen(m_scene.grid.world()).intersected(gridArea());
    m_bars = meshBars(m_scene.mesh, m_scene.grid, seen, textScale(this));
    layTransfer();
    forgetBase();
    if (auto now = place(); now != m_place) {
        m_place = std::move(now);
        Q_EMIT placeChanged();
    }
}

std::vector<MeshCanvas::Place> MeshCanvas::place() const
{
    std::vector<Place> out;
    if (m_viewport.isFitted())
        return out;
    const QPointF middle = m_viewport.visibleWorld().center();
    for (int tier = m_scene.grid.tierCount() - 1; tier >= 0; --tier) {
        const std::int64_t position = m_scene.grid.unitNear(tier, middle);
        const QSizeF unit = m_scene.grid.unitSize(tier) * m_viewport.scale();
        if (unit.width() < kFills * m_viewport.view().width() && unit.height() < kFills * m_viewport.view().height())
            break;
        out.push_back({ tier, position });
    }
    return out;
}

QStringList MeshCanvas::placeSteps() const
{
    QStringList out;
    for (const Place& it : m_place)
        out << m_scene.unitText(it.tier, it.position);
    return out;
}

double MeshCanvas::solidCell() const { return m_scene.hatched ? kHatchedCell : kSolidCell; }

int MeshCanvas::takenTier() const
{
    const MeshGrid& grid = m_scene.grid;
    if (m_viewport.scale() >= kSolidCell)
        return MeshGrid::kDevices;
    const int outermost = m_place.empty() ? grid.tierCount() - 1 : m_place.back().tier - 1; // in the unit that one is in
    for (int tier = 0; tier < outermost; ++tier)
        if (std::min(grid.unitSize(tier).width(), grid.unitSize(tier).height()) * m_viewport.scale() >= kUnit)
            return tier;
    return outermost;
}

std::int64_t MeshCanvas::unitAt(const QPointF& point, int tier) const
{
    const QRectF world = m_viewport.toScreen(m_scene.grid.world());
    return gridArea().contains(point) && world.contains(point) ? m_scene.grid.unitNear(tier, m_viewport.toWorld(point)) : -1;
}

void MeshCanvas::goInto(int tier, std::int64_t position)
{
    const QSizeF gap = m_scene.grid.gapAfter(tier);
    const double side = std::min(gap.width() / 2, 2.0);
    m_hoveredUnit.reset();
    showPart(m_scene.grid.unit(tier, position).adjusted(-side, -std::min(gap.height(), 2.0), side, side), kLargestCell);
    const QString text = m_scene.unitToolTip(tier, position);
    tellStatus(text);
}

void MeshCanvas::goUp() { goBackTo(static_cast<int>(m_place.size()) - 1); }

void MeshCanvas::goBackTo(int steps)
{
    m_hoveredUnit.reset();
    if (steps < 1 || static_cast<std::size_t>(steps) > m_place.size()) {
        navigation()->fitAll();
    } else {
        const Place to = m_place[static_cast<std::size_t>(steps) - 1];
        goInto(to.tier, to.position);
    }
}

QString MeshCanvas::toolTipAt(const QPointF& point) const
{
    if (const int tier = takenTier(); tier >= 0)
        if (const std::int64_t position = unitAt(point, tier); position >= 0)
            return m_scene.unitToolTip(tier, position) + QLatin1Char('\n') + tr("Click to go in; Esc goes back");
    if (const std::int64_t device = deviceAt(point); device >= 0)
        return deviceText(device);
    const int axis = axisAt(point);
    return axis < 0 ? QString() : tr("mesh axis %1 — drag it onto a tensor dim").arg(qstr(m_scene.mesh.axis(axis).name));
}

void MeshCanvas::hoverAt(const QPointF& point)
{
    if (const int axis = axisAt(point); axis != m_hoveredAxis) {
        m_hoveredAxis = axis;
        setCursor(axis >= 0 ? Qt::OpenHandCursor : Qt::ArrowCursor);
        update();
    }
    std::optional<Place> unit;
    if (const int tier = takenTier(); tier >= 0)
        if (const std::int64_t position = unitAt(point, tier); position >= 0)
            unit = Place { tier, position };
    if (unit != m_hoveredUnit) {
        m_hoveredUnit = unit;
        update();
    }
    selection()->setHoveredDevice(deviceAt(point));
}

/// A device; where they are too small, the unit that they are in is shown. Beside everything it goes back.
void MeshCanvas::selectAt(const QPointF& point)
{
    const int tier = takenTier();
    if (const std::int64_t position = tier < 0 ? -1 : unitAt(point, tier); position >= 0)
        goInto(tier, position);
    else if (const std::int64_t device = deviceAt(point); device < 0 && !m_place.empty())
        goUp();
    else
        selection()->setDevice(device);
}

void MeshCanvas::leaveEvent(QEvent*)
{
    m_hoveredAxis = -1;
    m_hoveredUnit.reset();
    selection()->setHoveredDevice(-1);
    update();
}

/// By as much as a click takes.
void MeshCanvas::moveCurrent(int dx, int dy)
{
    if (!document()->hasDesign())
        return;
    const std::int64_t from = selection()->device();
    const bool known = from >= 0 && from < m_scene.mesh.deviceCount();
    selection()->setDevice(known ? m_scene.grid.moved(from, dx, dy, takenTier()) : 0);
    tellDevice(selection()->device());
}

/// Brings it into sight, and the status bar says what it is.
void MeshCanvas::tellDevice(std::int64_t position)
{
    bringIntoSight(m_scene.grid.cell(position), 12);
    const int tier = takenTier();
    tellStatus((tier < 0 ? QString() : m_scene.unitText(tier, position) + QLatin1Char('\n')) + deviceText(position));
}

void MeshCanvas::keyPressEvent(QKeyEvent* event)
{
    const bool in = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (in && document()->hasDesign() && takenTier() >= 0) {
        const std::int64_t from = selection()->device();
        const bool known = from >= 0 && from < m_scene.mesh.deviceCount();
        goInto(takenTier(), known ? from : m_scene.grid.unitNear(takenTier(), m_viewport.visibleWorld().center()));
    } else if (event->key() == Qt::Key_Backspace) {
        goUp();
    } else if (event->key() != Qt::Key_Escape) {
        CanvasWidget::keyPressEvent(event);
    } else if (!highlight().isEmpty()) {
        Q_EMIT allWanted();
    } else if (!m_place.empty()) {
        goUp();
    } else {
        selection()->setDevice(-1);
    }
}

} // namespace shardboard
