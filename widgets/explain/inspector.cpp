// SPDX-License-Identifier: Apache-2.0
#include "widgets/explain/inspector.h"
#include "widgets/controls/viewheader.h"

#include "widgets/document/ruletrace.h"
#include "widgets/edits/pickermenu.h"
#include "widgets/edits/repairs.h"
#include "widgets/explain/alternatives.h"
#include "widgets/explain/explainview.h"
#include "widgets/explain/inspectorpage.h"
#include "widgets/explain/rowsmodel.h"
#include "widgets/jobs/background.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include "model/design/deviceweights.h"
#include "model/hardware/footprint.h"
#include "model/plan/hostcopies.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/residuals.h"
#include "model/plan/time/steptime.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"

#include <QCoreApplication>
#include <QEvent>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTimer>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardboard {

namespace {

constexpr std::size_t kMostCards = 12;
constexpr std::size_t kMostRepairs = 3; ///< findings whose repair is evaluated to tell what it brings
constexpr double kQuick = 0.5; ///< seconds that an evaluation may take for the effects of repairs to be told unasked

/// Tells targets of one evaluation apart.
std::string keyOf(const ExplainTarget& target)
{
    return targetKindName(target.kind) + ' ' + target.name + ' ' + std::to_string(target.segment.number()) + '/'
        + std::to_string(target.op.number());
}

Card::Look lookOf(Severity severity)
{
    return severity == Severity::Error  ? Card::Look::Error
        : severity == Severity::Warning ? Card::Look::Attention
                                        : Card::Look::Plain;
}

/// How findings name an operation: some with the segment of the plan or of the graph.
std::vector<std::string> operationNames(const Evaluation& evaluation, PlannedSegmentId plannedSegment, OpId op)
{
    const PlannedSegment& segment = evaluation.plan.segment(plannedSegment);
    const std::string& name = evaluation.graph.op(op).name;
    return { name, segment.name + "/" + name, evaluation.graph.segment(segment.segment).name + "/" + name };
}

} // namespace

InspectorPanel::InspectorPanel(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_header(new ViewHeader(tr("Inspector"), this))
    , m_scroll(new QScrollArea(this))
    , m_timer(new QTimer(this))
    , m_evaluating(new LatestJob(this))
    , m_explaining(new LatestJob(this))
    , m_repairing(new LatestJob(this))
{
    nameView("inspectorPanel", tr("Inspector"));
    m_header->setDetailAtRight();
    nameWidget(m_scroll, "inspectorScroll", tr("Explanation of the selection"));
    m_scroll->setWidgetResizable(true);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_timer->setSingleShot(true);
    m_timer->setInterval(0);
    connect(m_timer, &QTimer::timeout, this, [this] { build(false); });
    m_evaluating->setObjectName(QStringLiteral("alternativesJob"));
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_header);
    column->addWidget(m_scroll, 1);
    start();
}

QSize InspectorPanel::sizeHint() const { return { 340, 560 }; }

void InspectorPanel::refresh() { later(); }
void InspectorPanel::selectionChanged() { later(); }

void InspectorPanel::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    later();
}

// The alternatives are evaluated, so a burst of changes builds one page, and a hidden panel none.
void InspectorPanel::later() { m_timer->start(); }

void InspectorPanel::buildNow() { build(true); }

/// A page to be described from its top: the one that is shown, unless it is of another look.
InspectorPage* InspectorPanel::pageToDescribe()
{
    if (m_page && m_palette == palette() && m_font == font()) {
        m_page->restart();
        return m_page;
    }
    m_palette = palette();
    m_font = font();
    return new InspectorPage(m_scroll->viewport()); // where it ends up: a change of parents would style all of it once more
}

/// Now, and once, from the inside out: else the view shows texts in the places of others.
void InspectorPanel::layOut()
{
    for (Card* card : m_page->findChildren<Card*>(QString(), Qt::FindDirectChildrenOnly))
        card->layout()->activate();
    QEvent request(QEvent::LayoutRequest);
    QCoreApplication::sendEvent(m_scroll, &request);
    m_page->layout()->activate();
}

