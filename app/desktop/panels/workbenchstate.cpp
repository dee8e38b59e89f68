// SPDX-License-Identifier: Apache-2.0
// How the workbench was left, as bytes, and back; and how it is at first.
#include "app/desktop/panels/workbench.h"

#include "app/desktop/panels/modepage.h"
#include "app/desktop/panels/panel.h"
#include "app/desktop/panels/panelgroup.h"

#include <QJsonDocument>
#include <QSplitter>
#include <QTabBar>

namespace shardboard {

namespace {

constexpr int kLayoutVersion = 9; // raise it when panels are added, renamed or removed

} // namespace

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
    m_unfolded.clear();
    m_arranged.clear();
    for (PanelGroup* group : groups())
        if (!group->isEmpty())
            group->setCurrent(group->panels().front());
    m_mode = WorkMode::Design;
    m_drawerOpen = false;
    placeUnfolded();
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
    out[QStringLiteral("low")] = m_low; // the sizes are those of its parts
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
    QJsonObject unfolded;
    for (const auto& [mode, panels] : m_unfolded)
        unfolded[modeId(mode)] = panels;
    unfolded[modeId(m_mode)] = unfoldedNow();
    out[QStringLiteral("unfolded")] = unfolded;
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
    const bool low = kept.value(QStringLiteral("low")).toBool();
    if (!m_fitted)
        m_low = low;
    for (const auto& [mode, shown] : m_pages) {
        const QJsonValue top = kept.value(QStringLiteral("tops")).toObject().value(modeId(mode));
        if (top.toInt() >= 40)
            m_topSizes[mode] = top.toInt();
        if (const QJsonValue unfolded = kept.value(QStringLiteral("unfolded")).toObject().value(modeId(mode)); unfolded.isObject())
            m_unfolded[mode] = unfolded.toObject();
        const QJsonValue left = kept.value(QStringLiteral("asked")).toObject().value(modeId(mode));
        if (left.isString())
            m_leftSizes[mode] = bytes(left);
        for (QSplitter* one : splittersOf(mode)) {
            const QJsonValue sizes = kept.value(QStringLiteral("splitters")).toObject().value(one->objectName());
            if (low == m_low && sizes.isString() && one->restoreState(bytes(sizes)))
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
    placeUnfolded(); // before the mode changes, which keeps what is unfolded
    for (const WorkMode mode : kWorkModes)
        if (modeId(mode) == kept.value(QStringLiteral("mode")).toString())
            setMode(mode);
    sizePage();
    if (m_drawer)
        placeDrawer(); // a panel that comes back into it does not open it
    return true;
}

} // namespace shardboard
