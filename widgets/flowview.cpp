// SPDX-License-Identifier: Apache-2.0
#include "widgets/flowview.h"

#include "widgets/choicebox.h"
#include "widgets/flowcanvas.h"
#include "widgets/format.h"
#include "widgets/theme.h"

#include <QLabel>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace shardboard {

FlowView::FlowView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_header(new ViewHeader(tr("Flow"), this))
    , m_phase(new ChoiceBox(false, this))
    , m_choice(new ChoiceBox(false, this))
    , m_back(new QToolButton(this))
    , m_forward(new QToolButton(this))
    , m_step(new QLabel(this))
    , m_scroll(new QScrollArea(this))
    , m_canvas(new FlowCanvas(document, m_scroll))
    , m_empty(new QLabel(this))
{
    setObjectName(QStringLiteral("flowView"));
    setAccessibleName(tr("Flow"));
    m_phase->setObjectName(QStringLiteral("flowPhase"));
    m_phase->setAccessibleName(tr("Phase of the step"));
    m_phase->setToolTip(tr("Phase of the step"));
    m_choice->setObjectName(QStringLiteral("flowSegment"));
    m_choice->setAccessibleName(tr("Segment of the plan"));
    m_choice->setToolTip(tr("Segment of the plan"));
    m_back->setObjectName(QStringLiteral("flowBack"));
    m_back->setArrowType(Qt::LeftArrow);
    m_back->setAccessibleName(tr("Previous collective"));
    m_back->setToolTip(tr("Previous collective"));
    m_forward->setObjectName(QStringLiteral("flowForward"));
    m_forward->setArrowType(Qt::RightArrow);
    m_forward->setAccessibleName(tr("Next collective"));
    m_forward->setToolTip(tr("Next collective"));
    m_step->setObjectName(QStringLiteral("flowStep"));
    for (QWidget* widget : std::initializer_list<QWidget*> { m_phase, m_choice, m_back, m_step, m_forward })
        m_header->addRight(widget);
    m_scroll->setWidget(m_canvas);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setFocusPolicy(Qt::NoFocus);
    m_empty->setObjectName(QStringLiteral("flowEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_header);
    column->addWidget(m_scroll, 1);
    column->addWidget(m_empty, 1);
    connect(m_choice, &ChoiceBox::activated, this, [this](int index) { showSegment(m_choice->itemData(index).toInt()); });
    connect(m_phase, &ChoiceBox::activated, this, [this](int index) { showPhase(m_phase->itemData(index).toInt()); });
    connect(m_back, &QToolButton::clicked, this, [this] { stepCollective(-1); });
    connect(m_forward, &QToolButton::clicked, this, [this] { stepCollective(1); });
    connect(m_canvas, &FlowCanvas::currentMoved, this,
            [this](const QRect& rect) { m_scroll->ensureVisible(rect.center().x(), rect.center().y(), 40, 40); });
    start();
}

void FlowView::refresh()
{
    const auto evaluation = document()->evaluation();
    const bool shown = evaluation && !evaluation->plan.segments.empty();
    m_scroll->setVisible(shown);
    m_empty->setVisible(!shown);
    for (QWidget* widget : std::initializer_list<QWidget*> { m_phase, m_choice, m_back, m_step, m_forward })
        widget->setVisible(shown);
    setTextColor(m_empty, Theme::of(this).quiet);
    setTextColor(m_step, Theme::of(this).quiet);
    m_step->setFont(uiFont(this, -1));
    if (!shown) {
        m_empty->setText(evaluation ? tr("This model is open as weights only, so there is no flow of operations.")
                                    : tr("No design is open."));
        m_header->setDetail(QString());
        m_segment = -1;
        m_canvas->setScene({});
        return;
    }
    const auto& segments = evaluation->plan.segments;
    const QSignalBlocker phaseBlocker(m_phase);
    m_phase->clear();
    int largest = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (m_phase->findData(static_cast<int>(segments[i].phase)) < 0)
            m_phase->addItem(qstr(phaseName(segments[i].phase)), static_cast<int>(segments[i].phase));
        if (segments[i].count > segments[static_cast<std::size_t>(largest)].count)
            largest = static_cast<int>(i);
    }
    m_phase->setFixedWidth(m_phase->widestEntry());
    m_phase->setVisible(m_phase->count() > 1);
    int segment = segmentOfSelection();
    if (segment < 0)
        segment = m_segment >= 0 && m_segment < static_cast<int>(segments.size()) ? m_segment : largest;
    showSegment(segment);
}

void FlowView::showSegment(int plannedSegment)
{
    const auto evaluation = document()->evaluation();
    if (!evaluation || plannedSegment < 0 || plannedSegment >= static_cast<int>(evaluation->plan.segments.size()))
        return;
    m_segment = plannedSegment;
    fillSegments();
    FlowScene scene = makeFlowScene(*evaluation, plannedSegment, document()->notation());
    m_header->setDetail(tr("%1 · %2").arg(
        scene.name, qstr(phaseName(evaluation->plan.segments[static_cast<std::size_t>(plannedSegment)].phase))));
    m_canvas->setScene(std::move(scene));
    revealSelection();
}

/// Those of the shown segment's phase; a step of training has each name in several.
void FlowView::fillSegments()
{
    const auto evaluation = document()->evaluation();
    const auto& segments = evaluation->plan.segments;
    const Phase phase = segments[static_cast<std::size_t>(m_segment)].phase;
    const QSignalBlocker blocker(m_choice);
    m_choice->clear();
    for (std::size_t i = 0; i < segments.size(); ++i)
        if (segments[i].phase == phase)
            m_choice->addItem(segments[i].count > 1 ? QStringLiteral("%1 × %2").arg(qstr(segments[i].name)).arg(segments[i].count)
                                                    : qstr(segments[i].name),
                              static_cast<int>(i));
    m_choice->setFixedWidth(std::min(240, m_choice->widestEntry()));
    m_choice->setCurrentIndex(m_choice->findData(m_segment));
    const QSignalBlocker phaseBlocker(m_phase);
    m_phase->setCurrentIndex(m_phase->findData(static_cast<int>(phase)));
}

/// The segment of a phase that happens most often, or the one of the same name.
void FlowView::showPhase(int phase)
{
    const auto evaluation = document()->evaluation();
    if (!evaluation)
        return;
    const auto& segments = evaluation->plan.segments;
    const std::string name = m_segment >= 0 ? segments[static_cast<std::size_t>(m_segment)].name : std::string();
    int best = -1;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (static_cast<int>(segments[i].phase) != phase)
            continue;
        const bool better = best < 0 || segments[i].name == name
            || (segments[static_cast<std::size_t>(best)].name != name && segments[i].count > segments[static_cast<std::size_t>(best)].count);
        if (better)
            best = static_cast<int>(i);
    }
    showSegment(best);
}

