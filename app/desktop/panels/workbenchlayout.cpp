// SPDX-License-Identifier: Apache-2.0
// What of a mode is where, and how large: columns, what it asks, what is over all, what gives way in small windows, the drawer.
#include "app/desktop/panels/workbench.h"

#include "app/desktop/panels/modepage.h"
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/panelgroup.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QJsonArray>
#include <QSplitter>
#include <QStackedWidget>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

constexpr int kCompactWidth = 1400; ///< below, columns are narrower and groups become tabs
constexpr int kLowHeight = 560; ///< in text of 10 points; below, views above one another become tabs
constexpr int kDrawerWidth = 1100; ///< below, the right column is a drawer

} // namespace

void Workbench::setMode(WorkMode mode)
{
    if (mode == m_mode || m_pages.count(mode) == 0)
        return;
    restoreMaximized();
    const QPointer<QWidget> focused = QApplication::focusWidget();
    const bool inside = focused && isAncestorOf(focused);
    if (inside)
        m_focused[m_mode] = focused;
    const bool updates = updatesEnabled();
    setUpdatesEnabled(false); // one frame
    m_unfolded[m_mode] = unfoldedNow();
    m_mode = mode;
    placeUnfolded();
    sizePage();
    setUpdatesEnabled(updates);
    if (inside && (!focused->isVisible() || focused == m_placed)) {
        focusMode();
        m_placed = QApplication::focusWidget();
    }
    Q_EMIT modeChanged(mode);
}

/// To where it was in the mode, or else to the mode's first panel.
void Workbench::focusMode()
{
    if (QWidget* kept = m_focused[m_mode]; kept != nullptr && kept->isVisible() && kept->isEnabled()) {
        kept->setFocus(Qt::OtherFocusReason);
        return;
    }
    const ModePage* shown = m_pages.at(m_mode);
    for (Panel* panel : m_panels)
        if (panel->isVisible() && (panel->home() == shown->top() || shown->centre()->isAncestorOf(panel))) {
            focusPanel(panel);
            return;
        }
}

/// The parts of the present mode, in the sizes in which they were left.
void Workbench::sizePage()
{
    ModePage* shown = m_pages.at(m_mode);
    const bool hasTop = shown->top() != nullptr;
    if (hasTop)
        m_tops->setCurrentWidget(shown->top());
    if (hasTop && m_fitted) { // before it is seen: what has been laid out once need not be laid out again
        const int whole = m_body->height();
        const auto kept = m_topSizes.find(m_mode);
        const int wanted = kept != m_topSizes.end()
            ? kept->second
            : std::min(static_cast<int>(shown->topHeight() * textScale(this)), whole * 55 / 100);
        m_body->setSizes({ wanted, std::max(1, whole - wanted) });
    }
    m_tops->setVisible(hasTop);
    if (!hasTop && m_fitted)
        m_body->setSizes({ 0, m_body->height() }); // at once: what is arranged below takes its size from it
    m_centres->setCurrentWidget(shown->centre());
    placeAsked();
    placeRight();
    if (!m_fitted)
        return;
    if (const auto kept = m_leftSizes.find(m_mode); kept != m_leftSizes.end())
        m_leftSplit->restoreState(kept->second);
    else if (const auto asked = m_asked.find(m_mode); asked != m_asked.end() && !asked->second->isHidden()) {
        const int whole = m_leftSplit->height();
        const int wanted = std::min(asked->second->sizeHint().height(), whole / 2);
        QList<int> sizes(m_leftSplit->count(), 0);
        sizes[m_leftSplit->indexOf(asked->second)] = wanted;
        sizes.last() = std::max(1, whole - wanted);
        m_leftSplit->setSizes(sizes);
    }
    sizeColumns();
    if (!std::exchange(m_arranged[m_mode], true))
        shown->arrange(m_centres->size());
}

/// Where there is little room, what a mode asks is a tab beside Weights.
void Workbench::placeAsked()
{
    for (const auto& [mode, group] : m_asked) {
        const bool tabbed = m_compact && mode == m_mode;
        for (Panel* panel : m_panels) {
            if (panel->home() != group || (panel->group() == nullptr && panel->isOptional()))
                continue;
            if (tabbed && panel->group() != m_weights) {
                m_weights->add(panel, 0);
                m_weights->setCurrent(panel);
            } else if (!tabbed) {
                group->add(panel);
            }
        }
        group->setVisible(!tabbed && mode == m_mode && !group->isEmpty());
    }
}

