// SPDX-License-Identifier: Apache-2.0
#include "widgets/flow/flowview.h"
#include "widgets/controls/viewheader.h"

#include "widgets/canvas/navigation.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/contextmenu.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/findfield.h"
#include "widgets/controls/headerfield.h"
#include "widgets/document/planplayer.h"
#include "widgets/document/shownspec.h"
#include "widgets/document/steptexts.h"
#include "widgets/flow/flowcanvas.h"
#include "widgets/flow/flowlayout.h"
#include "widgets/flow/flowlegend.h"
#include "widgets/flow/flowtransport.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include "model/plan/plansteps.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QLabel>
#include <QMenu>
#include <QShortcut>
#include <QSignalBlocker>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kLeastResidual = 60; ///< pixels of what the residual stream is, beside the legend

} // namespace

FlowView::FlowView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_header(new ViewHeader(tr("Flow"), this))
    , m_find(new FindField(this))
    , m_phase(new ChoiceBox(false, this))
    , m_choice(new ChoiceBox(false, this))
    , m_thickness(new ChoiceBox(false, this))
    , m_canvas(new FlowCanvas(document, this))
    , m_player(new PlanPlayer(this))
    , m_foot(new QWidget(this))
    , m_residual(new ElidedLabel(m_foot))
    , m_legend(new Legend(m_foot))
    , m_transport(new FlowTransport(m_player, this))
    , m_empty(new QLabel(this))
{
    nameWidget(this, "flowView", tr("Flow"));
    nameWidget(
        m_find, "flowFind", tr("Find an operation or a collective"),
        tr("Find an operation, a collective, a mesh axis or a tensor (Ctrl+F); Enter goes to the next one, in all segments"));
    m_find->setFixedWidth(120);
    nameWidget(m_phase, "flowPhase", tr("Phase of the step"), tr("Phase of the step"));
    nameWidget(m_choice, "flowSegment", tr("Expanded segment of the plan"), tr("Expanded segment of the plan"));
    nameWidget(m_thickness, "flowThickness", tr("Thickness of the lines"),
               tr("What the thickness of the lines at a collective stands for"));
    m_thickness->addItem(tr("Bytes"), static_cast<int>(FlowCanvas::Thickness::Bytes));
    m_thickness->addItem(tr("Time"), static_cast<int>(FlowCanvas::Thickness::Time));
    m_findRoom = new HeaderField(m_header, m_find);
    for (QWidget* widget : std::initializer_list<QWidget*> { m_phase, m_choice, m_thickness })
        m_header->addRight(widget);
    m_empty->setObjectName(QStringLiteral("flowEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_residual->setObjectName(QStringLiteral("flowResidual"));
    m_legend->setObjectName(QStringLiteral("flowLegend"));
    auto* foot = boxLayout<QHBoxLayout>({ kPanelMargin, 0, kPanelMargin - 6, 0 }, 8, m_foot);
    foot->addWidget(m_residual, 1);
    foot->addWidget(m_legend);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_header);
    column->addWidget(m_canvas, 1);
    column->addWidget(m_foot);
    column->addWidget(m_transport);
    column->addWidget(m_empty, 1);
    connect(m_choice, &ChoiceBox::activated, this,
            [this](int index) { showSegment(PlannedSegmentId(m_choice->itemData(index).toInt())); });
    connect(m_phase, &ChoiceBox::activated, this, [this](int index) { showPhase(m_phase->itemData(index).toInt()); });
    connect(m_thickness, &ChoiceBox::activated, this, [this](int index) {
        m_canvas->setThickness(static_cast<FlowCanvas::Thickness>(m_thickness->itemData(index).toInt()));
    });
    connect(m_find, &FindField::textChanged, this, &FlowView::search);
    connect(m_find, &FindField::nextWanted, this, &FlowView::findNext);
    connect(m_find, &FindField::left, this, [this] { m_canvas->setFocus(Qt::OtherFocusReason); });
    connect(m_legend, &Legend::chosenChanged, m_canvas, &FlowCanvas::setHighlight);
    connect(m_canvas, &FlowCanvas::unfoldRequested, this, &FlowView::showSegment);
    connect(m_canvas, &FlowCanvas::playRequested, m_player, &PlanPlayer::toggle);
    connect(m_canvas, &FlowCanvas::stepRequested, this, [this](int by, bool collective) {
        if (collective)
            by > 0 ? m_player->forwardToCollective() : m_player->backToCollective();
        else
            by > 0 ? m_player->forward() : m_player->back();
    });
    connect(m_canvas, &FlowCanvas::endRequested, this, [this](bool last) { last ? m_player->last() : m_player->first(); });
    connect(m_player, &PlanPlayer::stepChanged, this, &FlowView::showStep);
    auto* find = new QShortcut(QKeySequence::Find, this);
    find->setContext(Qt::WidgetWithChildrenShortcut);
    connect(find, &QShortcut::activated, this, &FlowView::focusFilter);
    start();
}

void FlowView::refresh()
{
    const auto evaluation = document()->evaluation();
    const bool shown = evaluation && !evaluation->plan.segments.empty();
    for (QWidget* widget : std::initializer_list<QWidget*> { m_canvas, m_phase, m_choice, m_thickness })
        widget->setVisible(shown);
    m_findRoom->setWanted(shown);
    m_empty->setVisible(!shown);
    giveWay();
    for (QWidget* label : std::initializer_list<QWidget*> { m_empty, m_residual })
        setTextColor(label, Theme::of(this).quiet);
    m_residual->setFont(uiFont(this, -1.5));
    if (m_evaluation != evaluation) { // an edit: what was played is no more
        m_evaluation = evaluation;
        m_transport->setEvaluation(shown ? evaluation : nullptr);
        m_player->setSteps(shown ? planSteps(evaluation->plan) : std::vector<PlanStep>());
    }
    if (!shown) {
        m_empty->setText(evaluation ? tr("This model is open as weights only, so there is no flow of operations.")
                                    : tr("No design is open."));
        m_segment = {};
        m_name.clear();
        m_canvas->setScene({});
        showHeader();
        return;
    }
    const auto& segments = evaluation->plan.segments;
    const QSignalBlocker phaseBlocker(m_phase);
    m_phase->clear();
    PlannedSegmentId largest { 0 };
    for (PlannedSegmentId i { 0 }; i < segments.size(); ++i) {
        if (m_phase->findData(static_cast<int>(segments[i].phase)) < 0)
            m_phase->addItem(qstr(phaseName(segments[i].phase)), static_cast<int>(segments[i].phase));
        if (segments[i].count > segments[largest].count)
            largest = i;
    }
    m_phase->setFixedWidth(m_phase->widestEntry());
    m_thickness->setFixedWidth(m_thickness->widestEntry()); // in the text of now
    m_phase->setVisible(m_phase->count() > 1);
    PlannedSegmentId segment = segmentOfSelection();
    if (!segment.valid())
        segment = m_segment < segments.size() ? m_segment : largest;
    showSegment(segment);
}

/// Rows of operations have their room first: where there is none for two the legend goes, and where there is none for one the
/// transport, whose keys the canvas takes.
void FlowView::giveWay()
{
    constexpr int kBesideRow = 16;
    const bool shown = !m_canvas->isHidden();
    const int row = static_cast<int>((kFlowBoxHeight + kBesideRow) * textScale(this));
    int left = height() - m_header->sizeHint().height() - row;
    const auto show = [&](QWidget* widget) {
        const int needed = widget->sizeHint().height();
        widget->setVisible(shown && left >= needed);
        left -= needed;
    };
    show(m_transport);
    left -= row;
    show(m_foot);
}

void FlowView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    giveWay();
    fitLegend();
}