void InspectorPanel::showPage(InspectorPage* page, bool otherThing)
{
    QScrollBar* bar = m_scroll->verticalScrollBar();
    if (page == m_page) {
        layOut();
        if (otherThing)
            bar->setValue(0);
        return;
    }
    const int scrolled = bar->value();
    m_page = page;
    page->setAutoFillBackground(true);
    page->setBackgroundRole(QPalette::Base);
    m_scroll->setWidget(page); // deletes the page before
    if (!otherThing) {
        page->layout()->activate();
        bar->setValue(scrolled); // the same thing with other numbers
    }
}

void InspectorPanel::build(bool wait)
{
    m_timer->stop();
    const QString before = m_header->title();
    m_waiting.clear();
    InspectorPage* page = pageToDescribe();
    if (!document()->hasDesign()) {
        m_header->setTitle(tr("Inspector"));
        m_header->setDetail(QString());
        page->sentence(tr("Open or make a design to see what it does and why."));
    } else if (const Collective* collective = selectedCollective(*document())) {
        collectivePage(*page, *collective, wait);
    } else if (const auto target = selectedTarget(*document()); target && target->kind == ExplainTarget::Kind::Operation) {
        operationPage(*page, document()->evaluation()->plan.segment(target->segment).ops[target->op], wait);
    } else if (const WeightLayout* weight = selectedWeight(*document())) {
        weightPage(*page, *weight, wait);
    } else {
        designPage(*page, wait);
    }
    if (!m_refusal.isEmpty())
        page->card(tr("Not done"), QString(), m_refusal, Card::Look::Error);
    m_refusal.clear();
    page->finish();
    showPage(page, m_header->title() != before);
}

void InspectorPanel::designPage(InspectorPage& page, bool wait)
{
    const auto evaluation = document()->evaluation();
    const Design& design = document()->design();
    const Plan& plan = evaluation->plan;
    m_header->setTitle(qstr(design.model.name));
    m_header->setDetail(QString());
    page.section(tr("What"));
    page.fact(tr("model"), qstr(design.model.name), qstr(design.model.source));
    page.fact(tr("parameters"), countText(evaluation->parameters));
    page.fact(tr("mesh"), qstr(design.mesh.text()));
    page.fact(tr("picker"), pickerText(design.picker));
    page.fact(tr("weights"), bytesText(evaluation->weightBytes), exactBytesText(evaluation->weightBytes));
    page.fact(tr("weights on a device"), bytesText(plan.memory.weights), exactBytesText(plan.memory.weights));
    if (design.model.hasGraph()) {
        page.fact(tr("step"), secondsText(plan.seconds()));
        if (const auto hardware = hardwareOf(design); hardware.ok()) {
            if (const auto range = stepRange(evaluation->graph, plan, hardware.value()))
                page.fact(tr("step likely"), tr("%1 to %2").arg(secondsText(range->least), secondsText(range->most)),
                          tr("as %1 lay from what is predicted of them").arg(qstr(range->from)));
            page.fact(tr("memory of a device"), bytesText(plan.memory.peak), exactBytesText(plan.memory.peak));
            if (const auto range = memoryRange(evaluation->graph, plan, hardware.value()))
                page.fact(tr("memory likely"),
                          tr("%1 to %2").arg(bytesText(qRound64(range->least)), bytesText(qRound64(range->most))),
                          tr("with the allocator at its best and at its worst, and as %1 lay from what is predicted of them")
                              .arg(qstr(range->from)));
        }
        page.fact(tr("in collectives"), secondsText(collectiveSecondsAlone(evaluation->graph, plan)));
        const double host = hostCopySeconds(evaluation->graph, plan);
        if (host > 0)
            page.fact(tr("to and from host"), secondsText(host));
        page.fact(host > 0 ? tr("of both exposed") : tr("of the step exposed"), secondsText(plan.device.exposed));
        const std::int64_t moved = collectiveBytesOfDevice(evaluation->graph, plan);
        page.fact(tr("bytes moved"), bytesText(moved), exactBytesText(moved));
        if (plan.pipeline) {
            page.fact(tr("pipeline"),
                      plan.pipeline->chunks > 1 ? tr("%1, interleaved %2")
                                                      .arg(counted(plan.pipeline->stages, tr("stage"), tr("stages")))
                                                      .arg(plan.pipeline->chunks)
                                                : tr("%1, %2").arg(counted(plan.pipeline->stages, tr("stage"), tr("stages")),
                                                                   qstr(scheduleTitle(plan.pipeline->schedule, 1))));
            page.fact(tr("bubble"),
                      tr("%1, %2 % of the step")
                          .arg(secondsText(plan.device.bubble), digitsText(plan.device.bubble / plan.seconds() * 100)));
        }
    }
    page.sentence(tr("Select a weight or a collective to see why it is as it is."));
    findings(page, {}, wait);
}

