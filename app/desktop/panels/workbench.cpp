// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/panels/workbench.h"

#include "app/desktop/panels/modepage.h"
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/panelgroup.h"
#include "widgets/look/boxlayout.h"

#include <QApplication>
#include <QJsonArray>
#include <QKeyEvent>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

QSplitter* splitter(Qt::Orientation orientation, const char* name, QWidget* parent)
{
    auto* out = new QSplitter(orientation, parent);
    out->setObjectName(QLatin1String(name));
    out->setChildrenCollapsible(false);
    out->setHandleWidth(1);
    return out;
}

} // namespace

Workbench::Workbench(QWidget* parent)
    : QWidget(parent)
    , m_columns(splitter(Qt::Horizontal, "columnsSplitter", this))
    , m_leftSplit(splitter(Qt::Vertical, "leftSplitter", m_columns))
    , m_body(splitter(Qt::Vertical, "bodySplitter", m_columns))
    , m_tops(new QStackedWidget)
    , m_centres(new QStackedWidget)
    , m_weights(new PanelGroup(QStringLiteral("leftGroup"), tr("Left panels")))
    , m_right(new PanelGroup(QStringLiteral("rightGroup"), tr("Right panels")))
{
    setObjectName(QStringLiteral("workbench"));
    boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this)->addWidget(m_columns);
    m_lower = splitter(Qt::Horizontal, "lowerSplitter", m_body);
    m_body->addWidget(m_tops);
    m_body->addWidget(m_lower);
    m_lower->addWidget(m_centres);
    m_lower->addWidget(m_right);
    m_leftSplit->addWidget(m_weights);
    m_columns->setStretchFactor(1, 1);
    m_lower->setStretchFactor(0, 1);
    m_body->setStretchFactor(1, 1);
    m_tops->hide();
    for (QStackedWidget* stack : { m_tops, m_centres })
        stack->setMinimumHeight(120); // a low window shows less of them, and does not grow
    watch(m_weights);
    watch(m_right);
    connect(m_columns, &QSplitter::splitterMoved, this, [this] { m_leftWidth = m_columns->sizes().value(0); });
    connect(m_lower, &QSplitter::splitterMoved, this, [this] { m_rightWidth = m_lower->sizes().value(1); });
    connect(m_body, &QSplitter::splitterMoved, this, [this] { m_topSizes[m_mode] = m_body->sizes().value(0); });
    connect(m_leftSplit, &QSplitter::splitterMoved, this, [this] { m_leftSizes[m_mode] = m_leftSplit->saveState(); });
}

Panel* Workbench::add(const QString& name, const QString& title, QWidget* content)
{
    auto* panel = new Panel(name, title, content, this);
    m_panels.push_back(panel);
    if (const QVariant unfolded = content->property("unfolded"); unfolded.isValid())
        m_unfoldedAtFirst[name] = QJsonArray::fromStringList(unfolded.toStringList());
    return panel;
}

void Workbench::watch(PanelGroup* group)
{
    if (std::find(m_watched.begin(), m_watched.end(), group) != m_watched.end())
        return;
    m_watched.push_back(group);
    connect(group, &PanelGroup::titleDoubleClicked, this, &Workbench::toggleMaximized);
    connect(group, &PanelGroup::closeRequested, this, &Workbench::close);
}

void Workbench::setLeft(Panel* panel) { m_weights->add(panel); }

void Workbench::setAsked(WorkMode mode, Panel* panel)
{
    auto* group = new PanelGroup(QStringLiteral("asked.") + modeId(mode), panel->windowTitle());
    m_asked[mode] = group;
    group->add(panel);
    watch(group);
    m_leftSplit->insertWidget(m_leftSplit->count() - 1, group);
    group->hide();
}

void Workbench::addRight(Panel* panel) { m_right->add(panel); }

void Workbench::addRight(WorkMode mode, Panel* panel)
{
    panel->setHome(m_right);
    m_rightOf[mode] = panel;
}

void Workbench::addOptionalRight(Panel* panel)
{
    panel->setOptional(true);
    panel->setHome(m_right);
}

void Workbench::setElsewhere(Panel* panel, std::function<void(bool)> show) { m_elsewhere[panel] = std::move(show); }

void Workbench::addPage(ModePage* page)
{
    m_pages[page->mode()] = page;
    m_centres->addWidget(page->centre());
    if (page->top() != nullptr) {
        m_tops->addWidget(page->top());
        watch(page->top());
    }
    for (PanelGroup* group : page->centre()->findChildren<PanelGroup*>())
        watch(group);
    if (auto* group = qobject_cast<PanelGroup*>(page->centre()))
        watch(group);
}

Panel* Workbench::find(const QString& name) const
{
    const auto it = std::find_if(m_panels.begin(), m_panels.end(), [&](const Panel* p) { return p->objectName() == name; });
    return it == m_panels.end() ? nullptr : *it;
}

/// The present one for what all modes have.
WorkMode Workbench::modeOf(const Panel* panel) const
{
    for (const auto& [mode, page] : m_pages)
        if (panel->home() != nullptr
            && (panel->home() == page->top() || panel->home() == page->centre() || page->centre()->isAncestorOf(panel->home())))
            return mode;
    for (const auto& [mode, group] : m_asked)
        if (panel->home() == group)
            return mode;
    for (const auto& [mode, own] : m_rightOf)
        if (panel == own)
            return mode;
    return m_mode;
}