/// In words where they have room beside the first of what the residual stream is; else the names of the axes alone.
void FlowView::fitLegend()
{
    const int room = width() - 2 * kPanelMargin - static_cast<int>(kLeastResidual * textScale(this));
    m_legend->setEntries(flowLegend(m_canvas->scene(), m_mesh));
    if (m_legend->sizeHint().width() > room)
        m_legend->setEntries(flowLegend(m_canvas->scene(), m_mesh, true));
}

void FlowView::showSegment(PlannedSegmentId plannedSegment)
{
    const auto evaluation = document()->evaluation();
    if (!evaluation || plannedSegment >= evaluation->plan.segments.size())
        return;
    m_segment = plannedSegment;
    fillSegments();
    FlowScene scene = makeFoldedScene(*evaluation, plannedSegment, document()->notation());
    m_name = tr("%1 · %2").arg(scene.name, qstr(phaseName(evaluation->plan.segment(plannedSegment).phase)));
    m_residual->setText(scene.residual);
    m_canvas->setScene(std::move(scene));
    m_mesh = evaluation->plan.mesh;
    fitLegend();
    if (m_player->isShown())
        m_canvas->setStep(itemOf(m_player->current()));
    showHeader();
    revealSelection();
}

/// What is unfolded, or how much of it matches what is searched for.
void FlowView::showHeader()
{
    if (m_find->wanted().isEmpty() || !m_evaluation) {
        m_header->setDetail(m_name);
        return;
    }
    const QString text = m_find->wanted();
    int found = 0;
    for (const PlanStep& step : m_player->steps())
        found += stepSearchText(*m_evaluation, step).contains(text, Qt::CaseInsensitive) ? 1 : 0;
    m_header->setDetail(found == 0 ? tr("nothing in the plan has “%1”; Esc shows everything").arg(text)
                                   : tr("%1 of the plan, Enter goes to the next").arg(counted(found, tr("step"), tr("steps"))));
}