void InspectorPanel::weightPage(InspectorPage& page, const WeightLayout& weight, bool wait)
{
    m_header->setTitle(shortName(weight.spec.name)); // the panel itself is named by its tab
    m_header->setDetail(weight.copies > 1 ? tr("%1 layers").arg(weight.copies) : QString());
    weightFacts(page, weight);
    weightReason(page, weight);
    if (!weight.unknownShape)
        weightChoices(page, wait);
    findings(page, { weight.spec.name }, wait);
}

void InspectorPanel::weightFacts(InspectorPage& page, const WeightLayout& weight)
{
    const Mesh& mesh = document()->design().mesh;
    page.section(tr("What"));
    page.fact(tr("shape"),
              weight.unknownShape ? tr("not known")
                                  : shapeLabel(weight.spec.shape) + QLatin1Char(' ') + qstr(dtypeName(weight.spec.dtype)));
    if (weight.unknownShape)
        return;
    page.fact(tr("spec"), shownSpec(*document(), weight.layout, true), weight.layout, mesh);
    if (document()->notation() != Notation::DTensor)
        page.fact(tr("DTensor"), qstr(placementsText(weight.layout, mesh)));
    page.fact(tr("on a device"), bytesText(weight.bytesPerDevice), exactBytesText(weight.bytesPerDevice));
    const Plan& plan = document()->evaluation()->plan;
    if (weight.copies > 1) {
        const std::int64_t layers = mostCopiesOn(plan, weight);
        page.fact(layers < weight.copies ? tr("in %1 of %2 layers").arg(layers).arg(weight.copies) : tr("in %1 layers").arg(layers),
                  bytesText(weight.bytesPerDevice * layers), exactBytesText(weight.bytesPerDevice * layers));
    }
    page.fact(tr("distinct shards"), countText(weight.shards.distinctCount()));
    page.fact(tr("copies of each"), countText(replicationOf(*document()->evaluation(), weight)));
}

void InspectorPanel::weightReason(InspectorPage& page, const WeightLayout& weight)
{
    connect(page.button(tr("Edit strategy …"), tr("Write the strategy and see what it leads to (F2)")), &QPushButton::clicked, this,
            [this] { Q_EMIT strategyRequested(); });
    if (!whySection(page))
        return;
    const auto evaluation = document()->evaluation();
    const auto& entries = document()->design().strategies;
    if (weight.resolution) {
        rulesReason(page, weight);
    } else if (weight.entry < 0 || weight.entry >= static_cast<int>(entries.size())) {
        page.sentence(tr("No strategy names it, so every device holds all of it."));
    } else {
        page.sentence(tr("Strategy %1 of %2 decides: “%3” is %4. Later ones win.")
                          .arg(weight.entry + 1)
                          .arg(entries.size())
                          .arg(qstr(entries[static_cast<std::size_t>(weight.entry)].match), qstr(weight.strategy.text())));
        if (!document()->design().rules.rules.empty())
            page.sentence(tr("It hides the rules."));
    }
    // Collectives of the operations that take it, and of those that take their results.
    const auto& collectives = evaluation->plan.collectives;
    const std::vector<DeviceCollective> times = deviceCollectives(evaluation->graph, evaluation->plan);
    const int self = selection()->weight();
    const bool train = document()->design().workload.kind == WorkloadKind::Train;
    for (CollectiveId i { 0 }; i < collectives.size(); ++i) {
        const Collective& collective = collectives[i];
        bool caused = collective.tensor == weight.tensor && weight.tensor != kNoTensor;
        for (const Op& op : evaluation->graph.ops) {
            if (op.result != collective.tensor)
                continue;
            for (const TensorId operand : op.operands)
                caused = caused || weightOfTensor(*evaluation, operand) == self;
        }
        if (!caused)
            continue;
        QString title = qstr(collectiveName(collective.kind)) + tr(" over ") + axesText(evaluation->plan.mesh, collective.axes);
        if (train)
            title += QStringLiteral(" · ") + qstr(phaseName(evaluation->plan.segment(collective.plannedSegment).phase));
        Card* card = page.card(title, secondsText(times[i].seconds), qstr(collective.reason), Card::Look::Plain);
        card->setActionable(tr("Select this collective"));
        connect(card, &Card::activated, this, [this, i] { selection()->setCollective(i); });
    }
}

