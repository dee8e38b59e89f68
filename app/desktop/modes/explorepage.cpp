// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/modes/explorepage.h"

#include "app/desktop/panels/panelgroup.h"
#include "model/session/document.h"
#include "widgets/compare/compareview.h"
#include "widgets/explore/designsview.h"
#include "widgets/explore/exploresearch.h"
#include "widgets/explore/pricesview.h"
#include "widgets/explore/searchform.h"

#include <QScopeGuard>
#include <QSplitter>

#include <algorithm>
#include <utility>

namespace shardboard {

ExplorePage::ExplorePage(Document* document, ExploreSearch* search, const Views& views, QObject* parent)
    : ModePage(WorkMode::Explore, parent)
    , m_document(document)
    , m_search(search)
    , m_views(views)
    , m_upper(splitter(Qt::Horizontal, "exploreUpperSplitter"))
    , m_all(splitter(Qt::Vertical, "exploreSplitter"))
{
    const auto alone = [](Panel* panel, const char* name, const QString& title, QSplitter* in) {
        auto* group = new PanelGroup(QLatin1String(name), title);
        group->add(panel);
        in->addWidget(group);
        return group;
    };
    PanelGroup* tried = alone(views.designs, "designsGroup", tr("Designs tried"), m_upper);
    PanelGroup* searched = alone(views.search, "searchGroup", tr("Search"), m_upper);
    m_upper->setStretchFactor(0, 1);
    m_all->addWidget(m_upper);
    PanelGroup* variants = alone(views.variants, "variantsGroup", tr("Variants"), m_all);
    auto* below = new PanelGroup(QStringLiteral("compareGroup"), tr("Differences and sweeps"));
    for (Panel* panel : views.below)
        below->add(panel);
    m_all->addWidget(below);
    fold(searched, tried);
    fold(variants, below, Fold::Low);
    setCentre(m_all);
    connectViews();
}

void ExplorePage::connectViews()
{
    connect(m_search, &ExploreSearch::changed, this, &ExplorePage::actChanged);
    connect(m_search, &ExploreSearch::opened, this, &ExplorePage::takeIn);
    connect(m_search, &ExploreSearch::found, this, &ExplorePage::takeFound);
    connect(m_search, &ExploreSearch::refused, this, &ExplorePage::told);
    connect(m_document, &Document::opened, m_search, &ExploreSearch::clear);
    connect(m_document, &Document::evaluated, this, &ExplorePage::showCompared);
    connect(m_views.comparison, &CompareView::chosenChanged, this, &ExplorePage::showCompared);
    connect(m_views.comparison, &CompareView::othersChanged, this, &ExplorePage::showCompared);
    connect(m_views.comparison, &CompareView::hoveredChanged, this,
            [this](int variant) { m_views.tried->setHovered(pointOf(variant)); });
    const auto asked = [this] {
        m_views.prices->setMemory(m_views.form->request().memoryBytes);
        m_views.tried->setAsked(requestText(m_views.form->request()), m_views.form->whyNot().isEmpty());
        Q_EMIT actChanged();
    };
    connect(m_views.form, &SearchForm::edited, this, asked);
    asked();
    connect(m_views.form, &SearchForm::restartWanted, this, &ExplorePage::perform);
    connect(m_views.tried, &DesignsView::searchWanted, this, &ExplorePage::perform);
    connect(m_views.tried, &DesignsView::limitDragged, m_views.form, &SearchForm::setMemory);
    connect(m_views.tried, &DesignsView::hovered, this,
            [this](int point) { m_views.comparison->setHovered(point < 0 ? CompareView::kNoVariant : variantOf(point)); });
    connect(m_views.tried, &DesignsView::chosen, this,
            [this](int point, bool asA) { want(point, asA ? Wish::CompareAsA : Wish::CompareAsB); });
    connect(m_views.prices, &PricesView::found, this,
            [this](const QString& name, const Design& design, const std::shared_ptr<const Evaluation>& evaluation) {
                m_views.comparison->addVariant(name, design, evaluation);
                const auto& others = m_views.comparison->others(); // one of that name was replaced in its place
                const auto at =
                    std::find_if(others.begin(), others.end(), [&](const auto& other) { return other.evaluation == evaluation; });
                if (at != others.end())
                    m_views.comparison->chooseShown(static_cast<int>(at - others.begin()));
            });
    connect(m_views.tried, &DesignsView::activated, this, [this](int point) { want(point, Wish::Take); });
}

/// The two that are compared have flags among the designs that were tried.
void ExplorePage::showCompared()
{
    std::vector<ComparedDesign> out;
    const CompareView& comparison = *m_views.comparison;
    if (m_document->hasDesign() && comparison.otherCount() > 0) // of a design that is just opened there are none yet
        for (const auto& [variant, letter] :
             { std::pair(comparison.chosen(), QStringLiteral("A")), std::pair(comparison.shown(), QStringLiteral("B")) }) {
            const CompareView::Side side = comparison.side(variant);
            const Plan& plan = side.evaluation.plan;
            out.push_back({ plan.seconds(), static_cast<double>(plan.memory.least), letter, side.name });
        }
    m_views.tried->setCompared(std::move(out));
}

int ExplorePage::variantOf(int point) const
{
    const TriedDesign& tried = m_search->tried()[static_cast<std::size_t>(point)];
    const auto& others = m_views.comparison->others();
    const auto at = std::find_if(others.begin(), others.end(), [&](const CompareView::Other& other) {
        return other.design.mesh == tried.mesh && other.design.workload == tried.workload && other.design.pipeline == tried.pipeline
            && other.evaluation->plan.seconds() == tried.seconds
            && static_cast<double>(other.evaluation->plan.memory.least) == tried.leastBytes;
    });
    return at == others.end() ? CompareView::kNoVariant : static_cast<int>(at - others.begin());
}

int ExplorePage::pointOf(int variant) const
{
    const auto count = static_cast<int>(m_search->tried().size());
    for (int point = 0; variant >= 0 && point < count; ++point) {
        const TriedDesign& tried = m_search->tried()[static_cast<std::size_t>(point)];
        const CompareView::Other& other = m_views.comparison->others()[static_cast<std::size_t>(variant)];
        if (other.evaluation->plan.seconds() == tried.seconds && other.design.mesh == tried.mesh
            && static_cast<double>(other.evaluation->plan.memory.least) == tried.leastBytes)
            return point;
    }
    return -1;
}

/// Compares or takes a design that was tried; it becomes a variant first, as soon as it is evaluated.
void ExplorePage::want(int point, Wish wish)
{
    if (point < 0)
        return;
    m_wish = wish;
    if (const int variant = variantOf(point); variant != CompareView::kNoVariant) {
        const auto& known = m_views.comparison->others()[static_cast<std::size_t>(variant)];
        takeIn(point, known.name, Design(known.design), known.evaluation);
    } else {
        m_search->open(point);
    }
}

void ExplorePage::takeIn(int point, const QString& name, const Design& design, std::shared_ptr<const Evaluation> evaluation)
{
    CompareView* comparison = m_views.comparison;
    int variant = variantOf(point);
    if (variant == CompareView::kNoVariant) {
        comparison->addVariant(name, design, std::move(evaluation));
        variant = variantOf(point);
    }
    if (variant == CompareView::kNoVariant)
        return; // plans of a design with findings are those of one without: it is there
    const Wish wish = std::exchange(m_wish, Wish::Nothing);
    if (wish == Wish::CompareAsA)
        comparison->chooseOther(variant);
    else if (wish == Wish::CompareAsB)
        comparison->chooseShown(variant);
    else if (wish == Wish::Take) {
        m_views.form->ignoreEdit(true);
        const auto asked = qScopeGuard([this] { m_views.form->ignoreEdit(false); });
        comparison->take(variant);
    }
}

/// Of a search that is over. The best is compared with the design as it is now, unless somebody compares others.
void ExplorePage::takeFound(const QString& name, const Design& design, std::shared_ptr<const Evaluation> evaluation)
{
    CompareView* comparison = m_views.comparison;
    const std::shared_ptr<const Evaluation> added = evaluation;
    comparison->addVariant(name, design, std::move(evaluation));
    if (!std::exchange(m_firstFound, false) || comparison->shown() >= 0)
        return;
    const auto& others = comparison->others();
    const auto at = std::find_if(others.begin(), others.end(), [&](const auto& other) { return other.evaluation == added; });
    comparison->chooseOther(-1);
    comparison->chooseShown(static_cast<int>(at - others.begin()));
}

void ExplorePage::arrange(const QSize& room)
{
    const int upper = std::min(360, room.height() * 42 / 100);
    const int variants = (room.height() - upper) * 42 / 100;
    m_all->setSizes({ upper, variants, room.height() - upper - variants });
    m_upper->setSizes({ room.width() * 65 / 100, room.width() * 35 / 100 });
}

ModePage::Act ExplorePage::act() const
{
    const QString why = m_views.form->whyNot();
    return { tr("Optimize"), {},  tr("Search for a better design, as the form at the left asks"),
             why.isEmpty(),  why, m_search->isBusy() };
}

void ExplorePage::perform()
{
    if (!act().can)
        return;
    m_firstFound = true;
    m_search->start(m_document->design(), m_views.form->request());
}

void ExplorePage::stop() { m_search->stop(); }

} // namespace shardboard
