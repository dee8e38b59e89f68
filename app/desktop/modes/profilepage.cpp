// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/modes/profilepage.h"

#include "app/desktop/modes/runact.h"
#include "app/desktop/panels/panelgroup.h"

#include <QSplitter>

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
    for (Panel* panel : { panels.cost, panels.errors, panels.run })
        costs->add(panel);
    m_all->addWidget(costs);
    setCentre(m_all);
    connect(act, &RunAct::changed, this, &ProfilePage::actChanged);
}

void ProfilePage::arrange(const QSize& room) { m_all->setSizes({ room.width() }); }

ModePage::Act ProfilePage::act() const { return m_run->act(); }
void ProfilePage::perform() { m_run->perform(); }
void ProfilePage::stop() { m_run->stop(); }

} // namespace shardboard