/// The heading of the reason; false: it is folded in, for every page until it is unfolded.
bool InspectorPanel::whySection(InspectorPage& page)
{
    connect(
        page.foldingSection(tr("Why"), m_whyOpen), &QToolButton::clicked, this,
        [this] {
            m_whyOpen = !m_whyOpen;
            build(false);
        },
        Qt::QueuedConnection); // the page may be made anew
    return m_whyOpen;
}

void InspectorPanel::rulesReason(InspectorPage& page, const WeightLayout& weight)
{
    const WeightTrace trace = traceOf(document()->design(), weight);
    for (const TraceDim& dim : trace.dims) {
        const QString by = dim.decidedBy < 0 ? QString() : tr(" · rule %1").arg(dim.decidedBy + 1);
        QString text = dim.title + by + QStringLiteral(" → ") + dim.verdict;
        for (const TraceRule& rule : dim.rules)
            if (rule.outcome == RuleOutcome::AxisTaken)
                text += QLatin1Char('\n') + rule.text;
        page.sentence(text);
    }
}

void InspectorPanel::weightChoices(InspectorPage& page, bool wait)
{
    constexpr double kSlow = 0.25; // seconds; half a dozen evaluations of such a design would be felt
    page.section(tr("Alternatives"));
    if (document()->evaluationSeconds() > kSlow) {
        page.sentence(
            tr("Not evaluated: one evaluation of this design takes %1.").arg(secondsText(document()->evaluationSeconds())));
        return;
    }
    const int weight = selection()->weight();
    const bool asked = m_alternativesOf == document()->evaluation() && m_alternativesWeight == weight
        && m_alternativesNotation == document()->notation();
    std::vector<Alternative> choices;
    bool evaluated = true;
    if (wait) {
        choices = evaluatedAlternatives(weightCandidates(*document(), weight), weight, document()->notation());
    } else if (asked && m_alternatives) {
        choices = *m_alternatives;
    } else {
        evaluated = false; // the names are there at once, the numbers a moment later
        choices = weightCandidates(*document(), weight);
        if (!asked || !m_evaluating->isBusy()) {
            askForAlternatives(choices, weight);
            m_alternativesOf = document()->evaluation();
            m_alternativesWeight = weight;
            m_alternativesNotation = document()->notation();
        }
    }
    for (const Alternative& choice : choices) {
        if (!evaluated && !choice.current) {
            m_waiting.emplace_back(page.card(choice.title, QStringLiteral("…"), tr("being evaluated"), Card::Look::Plain));
            continue;
        }
        const auto [value, detail] = alternativeTexts(choice, choices.front());
        Card* card = page.card(choice.title, value, detail, choice.current ? Card::Look::Chosen : Card::Look::Plain);
        if (!choice.current && choice.refusal.isEmpty())
            offer(card, choice);
    }
}

