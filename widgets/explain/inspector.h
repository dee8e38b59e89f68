// SPDX-License-Identifier: Apache-2.0
// Explains what is selected: what it is, why it is so, what else was possible and at what price, what is wrong with it.
#pragma once

#include "model/design/explain/explain.h"
#include "widgets/document/documentview.h"
#include "widgets/document/findingplace.h"
#include "widgets/explain/inspectorpage.h"

#include <QFont>
#include <QPalette>
#include <QPointer>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class QScrollArea;
class QTimer;

namespace shardboard {

class LatestJob;
class ViewHeader;
struct Alternative;

class InspectorPanel : public DocumentView {
    Q_OBJECT
public:
    explicit InspectorPanel(Document* document, QWidget* parent = nullptr);
    /// Whether the reason is unfolded, on every page.
    bool isWhyOpen() const { return m_whyOpen; }
    void setWhyOpen(bool open) { m_whyOpen = open; }
    QSize sizeHint() const override;
    /// Builds the page now instead of when the event loop is idle, with all alternatives evaluated (pictures and tests).
    void buildNow();

Q_SIGNALS:
    /// The strategy of the selected weight is to be written.
    void strategyRequested();
    /// All rows of what is selected are to be seen.
    void explanationRequested();
    /// A pin that is a cause was clicked: index into Design::pins.
    void pinNamed(int pin);
    /// A finding about pins, rules or memory was clicked: it stands in another view.
    void placeChosen(const FindingPlace& place);

protected:
    void refresh() override;
    void selectionChanged() override;
    void showEvent(QShowEvent* event) override;

private:
    void later();
    InspectorPage* pageToDescribe();
    void layOut();
    void showPage(InspectorPage* page, bool otherThing);
    void build(bool wait);
    void designPage(InspectorPage& page, bool wait);
    void weightPage(InspectorPage& page, const WeightLayout& weight, bool wait);
    void collectivePage(InspectorPage& page, const Collective& collective, bool wait);
    void weightFacts(InspectorPage& page, const WeightLayout& weight);
    void weightReason(InspectorPage& page, const WeightLayout& weight);
    bool whySection(InspectorPage& page);
    void rulesReason(InspectorPage& page, const WeightLayout& weight);
    void weightChoices(InspectorPage& page, bool wait);
    std::pair<QString, QString> alternativeTexts(const Alternative& choice, const Alternative& current) const;
    void offer(Card* card, const Alternative& choice);
    void askForAlternatives(const std::vector<Alternative>& candidates, int weight);
    void fillAlternatives();
    void operationPage(InspectorPage& page, const PlannedOp& planned, bool wait);
    void explanation(InspectorPage& page, const ExplainTarget& target, bool wait);
    std::shared_ptr<const Explanation> explained(const ExplainTarget& target, bool wait);
    void rows(InspectorPage& page, const Explanation& why, const AxisExplanation& axis);
    void findings(InspectorPage& page, const std::vector<std::string>& wheres, bool wait);
    void addRepair(Card& card, const Repair& repair, const QString& effect);
    QString effectOfRepair(const Repair& repair, bool wait);
    void askForRepairs();
    void apply(const Design& design, const QString& text);

    ViewHeader* m_header;
    QScrollArea* m_scroll;
    QTimer* m_timer;
    InspectorPage* m_page = nullptr; ///< in the scroll area
    QPalette m_palette; ///< with which it was made
    QFont m_font;
    LatestJob* m_evaluating; ///< what else the weight could be
    std::shared_ptr<const std::vector<Alternative>> m_alternatives; ///< null until they are evaluated
    std::shared_ptr<const Evaluation> m_alternativesOf; ///< of what the alternatives were asked for
    int m_alternativesWeight = -1;
    std::vector<QPointer<Card>> m_waiting; ///< of alternatives whose numbers are not there yet, without the current one
    Notation m_alternativesNotation = Notation::Jax;
    QString m_refusal;
    bool m_whyOpen = true;
    LatestJob* m_explaining; ///< what the rows of an operation would do if they were pinned
    std::shared_ptr<const Evaluation> m_explainedOf;
    std::string m_explainedTarget;
    std::shared_ptr<const Explanation> m_explained; ///< with effects; null until they are there
    LatestJob* m_repairing; ///< what repairs would do
    std::shared_ptr<const Evaluation> m_repairedOf;
    std::map<std::string, QString> m_repairEffects; ///< by the repair's text
    std::vector<Repair> m_unknownRepairs; ///< of the page that is being built
};

} // namespace shardboard
