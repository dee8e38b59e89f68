// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/panels/workbench.h"

#include "app/desktop/panels/modepage.h"
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/panelgroup.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/theme.h"

#include <QApplication>
#include <QJsonDocument>
#include <QKeyEvent>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

constexpr int kLayoutVersion = 8; // raise it when panels are added, renamed or removed
constexpr int kCompactWidth = 1400; ///< below, columns are narrower and groups become tabs
constexpr int kDrawerWidth = 1100; ///< below, the right column is a drawer

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
    m_mode = mode;
    sizePage();
    setUpdatesEnabled(updates);
    if (inside && !focused->isVisible())
        focusMode();
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

void Workbench::sizeColumns()
{
    const double scale = std::min(textScale(this), std::clamp(width() * 0.5 / 528, 1.0, 1.5));
    const int left = m_leftWidth > 0 ? m_leftWidth : static_cast<int>((m_compact ? 248 : 310) * scale);
    const int right = m_rightWidth > 0 ? m_rightWidth : static_cast<int>((m_compact ? 280 : 340) * scale);
    m_columns->setSizes({ left, std::max(1, width() - left - 1) });
    if (!m_drawer)
        m_lower->setSizes({ std::max(1, m_body->width() - right - 1), right });
}

/// To the window's size: what gives way does, or comes back.
void Workbench::fit()
{
    const bool compact = width() < kCompactWidth;
    const bool drawer = width() < kDrawerWidth;
    const bool changed = compact != m_compact || drawer != m_drawer || !m_fitted;
    m_compact = compact;
    if (changed) {
        restoreMaximized();
        for (const auto& [mode, shown] : m_pages)
            for (const auto& [group, into] : shown->folds())
                for (Panel* panel : m_panels)
                    if (panel->home() == group && panel->group() != nullptr)
                        (compact ? into : group)->add(panel);
    }
    if (drawer != m_drawer) {
        m_drawer = drawer;
        m_drawerOpen = false;
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
    if (std::exchange(m_sizeLater, false))
        sizePage();
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
    if (panel->group() != nullptr)
        panel->group()->tabs()->setFocus(Qt::ShortcutFocusReason);
}

std::vector<PanelGroup*> Workbench::groups() const { return m_watched; }

std::vector<QSplitter*> Workbench::splittersOf(WorkMode mode) const
{
    std::vector<QSplitter*> out;
    QWidget* centre = m_pages.at(mode)->centre();
    if (auto* outer = qobject_cast<QSplitter*>(centre))
        out.push_back(outer);
    for (QSplitter* one : centre->findChildren<QSplitter*>())
        out.push_back(one);
    std::erase_if(out, [](const QSplitter* one) { return one->objectName().isEmpty(); });
    return out;
}

void Workbench::reset()
{
    restoreMaximized();
    for (const auto& [panel, show] : m_elsewhere)
        show(false);
    for (Panel* panel : m_panels)
        if (panel->isOptional() && panel->group() != nullptr)
            panel->group()->remove(panel);
    m_leftWidth = 0;
    m_rightWidth = 0;
    m_leftSizes.clear();
    m_topSizes.clear();
    m_arranged.clear();
    for (PanelGroup* group : groups())
        if (!group->isEmpty())
            group->setCurrent(group->panels().front());
    m_mode = WorkMode::Design;
    m_drawerOpen = false;
    sizePage();
    if (m_drawer)
        placeDrawer();
    Q_EMIT modeChanged(m_mode);
}

QByteArray Workbench::save() const
{
    const auto text = [](const QByteArray& state) { return QString::fromLatin1(state.toBase64()); };
    QJsonObject out;
    out[QStringLiteral("version")] = kLayoutVersion;
    out[QStringLiteral("mode")] = modeId(m_mode);
    out[QStringLiteral("left")] = m_leftWidth;
    out[QStringLiteral("right")] = m_rightWidth;
    QJsonObject splitters;
    QJsonObject tops;
    QJsonObject lefts;
    for (const auto& [mode, shown] : m_pages) {
        if (const auto it = m_arranged.find(mode); it != m_arranged.end() && it->second)
            for (const QSplitter* one : splittersOf(mode))
                splitters[one->objectName()] = text(one->saveState());
        if (const auto it = m_topSizes.find(mode); it != m_topSizes.end())
            tops[modeId(mode)] = it->second;
        if (const auto it = m_leftSizes.find(mode); it != m_leftSizes.end())
            lefts[modeId(mode)] = text(it->second);
    }
    out[QStringLiteral("splitters")] = splitters;
    out[QStringLiteral("tops")] = tops;
    out[QStringLiteral("asked")] = lefts;
    QJsonObject tabs;
    QJsonObject open;
    for (const PanelGroup* group : groups())
        if (const Panel* panel = group->current())
            tabs[group->objectName()] = panel->objectName();
    for (const Panel* panel : m_panels)
        if (panel->isOptional())
            open[panel->objectName()] = panel->group() != nullptr;
    out[QStringLiteral("tabs")] = tabs;
    out[QStringLiteral("open")] = open;
    return QJsonDocument(out).toJson(QJsonDocument::Compact);
}

bool Workbench::restore(const QByteArray& state)
{
    reset();
    const QJsonObject kept = QJsonDocument::fromJson(state).object();
    if (kept.value(QStringLiteral("version")).toInt() != kLayoutVersion)
        return false;
    const auto bytes = [](const QJsonValue& value) { return QByteArray::fromBase64(value.toString().toLatin1()); };
    const auto width = [&kept](const char* key) {
        const int pixels = kept.value(QLatin1String(key)).toInt();
        return pixels >= 100 && pixels <= 1200 ? pixels : 0;
    };
    m_leftWidth = width("left");
    m_rightWidth = width("right");
    for (const auto& [mode, shown] : m_pages) {
        const QJsonValue top = kept.value(QStringLiteral("tops")).toObject().value(modeId(mode));
        if (top.toInt() >= 40)
            m_topSizes[mode] = top.toInt();
        const QJsonValue left = kept.value(QStringLiteral("asked")).toObject().value(modeId(mode));
        if (left.isString())
            m_leftSizes[mode] = bytes(left);
        for (QSplitter* one : splittersOf(mode)) {
            const QJsonValue sizes = kept.value(QStringLiteral("splitters")).toObject().value(one->objectName());
            if (sizes.isString() && one->restoreState(bytes(sizes)))
                m_arranged[mode] = true;
        }
    }
    const QJsonObject open = kept.value(QStringLiteral("open")).toObject();
    for (Panel* panel : m_panels)
        if (panel->isOptional() && panel->home() != nullptr && open.value(panel->objectName()).toBool())
            panel->home()->add(panel);
    const QJsonObject tabs = kept.value(QStringLiteral("tabs")).toObject();
    for (PanelGroup* group : groups())
        if (Panel* panel = find(tabs.value(group->objectName()).toString()))
            group->setCurrent(panel); // none of another group
    for (const WorkMode mode : kWorkModes)
        if (modeId(mode) == kept.value(QStringLiteral("mode")).toString())
            setMode(mode);
    sizePage();
    if (m_drawer)
        placeDrawer(); // a panel that comes back into it does not open it
    return true;
}

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
                if (!m_sizeLater)
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