/// What stands at the right of an alternative and below it.
std::pair<QString, QString> InspectorPanel::alternativeTexts(const Alternative& choice, const Alternative& current) const
{
    if (!choice.refusal.isEmpty())
        return { tr("refused"), choice.refusal };
    const bool planned = document()->design().model.hasGraph();
    QString detail = choice.current ? tr("as it is · %1").arg(choice.spec) : choice.spec;
    if (!choice.current) {
        if (planned)
            detail += QStringLiteral(" · ") + stepDeltaText(current.seconds, choice.seconds)
                + (choice.pins.isEmpty() ? QString() : tr(" with these pins: %1").arg(choice.pins));
        detail += QStringLiteral(" · ") + bytesDeltaText(current.peak, choice.peak);
    }
    return { planned ? secondsText(choice.seconds) : bytesText(choice.peak), detail };
}

void InspectorPanel::offer(Card* card, const Alternative& choice)
{
    card->setActionable(tr("%1 (can be undone)").arg(choice.edit.text));
    connect(card, &Card::activated, this, [this, edit = choice.edit] { apply(edit.design, edit.text); });
}

/// The numbers of alternatives that are there by name, in the cards that wait for them: nothing else of the page is made anew.
void InspectorPanel::askForAlternatives(const std::vector<Alternative>& candidates, int weight)
{
    m_alternatives.reset();
    m_evaluating->ask([this, candidates, weight, notation = document()->notation()](const std::atomic<bool>& stop) {
        if (!pauseUnlessStopped(stop))
            return LatestJob::Answer();
        const auto evaluated =
            std::make_shared<const std::vector<Alternative>>(evaluatedAlternatives(candidates, weight, notation, &stop));
        return LatestJob::Answer([this, evaluated] {
            m_alternatives = evaluated;
            fillAlternatives();
        });
    });
}

void InspectorPanel::fillAlternatives()
{
    const auto choices = m_alternatives;
    const std::vector<QPointer<Card>> waiting = std::exchange(m_waiting, {});
    if (!choices || choices->empty() || waiting.empty() || m_alternativesOf != document()->evaluation()) {
        later();
        return;
    }
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        Card* card = waiting[i];
        if (!card)
            continue;
        if (i + 1 >= choices->size()) { // comes to the same layout as another one
            card->hide();
            continue;
        }
        const Alternative& choice = (*choices)[i + 1];
        const auto [value, detail] = alternativeTexts(choice, choices->front());
        card->setTexts(choice.title, value, detail);
        if (choice.refusal.isEmpty())
            offer(card, choice);
    }
    m_page->orderTabs();
    layOut();
}

void InspectorPanel::collectivePage(InspectorPage& page, const Collective& collective, bool wait)
{
    const auto evaluation = document()->evaluation();
    const Plan& plan = evaluation->plan;
    const QString op = collective.op.valid() ? shortName(evaluation->graph.op(collective.op).name) : QString();
    m_header->setTitle(tr("%1 before %2").arg(qstr(collectiveName(collective.kind)), op));
    m_header->setDetail(QString());
    page.section(tr("What"));
    page.fact(collective.kind == CollectiveKind::AllReduce ? tr("sums") : tr("moves"),
              qstr(evaluation->graph.tensor(collective.tensor).name));
    page.fact(tr("over"), axesText(plan.mesh, collective.axes));
    const std::int64_t groups = collective.groupSize > 0 ? plan.mesh.deviceCount() / collective.groupSize : 0;
    page.fact(tr("group"), tr("%1 devices, %2").arg(collective.groupSize).arg(counted(groups, tr("group"), tr("groups"))));
    page.fact(tr("large side S"), tr("%1 a device").arg(bytesText(collective.bytes)), exactBytesText(collective.bytes));
    const auto hardware = hardwareOf(document()->design());
    if (hardware.ok() && collective.bytes > 0)
        page.fact(tr("link"), rateText(linkOf(collective.axes, plan.mesh, hardware.value()).bytesPerSecond));
    const double total = collective.seconds * static_cast<double>(collective.count);
    page.fact(tr("predicted"),
              QStringLiteral("%1 × %2 = %3").arg(secondsText(collective.seconds)).arg(collective.count).arg(secondsText(total)));
    const DeviceCollective device = deviceCollectives(evaluation->graph, plan)[selection()->collective()];
    const auto share = [&](double seconds) { return digitsText(seconds / plan.seconds() * 100) + QStringLiteral(" %"); };
    if (plan.pipeline)
        page.fact(tr("on one device"), secondsText(device.seconds));
    if (plan.seconds() > 0)
        page.fact(tr("of the step"), share(device.seconds));
    if (plan.seconds() > 0 && device.exposed < device.seconds)
        page.fact(tr("of the step exposed"), share(device.exposed));
    page.fact(tr("from"), shownSpec(*document(), collective.step.before, true), collective.step.before, plan.mesh);
    page.fact(tr("to"), shownSpec(*document(), collective.step.after, true), collective.step.after, plan.mesh);
    explanation(page, collectiveTarget(*evaluation, selection()->collective()), wait);
    if (collective.op.valid())
        findings(page, operationNames(*evaluation, collective.plannedSegment, collective.op), wait);
}

