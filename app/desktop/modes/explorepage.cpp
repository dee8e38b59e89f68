// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/modes/explorepage.h"

#include "app/desktop/modes/presetsearch.h"
#include "app/desktop/panels/panelgroup.h"
#include "model/session/document.h"
#include "widgets/compare/compareview.h"

#include <QSplitter>

namespace shardboard {

ExplorePage::ExplorePage(Document* document, Panel* variants, Panel* compare, CompareView* comparison, QObject* parent)
    : ModePage(WorkMode::Explore, parent)
    , m_document(document)
    , m_search(new PresetSearch(this))
    , m_all(splitter(Qt::Vertical, "exploreSplitter"))
{
    const auto alone = [this](Panel* panel, const char* name, const QString& title) {
        auto* group = new PanelGroup(QLatin1String(name), title);
        group->add(panel);
        m_all->addWidget(group);
    };
    alone(variants, "variantsGroup", tr("Variants"));
    alone(compare, "compareGroup", tr("Differences"));
    setCentre(m_all);
    connect(m_search, &PresetSearch::found, comparison, &CompareView::addVariant);
    connect(m_search, &PresetSearch::changed, this, &ExplorePage::actChanged);
    connect(document, &Document::evaluated, this, &ExplorePage::followDesign);
    connect(document, &Document::opened, m_search, &PresetSearch::stop);
}

/// A search is of the design that it began with.
void ExplorePage::followDesign()
{
    if (m_search->isBusy()) { // whoever opens another design clears the message
        m_search->stop();
        Q_EMIT told(tr("The search was stopped, because the design has changed. What it found is for the design before; start it "
                       "again for this one."));
    }
    Q_EMIT actChanged();
}

void ExplorePage::arrange(const QSize& room) { m_all->setSizes({ room.height() * 45 / 100, room.height() * 55 / 100 }); }

ModePage::Act ExplorePage::act() const
{
    const bool open = m_document->hasDesign();
    const bool graph = open && m_document->design().model.hasGraph();
    return { tr("Try Presets"),
             {},
             tr("Try every preset and what of them can be combined on this mesh, and keep each as a variant"),
             graph,
             open ? tr("this design has no plan to optimize") : tr("no design is open"),
             m_search->isBusy() };
}

void ExplorePage::perform()
{
    if (act().can)
        m_search->start(m_document->design());
}

void ExplorePage::stop() { m_search->stop(); }

} // namespace shardboard