/// The tab that the mode has of its own comes in front; when it goes, the one that was there before does.
void Workbench::placeRight()
{
    for (const auto& [mode, panel] : m_rightOf) {
        const bool there = panel->group() != nullptr;
        if (there == (mode == m_mode))
            continue;
        if (there) {
            const bool inFront = m_right->current() == panel;
            m_right->remove(panel);
            if (inFront && m_rightBefore)
                m_right->setCurrent(m_rightBefore);
        } else {
            m_rightBefore = m_right->current();
            m_right->add(panel, 0);
            m_right->setCurrent(panel);
        }
        if (m_drawer) // a tab more does not open it
            m_right->setVisible(m_drawerOpen);
    }
}

/// What of panels with sections is unfolded, as it is in the present mode.
QJsonObject Workbench::unfoldedNow() const
{
    QJsonObject out;
    for (const Panel* panel : m_panels)
        if (const QVariant now = panel->widget()->property("unfolded"); now.isValid())
            out[panel->objectName()] = QJsonArray::fromStringList(now.toStringList());
    return out;
}

void Workbench::placeUnfolded()
{
    for (const Panel* panel : m_panels)
        if (const QString name = panel->objectName(); m_unfoldedAtFirst.contains(name)) {
            const QJsonValue kept = m_unfolded[m_mode].value(name);
            const QJsonArray wanted = (kept.isArray() ? kept : m_unfoldedAtFirst.value(name)).toArray();
            panel->widget()->setProperty("unfolded", wanted.toVariantList());
        }
}

void Workbench::sizeColumns()
{
    const double scale = std::min(textScale(this), std::clamp(width() * 0.5 / 528, 1.0, 1.5));
    const int left = m_leftWidth > 0 ? m_leftWidth : static_cast<int>((m_compact ? 248 : 310) * scale);
    const int right = m_rightWidth > 0 ? m_rightWidth : static_cast<int>((m_compact ? 280 : 340) * scale);
    m_columns->setSizes({ left, std::max(1, width() - left - 1) });
    if (!m_drawer)
        m_lower->setSizes({ std::max(1, m_body->width() - right - 1), right });
}

/// Those that stand alone where there is room.
void Workbench::foldGroups()
{
    for (const auto& [mode, shown] : m_pages)
        for (const ModePage::Fold& fold : shown->folds())
            for (Panel* panel : m_panels) {
                const bool low = fold.when == ModePage::Fold::Low;
                PanelGroup* wanted = (low ? m_low : m_compact) ? fold.into : fold.from;
                if (panel->home() != fold.from || panel->group() == nullptr || panel->group() == wanted)
                    continue;
                const bool untouched = fold.into->current() == fold.into->panels().front();
                wanted->add(panel, low ? 0 : -1);
                if (low && untouched && wanted == fold.into)
                    wanted->setCurrent(panel);
            }
}

/// To the window's size and that of its text: what gives way does, or comes back.
void Workbench::fit()
{
    const bool compact = width() < kCompactWidth;
    const bool low = height() < kLowHeight * textScale(this);
    const bool drawer = width() < kDrawerWidth;
    const bool changed = compact != m_compact || low != m_low || drawer != m_drawer || !m_fitted;
    if (low != m_low)
        for (const auto& [mode, shown] : m_pages)
            for (const ModePage::Fold& fold : shown->folds())
                if (fold.when == ModePage::Fold::Low)
                    m_arranged[mode] = false; // its parts are others
    m_compact = compact;
    m_low = low;
    if (changed) {
        restoreMaximized();
        foldGroups();
    }
    if (drawer != m_drawer) {
        m_drawer = drawer;
        m_drawerOpen = false;
        m_right->setEdge(drawer);
        if (drawer) {
            m_right->setParent(this);
            m_right->setAutoFillBackground(true); // it lies over others
            m_right->hide();
        } else {
            m_lower->addWidget(m_right);
            m_right->setVisible(!m_right->isEmpty());
        }
    }
    m_fitted = true;
    if (changed)
        sizePage();
    if (m_drawer)
        placeDrawer();
}

void Workbench::placeDrawer()
{
    const int wanted = std::min(width() * 2 / 3, static_cast<int>(320 * std::min(1.5, textScale(this))));
    m_right->setGeometry(m_maximized != nullptr && m_maximized->group() == m_right ? rect()
                                                                                   : QRect(width() - wanted, 0, wanted, height()));
    m_right->setVisible(m_drawerOpen);
    m_right->raise();
}

void Workbench::openDrawer(bool open)
{
    m_drawerOpen = open;
    placeDrawer();
}

void Workbench::toggleInspector()
{
    Panel* inspector = find(QStringLiteral("inspector"));
    if (inspector == nullptr)
        return;
    if (m_drawer && m_drawerOpen) {
        openDrawer(false);
        return;
    }
    raise(inspector->objectName());
    inspector->setFocus();
    if (QWidget* first = inspector->findChild<QWidget*>(QStringLiteral("inspectorScroll")))
        first->setFocus(Qt::ShortcutFocusReason);
}

} // namespace shardboard