void InspectorPanel::operationPage(InspectorPage& page, const PlannedOp& planned, bool wait)
{
    const auto evaluation = document()->evaluation();
    const Plan& plan = evaluation->plan;
    const Op& op = evaluation->graph.op(planned.op);
    const PlannedSegment& segment = plan.segment(selection()->segment());
    m_header->setTitle(qstr(op.name));
    m_header->setDetail(qstr(phaseName(segment.phase)));
    page.section(tr("What"));
    page.fact(tr("operation"), qstr(opKindName(op.kind)));
    page.fact(tr("in"), segment.count > 1 ? tr("%1 × %2").arg(qstr(segment.name)).arg(segment.count) : qstr(segment.name));
    for (const OperandUse& use : planned.operands)
        page.fact(qstr(evaluation->graph.tensor(use.tensor).name), shownSpec(*document(), use.layout, true), use.layout, plan.mesh);
    page.fact(tr("→ %1").arg(qstr(evaluation->graph.tensor(op.result).name)), shownSpec(*document(), planned.result, true),
              planned.result, plan.mesh);
    page.fact(tr("predicted"), QStringLiteral("%1 × %2").arg(secondsText(planned.seconds)).arg(planned.count));
    explanation(page, operationTarget(*evaluation, selection()->segment(), selection()->operation()), wait);
    findings(page, operationNames(*evaluation, selection()->segment(), planned.op), wait);
}

/// The explanation, at first without what the rows would do if they were pinned: that is evaluated elsewhere, and the page built
/// once more.
std::shared_ptr<const Explanation> InspectorPanel::explained(const ExplainTarget& target, bool wait)
{
    constexpr double kSlow = 0.5; // seconds that telling the effects may take
    constexpr int kMostEffectsOfRows = 6;
    const auto evaluation = document()->evaluation();
    ExplainOptions options;
    if (document()->evaluationSeconds() > 0)
        options.effects = std::min(kMostEffectsOfRows, static_cast<int>(kSlow / document()->evaluationSeconds()));
    if (wait) {
        m_explaining->forget();
        m_explainedOf = evaluation;
        m_explainedTarget = keyOf(target);
        m_explained = std::make_shared<const Explanation>(explain(document()->design(), *evaluation, target, options));
        return m_explained;
    }
    const bool asked = m_explainedOf == evaluation && m_explainedTarget == keyOf(target);
    if (asked && m_explained)
        return m_explained;
    if (options.effects > 0 && (!asked || !m_explaining->isBusy())) {
        m_explainedOf = evaluation;
        m_explainedTarget = keyOf(target);
        m_explained.reset();
        m_explaining->ask([this, evaluation, target, options,
                           design = std::make_shared<const Design>(document()->design())](const std::atomic<bool>& stop) {
            if (!pauseUnlessStopped(stop))
                return LatestJob::Answer();
            ExplainOptions stoppable = options;
            stoppable.stop = &stop;
            auto why = std::make_shared<const Explanation>(explain(*design, *evaluation, target, stoppable));
            return LatestJob::Answer([this, why] {
                m_explained = why;
                later();
            });
        });
    }
    return std::make_shared<const Explanation>(explain(document()->design(), *evaluation, target));
}

