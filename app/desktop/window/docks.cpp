// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/docks.h"

#include "app/desktop/window/keyfocus.h"
#include "app/desktop/window/viewwaker.h"
#include "widgets/document/documentview.h"
#include "widgets/look/theme.h"

#include <QChildEvent>
#include <QDockWidget>
#include <QMainWindow>
#include <QTabBar>
#include <QTimer>

#include <algorithm>
#include <map>
#include <utility>

namespace shardboard {

namespace {

constexpr int kLayoutVersion = 7; // raise it when panels are added, renamed or removed
constexpr int kLeastLeft = 270;
constexpr int kLeastRight = 300;
/// Room of a panel in the default layout: a share of the window within bounds, so that the centre keeps its own.
int defaultSize(Docks::Place place, const QWidget* window)
{
    // Larger text needs more of it, but the centre keeps the most: both sides together get no more than half of the window for it.
    const double most =
        place == Docks::Place::Bottom ? 1.5 : std::clamp(window->width() * 0.5 / (kLeastLeft + kLeastRight), 1.0, 1.5);
    const double scale = std::min(textScale(window), most);
    const auto scaled = [scale](int pixels) { return static_cast<int>(pixels * scale); };
    switch (place) {
    case Docks::Place::Left:
        return qBound(scaled(kLeastLeft), window->width() * 20 / 100, scaled(310));
    case Docks::Place::Right:
        return qBound(scaled(kLeastRight), window->width() * 22 / 100, scaled(340));
    default:
        return qBound(scaled(200), window->height() * 26 / 100, scaled(260));
    }
}

Qt::DockWidgetArea areaOf(Docks::Place place)
{
    return place == Docks::Place::Left ? Qt::LeftDockWidgetArea
        : place == Docks::Place::Right ? Qt::RightDockWidgetArea
                                       : Qt::BottomDockWidgetArea;
}

} // namespace

Docks::Docks(QMainWindow* window)
    : QObject(window)
    , m_window(window)
    , m_settle(new QTimer(this))
{
    m_settle->setSingleShot(true);
    m_settle->setInterval(0);
    connect(m_settle, &QTimer::timeout, this, &Docks::settle);
    window->installEventFilter(this);
    new ViewWaker(this);
    new KeyFocus(window);
    window->setDockNestingEnabled(true);
    window->setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    window->setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    window->setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
}

QDockWidget* Docks::add(const QString& name, const QString& title, QWidget* content, Place place, bool shownAtFirst)
{
    auto* dock = new QDockWidget(title, m_window);
    dock->setObjectName(name);
    dock->setWidget(content);
    dock->setTitleBarWidget(new QWidget(dock));
    dock->installEventFilter(this);
    m_docks.push_back(dock);
    m_places.push_back(place);
    // A panel behind another tab counts as visible for Qt; its dock knows better.
    connect(dock, &QDockWidget::visibilityChanged, this, [this, dock](bool visible) {
        std::erase(m_seen, dock);
        if (visible)
            m_seen.push_back(dock);
        if (!m_arranging)
            wake(dock, visible);
    });
    if (!shownAtFirst)
        m_hiddenAtFirst.push_back(dock);
    return dock;
}

void Docks::wake(QDockWidget* dock, bool seen) const
{
    QList<DocumentView*> views = dock->widget()->findChildren<DocumentView*>();
    if (auto* view = qobject_cast<DocumentView*>(dock->widget()))
        views.prepend(view);
    for (DocumentView* view : std::as_const(views))
        view->setAsleep(!seen);
}

QDockWidget* Docks::find(const QString& name) const
{
    const auto it = std::find_if(m_docks.begin(), m_docks.end(), [&](const QDockWidget* d) { return d->objectName() == name; });
    return it == m_docks.end() ? nullptr : *it;
}

void Docks::raise(const QString& name)
{
    if (QDockWidget* dock = find(name)) {
        dock->show();
        dock->raise();
    }
}

void Docks::setVisible(bool visible)
{
    for (QDockWidget* dock : m_docks)
        dock->setVisible(visible && std::find(m_hiddenAtFirst.begin(), m_hiddenAtFirst.end(), dock) == m_hiddenAtFirst.end());
}

void Docks::setMovable(bool movable)
{
    if (movable == m_movable)
        return;
    m_movable = movable;
    for (QDockWidget* dock : m_docks) {
        QWidget* old = dock->titleBarWidget();
        dock->setTitleBarWidget(movable ? nullptr : new QWidget(dock));
        delete old;
    }
}

void Docks::reset()
{
    m_arranging = true;
    arrange();
    m_arranging = false;
    std::map<Place, QDockWidget*> front;
    for (std::size_t i = 0; i < m_docks.size(); ++i)
        front.emplace(m_places[i], m_docks[i]);
    for (std::size_t i = 0; i < m_docks.size(); ++i)
        wake(m_docks[i], front[m_places[i]] == m_docks[i] && !m_docks[i]->isHidden());
}

void Docks::arrange()
{
    const bool animated = m_window->isAnimated();
    m_window->setAnimated(false);
    std::map<Place, QDockWidget*> first; // of each place; the others become its tabs
    for (std::size_t i = 0; i < m_docks.size(); ++i) {
        QDockWidget* dock = m_docks[i];
        dock->setFloating(false);
        m_window->addDockWidget(areaOf(m_places[i]), dock);
        dock->show();
        const auto [it, isFirst] = first.emplace(m_places[i], dock);
        if (!isFirst)
            m_window->tabifyDockWidget(it->second, dock);
    }
    for (std::size_t i = 0; i < m_docks.size(); ++i) {
        m_window->resizeDocks({ m_docks[i] }, { defaultSize(m_places[i], m_window) },
                              m_places[i] == Place::Bottom ? Qt::Vertical : Qt::Horizontal);
    }
    for (const auto& [place, dock] : first)
        dock->raise();
    for (QDockWidget* dock : m_hiddenAtFirst)
        dock->hide();
    m_window->setAnimated(animated);
    m_widths.clear();
    m_cameOrWent = false;
}

/// How wide the sides are whose panels lie behind each other, not side by side.
std::map<int, int> Docks::sideWidths() const
{
    std::map<int, int> out;
    std::map<int, int> lefts;
    for (const QDockWidget* dock : m_seen) {
        const int area = m_window->dockWidgetArea(const_cast<QDockWidget*>(dock));
        if (dock->isFloating() || (area != Qt::LeftDockWidgetArea && area != Qt::RightDockWidgetArea))
            continue;
        if (const auto [it, first] = lefts.emplace(area, dock->x()); !first && it->second != dock->x())
            out[area] = -1;
        else if (first)
            out[area] = dock->width();
    }
    std::erase_if(out, [](const auto& side) { return side.second < 0; });
    return out;
}

/// A panel that comes takes what it needs from the centre and not from another side, and gives it back when it goes.
void Docks::settle()
{
    if (m_arranging || !m_window->isVisible())
        return;
    const auto widths = sideWidths();
    if (!std::exchange(m_cameOrWent, false) || widths.empty()) {
        m_widths = widths;
        return;
    }
    QList<QDockWidget*> docks;
    QList<int> wanted;
    for (QDockWidget* dock : m_seen)
        if (const auto side = m_widths.find(m_window->dockWidgetArea(dock));
            side != m_widths.end() && widths.contains(side->first) && !dock->isFloating()) {
            docks << dock;
            wanted << side->second;
        }
    m_settling = true;
    const bool animated = m_window->isAnimated();
    m_window->setAnimated(false);
    m_window->resizeDocks(docks, wanted, Qt::Horizontal);
    m_window->setAnimated(animated);
    m_settling = false;
    for (const auto& [area, width] : sideWidths())
        m_widths.emplace(area, width); // of a side that was empty
}

/// Panels that are narrower than their usual size for the present text get that.
void Docks::giveTextRoom()
{
    for (std::size_t i = 0; i < m_docks.size(); ++i) {
        const bool below = m_places[i] == Place::Bottom;
        const int wanted = defaultSize(m_places[i], m_window);
        QDockWidget* dock = m_docks[i];
        if (dock->isVisible() && !dock->isFloating() && (below ? dock->height() : dock->width()) < wanted)
            m_window->resizeDocks({ dock }, { wanted }, below ? Qt::Vertical : Qt::Horizontal);
    }
}

/// Tabs keep their whole names; where there is no room for all of them, they scroll.
bool Docks::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::ChildPolished)
        if (auto* bar = qobject_cast<QTabBar*>(static_cast<QChildEvent*>(event)->child())) {
            bar->setElideMode(Qt::ElideNone);
            bar->setUsesScrollButtons(true);
        }
    if (qobject_cast<QDockWidget*>(watched) && !m_settling) {
        m_cameOrWent = m_cameOrWent || event->type() == QEvent::ShowToParent || event->type() == QEvent::HideToParent;
        if (m_cameOrWent || event->type() == QEvent::Resize)
            m_settle->start();
    }
    if (watched == m_window && event->type() == QEvent::FontChange)
        QMetaObject::invokeMethod(this, &Docks::giveTextRoom, Qt::QueuedConnection);
    return QObject::eventFilter(watched, event);
}

QByteArray Docks::save() const { return m_window->saveState(kLayoutVersion); }

bool Docks::restore(const QByteArray& state)
{
    if (!state.isEmpty()) {
        // Every panel needs a place first; restoreState moves those that the state knows.
        m_arranging = true;
        arrange();
        const bool restored = m_window->restoreState(state, kLayoutVersion);
        m_arranging = false;
        if (restored) {
            for (QDockWidget* dock : m_docks)
                wake(dock, std::find(m_seen.begin(), m_seen.end(), dock) != m_seen.end());
            return true;
        }
    }
    reset();
    return false;
}

} // namespace shardboard
