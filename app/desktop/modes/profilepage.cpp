// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/modes/profilepage.h"

#include "app/desktop/modes/runact.h"
#include "app/desktop/panels/panelgroup.h"

#include <QSplitter>

#include <algorithm>

namespace shardboard {

ProfilePage::ProfilePage(const Panels& panels, const RunAct* act, QObject* parent)
    : ModePage(WorkMode::Profile, parent)
    , m_run(act)
    , m_all(splitter(Qt::Horizontal, "profileSplitter"))
{
    constexpr int kTimeline = 380;
    auto* top = new PanelGroup(QStringLiteral("timelineGroup"), tr("Timeline"));
    top->add(panels.timeline);
    top->add(panels.memory); // its chart wants all the width
    setTop(top, kTimeline);
    auto* costs = new PanelGroup(QStringLiteral("costGroup"), tr("Predicted and measured"));
    for (Panel* panel : { panels.cost, panels.errors, panels.run, panels.twoRuns, panels.calibration })
        costs->add(panel);
    m_all->addWidget(costs);
    auto* work = new PanelGroup(QStringLiteral("workPlots"), tr("Plots of operations"));
    for (Panel* panel : panels.plotsOfWork)
        work->add(panel);
    auto* bytes = new PanelGroup(QStringLiteral("bytePlots"), tr("Plots of collectives and memory"));
    for (Panel* panel : panels.plotsOfBytes)
        bytes->add(panel);
    for (PanelGroup* group : { work, bytes }) {
        m_all->addWidget(group);
        fold(group, costs);
    }
    setCentre(m_all);
    connect(act, &RunAct::changed, this, &ProfilePage::actChanged);
}

void ProfilePage::arrange(const QSize& room)
{
    // The table of errors has its columns; plots are as wide as that leaves.
    const int plot = std::clamp((room.width() - 500) / 2, 200, 420);
    m_all->setSizes({ std::max(1, room.width() - 2 * plot - 2), plot, plot });
}

ModePage::Act ProfilePage::act() const { return m_run->act(); }
void ProfilePage::perform() { m_run->perform(); }
void ProfilePage::stop() { m_run->stop(); }

} // namespace shardboard
