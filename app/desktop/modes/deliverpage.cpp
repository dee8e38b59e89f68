// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/modes/deliverpage.h"

#include "app/desktop/export/exportpanel.h"
#include "app/desktop/panels/panelgroup.h"

namespace shardboard {

DeliverPage::DeliverPage(Panel* files, ExportPanel* exporter, QObject* parent)
    : ModePage(WorkMode::Deliver, parent)
    , m_exporter(exporter)
{
    auto* group = new PanelGroup(QStringLiteral("deliverGroup"), tr("Files"));
    group->add(files);
    setCentre(group);
    connect(exporter, &ExportPanel::changed, this, &DeliverPage::actChanged);
}

void DeliverPage::arrange(const QSize&) { } // one panel has all the room

ModePage::Act DeliverPage::act() const
{
    return { tr("Export"),         {},   tr("Write the layout for JAX, with shards.json"), m_exporter->canExport(),
             m_exporter->whyNot(), false };
}

void DeliverPage::perform() { m_exporter->requestExport(); }
void DeliverPage::stop() { }

} // namespace shardboard
