// SPDX-License-Identifier: Apache-2.0
// The flow of a plan: one segment with its operations and collectives, the others of its phase folded; found, walked through and
// played. What is walked to is selected, so that every view shows it; the player says what moves meanwhile.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/flow/flowscene.h"

class QLabel;
class QMenu;

namespace shardboard {

class ChoiceBox;
class ElidedLabel;
class FindField;
class FlowCanvas;
class FlowTransport;
class HeaderField;
class Legend;
class PlanPlayer;
class ViewHeader;
struct PlanStep;

class FlowView : public DocumentView {
    Q_OBJECT
public:
    explicit FlowView(Document* document, QWidget* parent = nullptr);
    FlowCanvas* canvas() const { return m_canvas; }
    Legend* legend() const { return m_legend; }
    PlanPlayer* player() const { return m_player; }
    PlannedSegmentId segment() const { return m_segment; }
    /// What can be done with an item of the canvas, -1: with none of them.
    void fillMenu(QMenu* menu, int item);

public Q_SLOTS:
    void showSegment(PlannedSegmentId plannedSegment); ///< unfolds it
    void stepCollective(int by); ///< walks to the collective before or after the selected one
    void focusFilter();
    /// The next step, or the one before, that has what is searched for; whichever segment it is in.
    void findNext(bool back);

protected:
    void refresh() override;
    void selectionChanged() override;
    void weightHoverChanged() override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void giveWay();
    void fitLegend();
    PlannedSegmentId segmentOfSelection() const;
    void revealSelection();
    void fillSegments();
    void showPhase(int phase);
    void showStep();
    void selectStep(const PlanStep& step);
    int itemOf(const PlanStep& step) const;
    int stepOfItem(const FlowItem& item) const;
    void search();
    void showHeader();

    ViewHeader* m_header;
    FindField* m_find;
    HeaderField* m_findRoom = nullptr;
    ChoiceBox* m_phase; ///< hidden where there is one phase only
    ChoiceBox* m_choice; ///< segments of the phase
    ChoiceBox* m_thickness; ///< of the lines: bytes or time
    FlowCanvas* m_canvas;
    Mesh m_mesh; ///< that the scene of the canvas is of: a hidden view keeps it while the design gets another
    PlanPlayer* m_player;
    QWidget* m_foot; ///< the residual stream and the legend; gives way in a low view
    ElidedLabel* m_residual;
    Legend* m_legend;
    FlowTransport* m_transport;
    QLabel* m_empty;
    std::shared_ptr<const Evaluation> m_evaluation; ///< whose steps the player has
    QString m_name; ///< of the unfolded segment, with its phase
    PlannedSegmentId m_segment;
    bool m_stepping = false; ///< the selection is being made by a step
};

} // namespace shardboard
