// SPDX-License-Identifier: Apache-2.0
// Explore: a search for better designs, what it tried, variants of the design, and what two of them differ in. Its act is the
// search; what it finds becomes a variant when it is compared or taken, and the front when the search is over.
#pragma once

#include "app/desktop/panels/modepage.h"

#include "model/design/evaluation.h"

#include <memory>

namespace shardboard {

class CompareView;
class DesignsView;
class Document;
class ExploreSearch;
class PricesView;
class SearchForm;
struct Design;

class ExplorePage : public ModePage {
    Q_OBJECT
public:
    struct Views {
        Panel* designs;
        Panel* search;
        Panel* variants;
        std::vector<Panel*> below; ///< Differences, Sweeps, What It Takes
        SearchForm* form;
        DesignsView* tried;
        PricesView* prices;
        CompareView* comparison;
    };
    ExplorePage(Document* document, ExploreSearch* search, const Views& views, QObject* parent);
    void arrange(const QSize& room) override;
    Act act() const override;
    void perform() override;
    void stop() override;

Q_SIGNALS:
    void told(const QString& message); ///< what became of a search

private:
    enum class Wish { Nothing, CompareAsA, CompareAsB, Take };
    void connectViews();
    void showCompared();
    void want(int point, Wish wish);
    void takeIn(int point, const QString& name, const Design& design, std::shared_ptr<const Evaluation> evaluation);
    void takeFound(const QString& name, const Design& design, std::shared_ptr<const Evaluation> evaluation);
    int variantOf(int point) const;
    int pointOf(int variant) const;

    Document* m_document;
    ExploreSearch* m_search;
    Views m_views;
    QSplitter* m_upper;
    QSplitter* m_all;
    Wish m_wish = Wish::Nothing; ///< what the design that is opened is for
    bool m_firstFound = false; ///< the next one that is found is the best
};

} // namespace shardboard