int FlowView::segmentOfSelection() const
{
    const auto evaluation = document()->evaluation();
    if (!evaluation)
        return -1;
    if (const Collective* collective = selectedCollective(*document()))
        return collective->plannedSegment;
    if (selection()->operation() >= 0 && selection()->segment() < static_cast<int>(evaluation->plan.segments.size()))
        return selection()->segment();
    const WeightLayout* weight = selectedWeight(*document());
    if (!weight || weight->tensor == kNoTensor)
        return -1;
    const auto uses = [&](int segment) {
        for (const PlannedOp& op : evaluation->plan.segments[static_cast<std::size_t>(segment)].ops)
            for (const TensorId tensor : evaluation->graph.op(op.op).operands)
                if (tensor == weight->tensor)
                    return true;
        return false;
    };
    if (m_segment >= 0 && m_segment < static_cast<int>(evaluation->plan.segments.size()) && uses(m_segment))
        return m_segment;
    int found = -1;
    for (int i = 0; i < static_cast<int>(evaluation->plan.segments.size()); ++i)
        if (uses(i)
            && (found < 0
                || evaluation->plan.segments[static_cast<std::size_t>(i)].count
                    > evaluation->plan.segments[static_cast<std::size_t>(found)].count))
            found = i;
    return found;
}

void FlowView::selectionChanged()
{
    const int segment = segmentOfSelection();
    if (segment >= 0 && segment != m_segment)
        showSegment(segment);
    revealSelection();
}

void FlowView::revealSelection()
{
    const auto evaluation = document()->evaluation();
    const int all = evaluation ? static_cast<int>(evaluation->plan.collectives.size()) : 0;
    const int now = selection()->collective();
    m_step->setText(now < 0 ? counted(all, tr("collective"), tr("collectives")) : tr("%1 of %2").arg(now + 1).arg(all));
    m_back->setEnabled(all > 0);
    m_forward->setEnabled(all > 0);
    m_canvas->update();
    const auto& items = m_canvas->scene().items;
    for (int i = 0; i < static_cast<int>(items.size()); ++i) {
        const FlowItem& item = items[static_cast<std::size_t>(i)];
        const bool hit = now >= 0
            ? item.collective == now
            : std::find(item.weights.begin(), item.weights.end(), selection()->weight()) != item.weights.end();
        if (hit) {
            const QPoint centre = m_canvas->itemRect(i).center().toPoint();
            m_scroll->ensureVisible(centre.x(), centre.y(), 40, 40);
            return;
        }
    }
}

void FlowView::stepCollective(int by)
{
    const auto evaluation = document()->evaluation();
    const int all = evaluation ? static_cast<int>(evaluation->plan.collectives.size()) : 0;
    if (all == 0)
        return;
    const int now = selection()->collective();
    selection()->setCollective(now < 0 ? (by > 0 ? 0 : all - 1) : (now + by + all) % all);
}

} // namespace shardboard