/// Those of the shown segment's phase; a step of training has each name in several.
void FlowView::fillSegments()
{
    const auto evaluation = document()->evaluation();
    const auto& segments = evaluation->plan.segments;
    const Phase phase = segments[m_segment].phase;
    const QSignalBlocker blocker(m_choice);
    m_choice->clear();
    for (PlannedSegmentId i { 0 }; i < segments.size(); ++i)
        if (segments[i].phase == phase)
            m_choice->addItem(segments[i].count > 1 ? QStringLiteral("%1 × %2").arg(qstr(segments[i].name)).arg(segments[i].count)
                                                    : qstr(segments[i].name),
                              i.number());
    m_choice->setFixedWidth(std::min(240, m_choice->widestEntry()));
    m_choice->setCurrentIndex(m_choice->findData(m_segment.number()));
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
    const std::string name = m_segment.valid() ? segments[m_segment].name : std::string();
    PlannedSegmentId best;
    for (PlannedSegmentId i { 0 }; i < segments.size(); ++i) {
        if (static_cast<int>(segments[i].phase) != phase)
            continue;
        const bool better =
            !best.valid() || segments[i].name == name || (segments[best].name != name && segments[i].count > segments[best].count);
        if (better)
            best = i;
    }
    showSegment(best);
}

PlannedSegmentId FlowView::segmentOfSelection() const
{
    const auto evaluation = document()->evaluation();
    if (!evaluation)
        return {};
    if (const Collective* collective = selectedCollective(*document()))
        return collective->plannedSegment;
    if (selection()->operation().valid() && selection()->segment() < evaluation->plan.segments.size())
        return selection()->segment();
    const WeightLayout* weight = selectedWeight(*document());
    if (!weight || weight->tensor == kNoTensor)
        return {};
    const auto uses = [&](PlannedSegmentId segment) {
        for (const PlannedOp& op : evaluation->plan.segment(segment).ops)
            for (const TensorId tensor : evaluation->graph.op(op.op).operands)
                if (tensor == weight->tensor)
                    return true;
        return false;
    };
    if (m_segment < evaluation->plan.segments.size() && uses(m_segment))
        return m_segment;
    PlannedSegmentId found;
    for (PlannedSegmentId i { 0 }; i < evaluation->plan.segments.size(); ++i)
        if (uses(i) && (!found.valid() || evaluation->plan.segment(i).count > evaluation->plan.segment(found).count))
            found = i;
    return found;
}

