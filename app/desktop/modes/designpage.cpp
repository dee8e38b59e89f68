// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/modes/designpage.h"

#include "app/desktop/modes/runact.h"
#include "app/desktop/panels/panelgroup.h"

#include <QSplitter>

#include <algorithm>

namespace shardboard {

DesignPage::DesignPage(const Views& views, const RunAct* run, QObject* parent)
    : ModePage(WorkMode::Design, parent)
    , m_run(run)
    , m_upper(splitter(Qt::Horizontal, "upperSplitter"))
    , m_bench(splitter(Qt::Vertical, "benchSplitter"))
    , m_all(splitter(Qt::Vertical, "designSplitter"))
{
    const auto alone = [](Panel* panel, const char* name, QSplitter* in) {
        auto* group = new PanelGroup(QLatin1String(name), QString());
        group->add(panel);
        in->addWidget(group);
        return group;
    };
    alone(views.mesh, "meshGroup", m_upper);
    alone(views.tiles, "tilesGroup", m_upper);
    m_bench->addWidget(m_upper);
    m_flow = alone(views.flow, "flowGroup", m_bench);
    auto* below = new PanelGroup(QStringLiteral("designGroup"), tr("Tables of the design"));
    for (Panel* panel : views.below)
        below->add(panel);
    m_all->addWidget(m_bench);
    m_all->addWidget(below);
    fold(m_flow, below, Fold::Low);
    m_all->setStretchFactor(0, 1);
    setCentre(m_all);
    connect(run, &RunAct::changed, this, &DesignPage::actChanged);
}

void DesignPage::arrange(const QSize& room)
{
    const bool withFlow = m_flow->isEmpty(); // it is a tab among the tables
    const int below = withFlow ? room.height() * 54 / 100 : std::clamp(room.height() * 29 / 100, 170, 260);
    m_upper->setSizes({ room.width() * 2 / 5, room.width() * 3 / 5 });
    m_all->setSizes({ room.height() - below, below });
    m_bench->setSizes({ (room.height() - below) * 60 / 100, (room.height() - below) * 40 / 100 });
}

ModePage::Act DesignPage::act() const { return m_run->act(); }
void DesignPage::perform() { m_run->perform(); }
void DesignPage::stop() { m_run->stop(); }

} // namespace shardboard