void InspectorPanel::explanation(InspectorPage& page, const ExplainTarget& target, bool wait)
{
    const auto known = explained(target, wait);
    const Explanation& why = *known;
    if (whySection(page))
        addCauseCards(page, why, [this](const CauseLink& link) {
            if (link.pin >= 0)
                Q_EMIT pinNamed(link.pin);
            else
                selectCause(*document(), link);
        });
    if (why.axes.empty())
        return;
    page.section(tr("Alternatives"));
    std::vector<int> wanted; // a collective is about its own mesh axes
    if (target.kind == ExplainTarget::Kind::Collective)
        wanted = document()->evaluation()->plan.collective(target.collective).axes;
    for (const AxisExplanation& axis : why.axes)
        if (wanted.empty() || std::find(wanted.begin(), wanted.end(), axis.axis) != wanted.end())
            rows(page, why, axis);
    connect(page.button(tr("All rows …"), tr("Every row on every mesh axis, with what each would move")), &QPushButton::clicked,
            this, [this] { Q_EMIT explanationRequested(); });
}

void InspectorPanel::rows(InspectorPage& page, const Explanation& why, const AxisExplanation& axis)
{
    const QString over = qstr(document()->evaluation()->plan.mesh.axis(axis.axis).name);
    const bool byTime = document()->design().picker.profile == PickerProfile::Shardboard;
    std::size_t shown = 0;
    for (const RankedRow& row : axis.rows) {
        if (row.verdict == RankedRow::Verdict::Impossible || shown++ >= kMostCards)
            continue;
        const bool picked = row.verdict == RankedRow::Verdict::Picked;
        QString detail = tr("over %1 · %2").arg(over, rowLabel(row.row));
        if (picked)
            detail += (axis.by == AxisExplanation::By::Pin ? tr(" · pinned: %1") : tr(" · picked: %1")).arg(qstr(axis.why));
        else if (row.verdict == RankedRow::Verdict::Refused)
            detail += tr(" · refused: %1").arg(qstr(row.why));
        for (const RowMove& move : row.moves)
            if (!move.axes.empty())
                detail += QLatin1Char('\n')
                    + tr("one %1 over %2")
                          .arg(qstr(collectiveName(move.kind)), axesText(document()->evaluation()->plan.mesh, move.axes));
        if (row.effect)
            detail += QLatin1Char('\n') + tr("pinned: %1").arg(effectText(*row.effect));
        else if (row.edit && m_explaining->isBusy())
            detail += QLatin1Char('\n') + tr("pinned: …");
        if (!byTime)
            detail += QLatin1Char('\n') + tr("%1 as MAX counts").arg(bytesText(static_cast<std::int64_t>(std::llround(row.cost))));
        Card* card = page.card(rowTitle(*document()->evaluation(), why, row), secondsText(row.seconds), detail,
                               picked ? Card::Look::Chosen : Card::Look::Plain);
        const std::optional<Repair>& edit = picked ? axis.unpin : row.edit;
        if (!edit)
            continue;
        QPushButton* button = card->addButton(picked ? tr("Unpin") : tr("Pin this"), QString());
        nameWidget(button, "inspectorPin", {}, tr("%1 (can be undone)").arg(qstr(edit->text)));
        button->setFont(uiFont(this, -0.5));
        connect(
            button, &QPushButton::clicked, this,
            [this, repair = *edit] {
                const Status status = applyRepair(*document(), repair);
                m_refusal = status.ok() ? QString() : errorText(status.error());
                if (!status.ok())
                    later();
            },
            Qt::QueuedConnection);
    }
}