void FlowView::selectionChanged()
{
    if (m_stepping)
        return; // showStep() does what there is to do
    const PlannedSegmentId segment = segmentOfSelection();
    if (segment.valid() && segment != m_segment)
        showSegment(segment);
    // From what was selected elsewhere the walk goes on; it ends where nothing of the plan is selected any more.
    const int step = selection()->collective().valid()
        ? stepOfCollective(m_player->steps(), selection()->collective())
        : stepOfOperation(m_player->steps(), selection()->segment(), selection()->operation());
    if (step >= 0 && step != m_player->index())
        m_player->adopt(step);
    else if (step < 0)
        m_player->stop();
    revealSelection();
}

void FlowView::weightHoverChanged() { m_canvas->updateHover(); }

void FlowView::revealSelection()
{
    m_canvas->update();
    if (m_canvas->step() >= 0)
        return;
    const CollectiveId now = selection()->collective();
    const auto& items = m_canvas->scene().items;
    for (int i = 0; i < static_cast<int>(items.size()); ++i) {
        const FlowItem& item = items[static_cast<std::size_t>(i)];
        const bool hit = now.valid()
            ? item.collective == now
            : std::find(item.weights.begin(), item.weights.end(), selection()->weight()) != item.weights.end();
        if (hit) {
            m_canvas->reveal(i);
            return;
        }
    }
}

int FlowView::itemOf(const PlanStep& step) const
{
    const auto& items = m_canvas->scene().items;
    const auto& segments = m_evaluation->plan.segments;
    for (int i = 0; i < static_cast<int>(items.size()); ++i) {
        const FlowItem& item = items[static_cast<std::size_t>(i)];
        if (item.kind == FlowItem::Folded)
            continue;
        if (step.collective.valid() ? item.collective == step.collective
                                    : item.segment == step.segment && !item.collective.valid()
                    && std::find(item.ops.begin(), item.ops.end(), segments[step.segment].ops[step.operation].op) != item.ops.end())
            return i;
    }
    return -1;
}

int FlowView::stepOfItem(const FlowItem& item) const
{
    const auto& steps = m_player->steps();
    if (item.collective.valid())
        return stepOfCollective(steps, item.collective);
    for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
        const PlanStep& step = steps[static_cast<std::size_t>(i)];
        if (step.segment != item.segment)
            continue;
        if (item.kind == FlowItem::Folded)
            return i;
        const auto& ops = m_evaluation->plan.segment(step.segment).ops;
        if (!step.collective.valid() && std::find(item.ops.begin(), item.ops.end(), ops[step.operation].op) != item.ops.end())
            return i;
    }
    return -1;
}

/// The step that was walked to: unfolded, marked, and selected everywhere.
void FlowView::showStep()
{
    if (!m_player->isShown() || !m_evaluation) {
        m_canvas->setStep(-1);
        return;
    }
    const PlanStep step = m_player->current();
    selectStep(step);
    if (step.segment != m_segment)
        showSegment(step.segment);
    m_canvas->setStep(itemOf(step));
}

/// With the weight that it is about, in one change, so that every view is made anew once.
void FlowView::selectStep(const PlanStep& step)
{
    m_stepping = true;
    const PlannedOp& op = m_evaluation->plan.segment(step.segment).ops[step.operation];
    const int weight = step.collective.valid()
        ? weightOfTensor(*m_evaluation, m_evaluation->plan.collective(step.collective).tensor)
        : weightOfOp(*m_evaluation, op.op);
    {
        const QSignalBlocker blocker(selection());
        if (weight >= 0)
            selection()->setWeight(weight);
        if (step.collective.valid() && selection()->collective() == step.collective)
            selection()->setCollective({});
    }
    if (step.collective.valid())
        selection()->setCollective(step.collective);
    else
        selection()->setOperation(step.segment, step.operation);
    m_stepping = false;
}

