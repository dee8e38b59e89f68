// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/modes/deliverpage.h"

#include "app/desktop/export/exportpanel.h"
#include "app/desktop/export/targetstates.h"
#include "app/desktop/panels/panelgroup.h"

namespace shardboard {

DeliverPage::DeliverPage(Panel* files, Panel* names, ExportPanel* exporter, TargetStates* targets, QObject* parent)
    : ModePage(WorkMode::Deliver, parent)
    , m_exporter(exporter)
    , m_targets(targets)
{
    auto* group = new PanelGroup(QStringLiteral("deliverGroup"), tr("Files and names"));
    group->add(files);
    group->add(names);
    setCentre(group);
    connect(exporter, &ExportPanel::changed, this, &DeliverPage::actChanged);
}

void DeliverPage::arrange(const QSize&) { } // one place has all the room

ModePage::Act DeliverPage::act() const
{
    return { tr("Export"),
             {},
             tr("Write the layout for %1, with shards.json").arg(QString::fromStdString(m_targets->currentTarget().title)),
             m_exporter->canExport(),
             m_exporter->whyNot(),
             false };
}

void DeliverPage::perform() { m_exporter->requestExport(); }
void DeliverPage::stop() { }

} // namespace shardboard