/// Those about one of the names; with none, all.
void InspectorPanel::findings(InspectorPage& page, const std::vector<std::string>& wheres, bool wait)
{
    const auto evaluation = document()->evaluation();
    bool first = true;
    std::size_t shown = 0;
    for (const DesignFinding& finding : evaluation->findings) {
        if ((!wheres.empty() && std::find(wheres.begin(), wheres.end(), finding.where) == wheres.end()) || shown++ >= kMostCards)
            continue;
        if (first)
            page.section(wheres.empty() ? tr("Findings") : tr("Finding"));
        first = false;
        const QString detail = finding.fix || finding.repair.empty()
            ? toldText(finding.message)
            : toldText(finding.message) + QStringLiteral(" — ") + toldText(finding.repair);
        Card* card =
            page.card(wheres.empty() ? shortName(finding.where) : qstr(finding.kind).replace(QLatin1Char('-'), QLatin1Char(' ')),
                      finding.costBytes > 0 ? bytesText(finding.costBytes) : QString(), detail, lookOf(finding.severity));
        if (const FindingPlace place = placeOf(*document(), finding); wheres.empty() && place.kind != FindingPlace::Kind::None) {
            card->setActionable(placeText(place));
            connect(
                card, &Card::activated, this,
                [this, place] {
                    if (!selectPlace(*document(), place))
                        Q_EMIT placeChosen(place);
                },
                Qt::QueuedConnection);
        }
        if (finding.fix)
            addRepair(*card, *finding.fix, shown <= kMostRepairs ? effectOfRepair(*finding.fix, wait) : QString());
    }
    askForRepairs();
}

/// What the repair does, or `…` until it was evaluated.
QString InspectorPanel::effectOfRepair(const Repair& repair, bool wait)
{
    const auto evaluation = document()->evaluation();
    if (!document()->design().model.hasGraph() || document()->evaluationSeconds() > kQuick)
        return {};
    if (m_repairedOf != evaluation)
        m_repairEffects.clear();
    m_repairedOf = evaluation;
    if (const auto known = m_repairEffects.find(repair.text); known != m_repairEffects.end())
        return known->second;
    if (wait)
        return m_repairEffects[repair.text] = repairEffect(document()->design(), *evaluation, repair);
    m_unknownRepairs.push_back(repair);
    return QStringLiteral("…");
}

void InspectorPanel::askForRepairs()
{
    const auto evaluation = document()->evaluation();
    const std::vector<Repair> repairs = std::exchange(m_unknownRepairs, {});
    if (repairs.empty())
        return;
    m_repairing->ask(
        [this, evaluation, repairs, design = std::make_shared<const Design>(document()->design())](const std::atomic<bool>& stop) {
            auto told = std::make_shared<std::vector<QString>>();
            if (!pauseUnlessStopped(stop))
                return LatestJob::Answer();
            for (const Repair& repair : repairs)
                told->push_back(stop ? QString() : repairEffect(*design, *evaluation, repair));
            return LatestJob::Answer([this, evaluation, repairs, told] {
                for (std::size_t i = 0; i < repairs.size() && m_repairedOf == evaluation; ++i)
                    m_repairEffects[repairs[i].text] = (*told)[i];
                later();
            });
        });
}

void InspectorPanel::addRepair(Card& card, const Repair& repair, const QString& effect)
{
    QPushButton* button = card.addButton(qstr(repair.text), effect);
    button->setObjectName(QStringLiteral("inspectorRepair"));
    // Later: the repair replaces this page and with it the button. Only for the findings that were clicked on.
    const auto act = [this, repair, seen = std::weak_ptr<const Evaluation>(document()->evaluation())] {
        if (seen.lock() != document()->evaluation())
            return;
        const Status status = applyRepair(*document(), repair);
        m_refusal = status.ok() ? QString() : errorText(status.error());
        if (!status.ok())
            later();
    };
    connect(button, &QPushButton::clicked, this, act, Qt::QueuedConnection);
}

void InspectorPanel::apply(const Design& design, const QString& text)
{
    const Status status = document()->edit(design, text);
    m_refusal = status.ok() ? QString() : errorText(status.error());
    if (!status.ok())
        later();
}

} // namespace shardboard