void Workbench::raise(const QString& name)
{
    Panel* panel = find(name);
    if (panel == nullptr)
        return;
    for (const auto& [other, show] : m_elsewhere)
        if (other != panel)
            show(false);
    if (const auto it = m_elsewhere.find(panel); it != m_elsewhere.end()) {
        it->second(true);
        return;
    }
    setMode(modeOf(panel));
    if (panel->group() == nullptr && panel->home() != nullptr)
        panel->home()->add(panel);
    if (m_maximized != nullptr && m_maximized->group() != panel->group())
        restoreMaximized();
    if (panel->group() != nullptr)
        panel->group()->setCurrent(panel);
    if (m_drawer)
        openDrawer(panel->group() == m_right);
}

void Workbench::close(Panel* panel)
{
    if (!panel->isOptional() || panel->group() == nullptr)
        return;
    restoreMaximized();
    panel->group()->remove(panel);
}

void Workbench::toggleMaximized(Panel* panel)
{
    const bool same =
        m_maximized != nullptr && panel != nullptr && m_maximized->group() == panel->group(); // whichever tab it shows
    restoreMaximized();
    if (same || panel == nullptr || panel->group() == nullptr)
        return;
    m_maximized = panel;
    panel->group()->setCurrent(panel);
    if (m_drawer && panel->group() == m_right) {
        placeDrawer();
        focusPanel(panel);
        return;
    }
    if (m_drawer && m_drawerOpen)
        openDrawer(false);
    for (QWidget* at = panel->group(); at != nullptr && at != this; at = at->parentWidget())
        if (auto* around = qobject_cast<QSplitter*>(at->parentWidget()))
            for (int i = 0; i < around->count(); ++i)
                if (QWidget* other = around->widget(i); other != at && !other->isHidden()) {
                    other->hide();
                    m_putAway.emplace_back(other);
                }
    focusPanel(panel); // its keys, and the one that brings the others back
}

void Workbench::restoreMaximized()
{
    if (m_maximized == nullptr)
        return;
    m_maximized = nullptr;
    for (const QPointer<QWidget>& widget : std::exchange(m_putAway, {}))
        if (widget)
            widget->show();
    if (std::exchange(m_sizeLater, false)) {
        fit();
        sizePage();
    }
    if (m_drawer)
        placeDrawer();
}

void Workbench::maximizeFocused()
{
    if (m_maximized != nullptr) {
        restoreMaximized();
        return;
    }
    for (QWidget* at = QApplication::focusWidget(); at != nullptr; at = at->parentWidget()) {
        if (auto* group = qobject_cast<PanelGroup*>(at)) {
            toggleMaximized(group->current());
            return;
        }
    }
}

void Workbench::focusNext(bool back)
{
    std::vector<Panel*> seen;
    for (Panel* panel : m_panels)
        if (panel->isVisible() && isAncestorOf(panel))
            seen.push_back(panel);
    if (seen.empty())
        return;
    const auto place = [this](const Panel* panel) {
        const QPoint at = panel->mapTo(this, QPoint());
        return std::pair(at.x(), at.y());
    };
    std::sort(seen.begin(), seen.end(), [&](const Panel* a, const Panel* b) { return place(a) < place(b); });
    const QWidget* focused = QApplication::focusWidget();
    const auto now = std::find_if(seen.begin(), seen.end(), [focused](const Panel* panel) {
        return focused != nullptr && (panel->isAncestorOf(focused) || (panel->group() && panel->group()->isAncestorOf(focused)));
    });
    const auto count = static_cast<std::ptrdiff_t>(seen.size());
    const std::ptrdiff_t next =
        now == seen.end() ? (back ? count - 1 : 0) : ((now - seen.begin()) + (back ? count - 1 : 1)) % count;
    Panel* panel = seen[static_cast<std::size_t>(next)];
    focusPanel(panel);
}

/// Where the focus was in it, or else its first field.
void Workbench::focusPanel(Panel* panel)
{
    if (panel->isAncestorOf(QApplication::focusWidget()))
        return;
    if (QWidget* before = panel->focusWidget(); before != nullptr && before->isVisible() && before->isEnabled()) {
        before->setFocus(Qt::ShortcutFocusReason);
        return;
    }
    for (QWidget* child : panel->findChildren<QWidget*>())
        if ((child->focusPolicy() & Qt::TabFocus) && child->isVisible() && child->isEnabled()) {
            child->setFocus(Qt::ShortcutFocusReason);
            return;
        }
    // One that only shows something: its tab, or it itself, so that the keys go on from there.
    if (panel->group() != nullptr && panel->group()->tabs()->isVisible())
        panel->group()->tabs()->setFocus(Qt::ShortcutFocusReason);
    else
        panel->setFocus(Qt::ShortcutFocusReason);
}

std::vector<PanelGroup*> Workbench::groups() const { return m_watched; }

void Workbench::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    if (isVisible())
        fit();
}

void Workbench::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    fit();
}

/// Panels that are narrower than their usual size for the present text get that.
void Workbench::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange && m_fitted)
        QMetaObject::invokeMethod(
            this,
            [this] {
                m_sizeLater = m_maximized != nullptr; // the others are put away
                if (m_sizeLater)
                    return;
                fit();
                sizePage();
            },
            Qt::QueuedConnection);
}

void Workbench::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape && m_maximized != nullptr)
        restoreMaximized();
    else if (event->key() == Qt::Key_Escape && m_drawer && m_drawerOpen)
        openDrawer(false);
    else
        QWidget::keyPressEvent(event);
}

} // namespace shardboard