void FlowView::stepCollective(int by)
{
    if (!m_player->isShown()) // from what is selected, or from the beginning
        m_player->adopt(stepOfCollective(m_player->steps(), selection()->collective()));
    by > 0 ? m_player->forwardToCollective() : m_player->backToCollective();
}

void FlowView::focusFilter() { m_find->begin(); }

void FlowView::search()
{
    m_canvas->setFilter(m_find->text());
    showHeader();
}

void FlowView::findNext(bool back)
{
    const QString text = m_find->wanted();
    const int count = m_player->count();
    if (text.isEmpty() || !m_evaluation)
        return;
    for (int i = 1; i <= count; ++i) {
        const int index = ((m_player->index() + (back ? -i : i)) % count + count) % count;
        if (!stepSearchText(*m_evaluation, m_player->steps()[static_cast<std::size_t>(index)]).contains(text, Qt::CaseInsensitive))
            continue;
        m_player->goTo(index);
        return;
    }
}

void FlowView::fillMenu(QMenu* menu, int index)
{
    const auto& items = m_canvas->scene().items;
    if (!m_evaluation || items.empty())
        return;
    if (index >= 0 && index < static_cast<int>(items.size())) {
        const FlowItem item = items[static_cast<std::size_t>(index)];
        if (item.kind == FlowItem::Folded)
            connect(menu->addAction(tr("Expand %1").arg(item.title)), &QAction::triggered, this,
                    [this, item] { showSegment(item.segment); });
        if (const int step = stepOfItem(item); step >= 0) {
            connect(menu->addAction(tr("Walk to This")), &QAction::triggered, this, [this, step] { m_player->goTo(step); });
            connect(menu->addAction(tr("Play from Here")), &QAction::triggered, this, [this, step] {
                m_player->adopt(step);
                m_player->play();
            });
        }
        connect(menu->addAction(tr("Find More of This")), &QAction::triggered, this,
                [this, item] { m_find->setText(item.title.section(QStringLiteral(" · "), 0, 0)); });
        connect(menu->addAction(tr("Copy as Text")), &QAction::triggered, this,
                [item] { QGuiApplication::clipboard()->setText(item.title + QLatin1Char('\n') + item.toolTip); });
        if (!item.ops.empty())
            for (const PlannedOp& op : m_evaluation->plan.segment(item.segment).ops)
                if (op.op == item.ops.back())
                    addCopyMenu(menu, op.result, m_evaluation->plan.mesh);
        menu->addSeparator();
    }
    CanvasNavigation* navigation = m_canvas->navigation();
    connect(menu->addAction(tr("Show Selection\tF")), &QAction::triggered, navigation, &CanvasNavigation::fitSelection);
    connect(menu->addAction(tr("Show Everything\tShift+F")), &QAction::triggered, navigation, &CanvasNavigation::fitAll);
    connect(menu->addAction(tr("Full Size\t0")), &QAction::triggered, navigation, &CanvasNavigation::home);
}

/// Escape lets go of what is shown beside the plan; where there is nothing of it, the window may use it.
void FlowView::keyPressEvent(QKeyEvent* event)
{
    const bool any = !m_legend->chosen().isEmpty() || m_player->isShown() || m_player->isPlaying() || !m_find->text().isEmpty();
    if (event->key() != Qt::Key_Escape || !any) {
        DocumentView::keyPressEvent(event);
        return;
    }
    m_legend->choose({});
    m_player->stop();
    m_find->clear();
}

void FlowView::contextMenuEvent(QContextMenuEvent* event)
{
    const bool mouse = event->reason() == QContextMenuEvent::Mouse;
    const QPoint at = m_canvas->mapFromGlobal(event->globalPos());
    if (mouse && !m_canvas->rect().contains(at))
        return;
    const int item = mouse ? m_canvas->itemAt(at) : m_canvas->current();
    const QPoint place = mouse ? event->globalPos() : m_canvas->mapToGlobal(m_canvas->itemRect(item).center().toPoint());
    showContextMenu(this, place, [&](QMenu* menu) { fillMenu(menu, item); });
}

} // namespace shardboard
