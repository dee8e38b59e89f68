// SPDX-License-Identifier: Apache-2.0
// The operations of one planned segment with the collectives between them.
#pragma once

#include "widgets/documentview.h"

class QScrollArea;
class QToolButton;

namespace shardboard {

class ChoiceBox;
class FlowCanvas;

class FlowView : public DocumentView {
    Q_OBJECT
public:
    explicit FlowView(Document* document, QWidget* parent = nullptr);
    FlowCanvas* canvas() const { return m_canvas; }
    int segment() const { return m_segment; } ///< index into Plan::segments

public Q_SLOTS:
    void showSegment(int plannedSegment);
    void stepCollective(int by); ///< selects the collective before or after the selected one

protected:
    void refresh() override;
    void selectionChanged() override;

private:
    int segmentOfSelection() const;
    void revealSelection();
    void fillSegments();
    void showPhase(int phase);

    ViewHeader* m_header;
    ChoiceBox* m_phase; ///< hidden where there is one phase only
    ChoiceBox* m_choice; ///< segments of the phase
    QToolButton* m_back;
    QToolButton* m_forward;
    QLabel* m_step;
    QScrollArea* m_scroll;
    FlowCanvas* m_canvas;
    QLabel* m_empty;
    int m_segment = -1;
};

} // namespace shardboard
