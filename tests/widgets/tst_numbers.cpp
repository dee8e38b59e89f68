// SPDX-License-Identifier: Apache-2.0
// Numbers on screen: what a strategy replicates by hand, what a device of a pipeline holds and does, and times of collectives that
// are told apart. Sums are made here once more, from the plan's operations and collectives and from the mesh alone.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"
#include "tests/widgets/inspectortexts.h"

#include "model/design/deviceweights.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/findings/findings.h"
#include "model/plan/time/residuals.h"
#include "model/plan/time/steptimeline.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/cost/collectivesmodel.h"
#include "widgets/cost/collectivesview.h"
#include "widgets/cost/costview.h"
#include "widgets/explain/inspector.h"
#include "widgets/flow/flowscene.h"
#include "widgets/flow/flowview.h"
#include "widgets/look/format.h"
#include "widgets/tiles/tilecanvas.h"
#include "widgets/tiles/tileview.h"
#include "widgets/weights/weightmodel.h"
#include "widgets/weights/weighttable.h"
#include "widgets/workbench/summarybar.h"

#include <QContextMenuEvent>
#include <QMenu>
#include <QTreeView>
#include <QTreeWidget>

#include <cmath>

using namespace shardboard;

namespace {

const DesignFinding* findingAt(const Evaluation& evaluation, const std::string& kind, const std::string& end)
{
    for (const DesignFinding& finding : evaluation.findings)
        if (finding.kind == kind && finding.where.ends_with(end))
            return &finding;
    return nullptr;
}

Design byHand(Design design, const char* match, Strategy strategy = {})
{
    design.strategies.push_back({ match, std::move(strategy), std::nullopt });
    return design;
}

/// 8 of 32 layers on each of 4 stages, two devices a stage.
Design stagedDesign(const char* preset = "pp-1f1b")
{
    Design design;
    design.mesh = Mesh::parse("stage=4,model=2").value();
    design.model = builtinModel("llama3-8b").value();
    design.workload = { WorkloadKind::Train, 16, 2048, DType::BF16 };
    design.workload.microBatches = 8;
    (void)applyPreset(design, preset).ok();
    return design;
}

/// Numbers of a plan made once more: from the mesh's sizes, the layouts, and what each operation and collective takes.
struct Recount {
    explicit Recount(const Evaluation& evaluation)
        : it(evaluation)
        , plan(evaluation.plan)
        , stages(plan.pipeline ? plan.mesh.axis(plan.pipeline->axis).size : 1)
        , segments(plan.segments.size())
    {
        for (const MeshAxis& axis : plan.mesh.axes())
            devices *= axis.size;
        for (std::size_t s = 0; s < plan.segments.size(); ++s)
            for (const PlannedOp& op : plan.segments[s].ops)
                segments[s].compute += op.seconds * static_cast<double>(op.count);
        for (const Collective& collective : plan.collectives) {
            const double seconds = collective.seconds * static_cast<double>(collective.count);
            const double bytes = static_cast<double>(collective.bytes * collective.count);
            if (isSend(collective)) {
                sends += seconds;
                continue;
            }
            Seconds& segment = segments[collective.plannedSegment];
            segment.bytes += bytes;
            segment.collectives += seconds;
        }
        countIntervals();
        addStep();
    }

    struct Seconds {
        double compute = 0;
        double collectives = 0;
        double exposed = 0;
        double bytes = 0; ///< moved
    };

    bool isLayer(std::size_t segment) const { return it.graph.segment(plan.segments[segment].segment).isLayer; }
    bool isSend(const Collective& collective) const
    {
        return plan.pipeline && collective.kind == CollectiveKind::SendRecv
            && collective.axes == std::vector { plan.pipeline->axis };
    }
    /// Part of a segment's seconds and bytes that one device has: the layers divide by the stages here.
    double onDevice(std::size_t segment) const { return isLayer(segment) ? 1.0 / static_cast<double>(stages) : 1; }
    double onDevice(const Collective& collective) const
    {
        return isSend(collective) ? 1.0 / static_cast<double>(stages) : onDevice(collective.plannedSegment);
    }
    /// Of one device in a step.
    double exposedOf(CollectiveId id) const
    {
        const Collective& collective = plan.collective(id);
        const double of = isSend(collective) ? collective.seconds * static_cast<double>(collective.count) : exposed[id];
        return of * onDevice(collective);
    }

    /// Bytes of a device, and how many devices hold the same: all dims divide here.
    std::int64_t bytesOn(const WeightLayout& weight) const
    {
        std::int64_t elements = 1;
        for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim)
            elements *= weight.spec.shape[dim] / parts(weight, dim);
        return elements * (weight.spec.dtype == DType::F32 ? 4 : 2);
    }
    std::int64_t copiesOfEach(const WeightLayout& weight) const
    {
        std::int64_t distinct = 1;
        for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim)
            distinct *= parts(weight, dim);
        return devices / stages / distinct;
    }
    std::int64_t layersOn(const WeightLayout& weight) const
    {
        return weight.firstLayer < 0 ? weight.copies : weight.copies / stages;
    }

    /// Whether the busiest stage has a part of the model that is no layer.
    bool isThere(std::size_t segment) const
    {
        const Segment& end = it.graph.segment(plan.segments[segment].segment);
        const std::string name = end.of.valid() ? it.graph.segment(end.of).name : end.name;
        return stages == 1 || busiest == (name == it.graph.segments.front().name ? 0 : stages - 1);
    }

    const Evaluation& it;
    const Plan& plan;
    std::int64_t stages;
    std::int64_t devices = 1;
    std::vector<Seconds> segments;
    double sends = 0; ///< of all stages
    std::vector<double> exposed; ///< by collective, of all stages
    Seconds device; ///< of the busiest stage
    double sent = 0; ///< by the busiest stage
    std::int64_t busiest = 0;
    double bubble = 0;
    std::int64_t moved = 0; ///< bytes, by one device
    std::int64_t moving = 0; ///< collectives

private:
    std::int64_t parts(const WeightLayout& weight, std::size_t dim) const
    {
        std::int64_t out = 1;
        for (const AxisRef& ref : weight.layout.dims[dim])
            out *= plan.mesh.axis(ref.axis).size;
        return weight.spec.shape[dim] % out == 0 ? out : 0; // a division by none would be seen
    }

    /// From the timeline: a collective is exposed while the device waits for it, and by its share of the device while that computes
    /// beside it. The busiest stage is the one that computes and waits for collectives the longest.
    void countIntervals()
    {
        const StepTimeline timeline(it.graph, plan, plan.kernelShare);
        exposed.resize(plan.collectives.size());
        for (std::int64_t stage = 0; stage < stages; ++stage) {
            Seconds own;
            double out = 0;
            std::vector<TimelineInterval> computed;
            std::vector<TimelineInterval> onLinks;
            timeline.visit(stage, [&](const TimelineInterval& interval) {
                (interval.stream == 0 ? computed : onLinks).push_back(interval);
                own.compute += interval.stream == 0 ? interval.end - interval.start : 0;
            });
            std::ranges::sort(computed, {}, &TimelineInterval::start);
            for (const TimelineInterval& interval : onLinks) {
                const double seconds = interval.end - interval.start;
                if (!interval.collective.valid()) {
                    out += seconds;
                    own.exposed += seconds;
                    continue;
                }
                double waits = seconds;
                if (!interval.waited) {
                    double beside = 0;
                    auto next = std::ranges::lower_bound(computed, interval.start, {}, &TimelineInterval::end);
                    for (; next != computed.end() && next->start < interval.end; ++next)
                        beside += std::min(next->end, interval.end) - std::max(next->start, interval.start);
                    waits = plan.kernelShare * std::max(0.0, beside);
                    own.compute -= waits;
                }
                own.exposed += waits;
                exposed[interval.collective] += waits;
                segments[interval.segment].exposed += waits;
            }
            if (own.compute + own.exposed > (device.compute + device.exposed) * (1 + 1e-9)) {
                device.compute = own.compute;
                device.exposed = own.exposed;
                busiest = stage;
                sent = out;
            }
        }
        bubble = timeline.seconds() - device.compute - device.exposed;
    }

    /// Collectives and bytes of the busiest stage: its layers, and the end that it has.
    void addStep()
    {
        for (std::size_t s = 0; s < segments.size(); ++s) {
            const double share = isLayer(s) ? onDevice(s) : isThere(s) ? 1 : 0;
            device.collectives += segments[s].collectives * share;
            device.bytes += segments[s].bytes * share;
        }
        device.collectives += sent;
        for (const Collective& collective : plan.collectives) {
            moving += collective.kind == CollectiveKind::LocalSlice ? 0 : 1;
            if (isSend(collective))
                device.bytes += static_cast<double>(collective.bytes * collective.count) * onDevice(collective);
        }
        moved = qRound64(device.bytes);
    }
};

struct Shown {
    const char* name;
    Design design;
};

/// A pipeline, FSDP with collectives beside the computation, mixture of experts, and a profile of MAX.
std::vector<Shown> shownDesigns()
{
    Design fsdp = trainingDesign("llama3-8b", "fsdp=8", "fsdp");
    fsdp.workload.overlap = Overlap::Weights;
    Design moe = trainingDesign("mixtral-8x7b", "expert=4,model=2", "ep+tp");
    moe.workload.overlap = Overlap::All;
    Design max = knownDesign();
    max.picker.profile = PickerProfile::G1;
    Design both = stagedDesign("pp-interleaved");
    both.mesh = Mesh::parse("stage=4,data=2,model=2").value();
    (void)applyPreset(both, "pp-interleaved").ok();
    both.workload.overlap = Overlap::Weights;
    return { { "pipeline", stagedDesign() }, { "interleaved", both }, { "FSDP", fsdp }, { "MoE", moe }, { "MAX", max } };
}

bool sameNumber(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

} // namespace

class TestNumbers : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void replicatedByHandIsFound();
    void replicatedByHandIsMarkedAndMended();
    void aStageCountsItsOwnLayers();
    void noAlternativeCutsOverStages();
    void sharesAreOfOneDevice();
    void exposedTimeIsNotAllTime();
    void localSlicesAreNoCollectives();
    void throughputSaysOfWhat();
    void sumsOnScreenAreThePlans();
    void sharesAddUpToTheStep();
    void weightsAreCountedOnADevice();
    void tilesNameTheDevicesOfAStage();
    void collapsedBoxesAreOfADevice();
};

void TestNumbers::replicatedByHandIsFound()
{
    constexpr std::int64_t kOProj = std::int64_t { 4096 } * 4096 * 2;
    const auto inPlace = [](Design design) {
        for (StrategyEntry& entry : design.strategies)
            if (entry.match.find("o_proj") != std::string::npos)
                entry.strategy = {};
        return design;
    };
    // A cut that the preset asks for, and an entry behind it that replicates.
    const auto hidden = evaluate(byHand(knownDesign(), "model.layers.*.self_attn.o_proj.weight")).value();
    const DesignFinding* finding = findingAt(*hidden, "replicated", "o_proj.weight");
    QVERIFY(finding);
    QCOMPARE(finding->severity, Severity::Warning);
    QCOMPARE(finding->costBytes, 32 * kOProj * 3 / 4);
    QVERIFY(finding->fix);
    const auto mended = evaluate(repaired(byHand(knownDesign(), "model.layers.*.self_attn.o_proj.weight"), *finding->fix)).value();
    QVERIFY(!findingAt(*mended, "replicated", "o_proj.weight"));
    QCOMPARE(hidden->plan.memory.weights - mended->plan.memory.weights, finding->costBytes);
    // Nobody asks for a mesh axis: a note.
    const auto meant = evaluate(inPlace(knownDesign())).value();
    finding = findingAt(*meant, "replicated", "o_proj.weight");
    QVERIFY(finding);
    QCOMPARE(finding->severity, Severity::Note);
    QCOMPARE(finding->costBytes, 32 * kOProj * 3 / 4);
    // It names a mesh axis of one device.
    const auto one =
        evaluate(byHand(knownDesign("data=8,model=1", "replicate"), "*.o_proj.weight", { StrategyKind::Columnwise, { "model" } }))
            .value();
    finding = findingAt(*one, "replicated", "o_proj.weight");
    QVERIFY(finding);
    QCOMPARE(finding->severity, Severity::Warning);
    // What presets leave whole is meant, and small weights do not matter.
    for (const char* preset : { "replicate", "megatron-tp", "fsdp" })
        for (const char* mesh : { "data=2,model=4", "data=8,model=1" }) {
            const auto evaluation = evaluate(knownDesign(mesh, preset)).value();
            QVERIFY2(std::ranges::none_of(evaluation->findings, [](const auto& it) { return it.kind == "replicated"; }), preset);
        }
    QVERIFY(!findingAt(*evaluate(byHand(knownDesign(), "*layernorm*")).value(), "replicated", "layernorm.weight"));
}

void TestNumbers::replicatedByHandIsMarkedAndMended()
{
    Document document;
    QVERIFY(document.setDesign(byHand(knownDesign(), "model.layers.*.self_attn.o_proj.weight")).ok());
    const int weight = weightNamed(document, "o_proj");
    WeightModel model;
    model.setEvaluation(document.evaluation(), Qt::white, Qt::black);
    QVERIFY(model.indexOfWeight(weight).data(WeightModel::ReplicatedRole).toBool());
    QVERIFY(!model.indexOfWeight(weightNamed(document, "q_proj")).data(WeightModel::ReplicatedRole).toBool());
    document.selection()->setWeight(weight);
    const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
    panel->buildNow();
    auto* button = panel->findChild<QPushButton*>(QStringLiteral("inspectorRepair"));
    QVERIFY(button);
    QTest::mouseClick(button, Qt::LeftButton);
    QTRY_COMPARE(specOf(document, weight), std::string("P(None, 'model')"));
}

void TestNumbers::aStageCountsItsOwnLayers()
{
    Document document;
    QVERIFY(document.setDesign(stagedDesign()).ok());
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
    panel->buildNow();
    auto facts = shownFacts(*panel);
    const std::int64_t half = std::int64_t { 4096 } * 4096; // of bf16, cut in two
    QCOMPARE(facts[QStringLiteral("copies of each")], QStringLiteral("1"));
    QCOMPARE(facts[QStringLiteral("in 8 of 32 layers")], bytesText(8 * half));
    WeightModel model;
    model.setEvaluation(document.evaluation(), Qt::white, Qt::black);
    const QModelIndex group = model.indexOfWeight(weightNamed(document, "o_proj")).parent();
    std::int64_t perLayer = 0;
    for (const WeightLayout& it : document.evaluation()->weights)
        perLayer += it.firstLayer >= 0 ? it.bytesPerDevice : 0;
    QCOMPARE(group.data(WeightModel::BytesPerDeviceRole).toLongLong(), 8 * perLayer);
}

void TestNumbers::noAlternativeCutsOverStages()
{
    Document document;
    QVERIFY(document.setDesign(stagedDesign()).ok());
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
    panel->buildNow();
    const auto cards = shownCards(*panel);
    QVERIFY(std::ranges::any_of(cards, [](const Card* card) { return card->title().contains(QStringLiteral("over model")); }));
    for (const Card* card : cards)
        QVERIFY2(!card->title().contains(QStringLiteral("stage")), qPrintable(card->title()));
    const auto list = shownView<WeightPanel>(document, { 340, 600 });
    const auto tiles = shownView<TileView>(document, { 900, 500 });
    auto* tree = list->findChild<QTreeView*>(QStringLiteral("weightTree"));
    for (QWidget* asked : { tree->viewport(), static_cast<QWidget*>(tiles.get()) }) {
        QContextMenuEvent event(QContextMenuEvent::Mouse, asked->rect().center(), asked->mapToGlobal(asked->rect().center()));
        QCoreApplication::sendEvent(asked, &event);
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        QVERIFY(menu);
        QStringList texts;
        for (const QAction* action : menu->actions())
            texts << action->text();
        menu->close();
        const QString all = texts.join(QLatin1Char('\n'));
        QVERIFY2(all.contains(QStringLiteral("model")) && !all.contains(QStringLiteral("stage")), qPrintable(all));
    }
    QVERIFY(document.undoStack()->count() == 0);
}

void TestNumbers::sharesAreOfOneDevice()
{
    Document document;
    QVERIFY(document.setDesign(stagedDesign()).ok());
    const Plan& plan = document.evaluation()->plan;
    const auto view = shownView<CollectivesView>(document, { 900, 300 });
    // One device of the fullest stage has a quarter of the layers' collectives.
    for (CollectiveId i { 0 }; i < plan.collectives.size(); ++i) {
        const Collective& collective = plan.collective(i);
        if (!document.evaluation()->graph.segment(plan.segment(collective.plannedSegment).segment).isLayer
            || collective.kind != CollectiveKind::AllReduce)
            continue;
        document.selection()->setCollective(i);
        const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
        panel->buildNow();
        auto facts = shownFacts(*panel);
        const double seconds = collective.seconds * static_cast<double>(collective.count) / 4;
        QCOMPARE(facts[QStringLiteral("of the step")], digitsText(seconds / plan.seconds() * 100) + QStringLiteral(" %"));
        break;
    }
}

void TestNumbers::exposedTimeIsNotAllTime()
{
    Document document;
    Design design = trainingDesign();
    design.workload.overlap = Overlap::Weights;
    QVERIFY(document.setDesign(design).ok());
    const Plan& plan = document.evaluation()->plan;
    QVERIFY(plan.exposedSeconds < plan.collectiveSeconds * 0.99);
    const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
    panel->buildNow();
    auto facts = shownFacts(*panel);
    QCOMPARE(facts[QStringLiteral("in collectives")], secondsText(plan.collectiveSeconds));
    QCOMPARE(facts[QStringLiteral("of the step exposed")], secondsText(plan.exposedSeconds));
    // In the table of costs the operations of a part wait as long as the part does.
    const auto cost = shownView<CostView>(document, { 900, 400 });
    const auto* tree = cost->findChild<QTreeWidget*>(QStringLiteral("costTree"));
    constexpr int kExposedShare = Qt::UserRole + 1;
    for (int i = 0; i < tree->topLevelItemCount(); ++i) {
        const QTreeWidgetItem* part = tree->topLevelItem(i);
        double exposed = 0;
        for (int k = 0; k < part->childCount(); ++k)
            exposed += part->child(k)->data(1, kExposedShare).toDouble();
        const double whole = part->data(1, kExposedShare).toDouble();
        QVERIFY2(std::abs(exposed - whole) < 1e-9, qPrintable(part->text(0)));
    }
    const auto collectives = shownView<CollectivesView>(document, { 900, 300 });
    const QString total = unbroken(collectives->findChild<ElidedLabel*>(QStringLiteral("collectivesTotal"))->text());
    QVERIFY2(total.contains(QStringLiteral("%1 exposed").arg(secondsText(plan.exposedSeconds))), qPrintable(total));
}

void TestNumbers::localSlicesAreNoCollectives()
{
    Document document;
    // A device takes its part of the weight that it has whole.
    QVERIFY(document.setDesign(byHand(knownDesign(), "model.layers.*.self_attn.o_proj.weight")).ok());
    std::int64_t moving = 0;
    std::int64_t slices = 0;
    for (const Collective& collective : document.evaluation()->plan.collectives)
        ++(collective.kind == CollectiveKind::LocalSlice ? slices : moving);
    QVERIFY(slices > 0);
    const auto view = shownView<CollectivesView>(document, { 1200, 300 });
    const QString total = unbroken(view->findChild<ElidedLabel*>(QStringLiteral("collectivesTotal"))->text());
    const QString all = counted(moving, QStringLiteral("collective"), QStringLiteral("collectives"));
    QVERIFY2(total.endsWith(QStringLiteral(" · ") + all), qPrintable(total));
    const auto flow = shownView<FlowView>(document, { 900, 500 });
    const QString walk = unbroken(flow->findChild<ElidedLabel*>(QStringLiteral("flowStep"))->text());
    QVERIFY2(walk.endsWith(QStringLiteral(" with ") + all), qPrintable(walk));
}

void TestNumbers::throughputSaysOfWhat()
{
    Document document;
    QVERIFY(document.setDesign(knownDesign()).ok());
    const auto bar = shownView<SummaryBar>(document, { 1600, 60 });
    const QString rate = bar->findChild<QLabel*>(QStringLiteral("summaryRate"))->text();
    QVERIFY2(rate.contains(QStringLiteral("device")), qPrintable(rate));
}

/// What a device does and holds, and what the parts of the model take, in every view that tells it.
void TestNumbers::sumsOnScreenAreThePlans()
{
    for (const auto& [name, design] : shownDesigns()) {
        Document document;
        QVERIFY2(document.setDesign(design).ok(), name);
        const Evaluation& evaluation = *document.evaluation();
        const Plan& plan = evaluation.plan;
        const Recount sums(evaluation);
        const double step = sums.device.compute + sums.device.exposed + sums.bubble;
        QVERIFY2(sameNumber(step, plan.seconds()), name);
        QVERIFY(sameNumber(plan.device.seconds(), plan.seconds()));
        QCOMPARE(plan.pipeline.has_value(), sums.stages > 1);

        // The bar.
        const auto bar = shownView<SummaryBar>(document, { 1900, 60 });
        QCOMPARE(bar->findChild<QLabel*>(QStringLiteral("summaryStep"))->text(), secondsText(step));
        const double tokens =
            static_cast<double>(design.workload.batch * design.workload.sequence) / step / static_cast<double>(sums.devices);
        QCOMPARE(bar->findChild<QLabel*>(QStringLiteral("summaryRate"))->text(),
                 digitsText(tokens) + QStringLiteral(" tok/s/device"));
        const QString tip = bar->findChild<QLabel*>(QStringLiteral("summaryStep"))->toolTip();
        for (const double seconds : { sums.device.compute, sums.device.collectives, sums.device.exposed })
            QVERIFY2(tip.contains(secondsText(seconds)), qPrintable(tip));

        // The inspector's page of the design.
        const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
        document.selection()->setWeight(-1);
        panel->buildNow();
        auto facts = shownFacts(*panel);
        QCOMPARE(facts[QStringLiteral("step")], secondsText(step));
        const Hardware hardware = hardwareOf(design).value();
        const auto likely = stepRange(evaluation.graph, plan, hardware);
        QCOMPARE(facts.contains(QStringLiteral("step likely")), likely.has_value());
        if (likely) {
            QVERIFY2(likely->least <= step * (1 + 1e-9) && step <= likely->most * (1 + 1e-9), name);
            QCOMPARE(facts[QStringLiteral("step likely")],
                     QStringLiteral("%1 to %2").arg(secondsText(likely->least), secondsText(likely->most)));
            const auto held = memoryRange(evaluation.graph, plan, hardware).value();
            QVERIFY(held.least <= static_cast<double>(plan.memory.least) && held.most >= static_cast<double>(plan.memory.most));
            QCOMPARE(facts[QStringLiteral("memory likely")],
                     QStringLiteral("%1 to %2").arg(bytesText(qRound64(held.least)), bytesText(qRound64(held.most))));
        }
        QCOMPARE(facts[QStringLiteral("in collectives")], secondsText(sums.device.collectives));
        QCOMPARE(facts[QStringLiteral("of the step exposed")], secondsText(sums.device.exposed));
        QCOMPARE(facts[QStringLiteral("bytes moved")], bytesText(sums.moved));

        // Above the table of collectives, and its rows.
        const QString all = secondsText(sums.device.collectives);
        const QString exposed = secondsText(sums.device.exposed);
        const auto collectives = shownView<CollectivesView>(document, { 1600, 300 });
        const QString total = unbroken(collectives->findChild<ElidedLabel*>(QStringLiteral("collectivesTotal"))->text());
        QCOMPARE(total,
                 QStringLiteral("%1 exposed · %2 · %3")
                     .arg(exposed == all ? all : all + QStringLiteral(", ") + exposed, bytesText(sums.moved),
                          counted(sums.moving, QStringLiteral("collective"), QStringLiteral("collectives"))));
        CollectivesModel rows;
        rows.setEvaluation(document.evaluation(), Qt::gray, Qt::red, {});
        QCOMPARE(rows.rowCount(), static_cast<int>(plan.collectives.size()));
        for (int row = 0; row < rows.rowCount(); ++row) {
            const Collective& it = plan.collectives[static_cast<std::size_t>(row)];
            const auto text = [&](int column) { return rows.index(row, column).data().toString(); };
            QCOMPARE(text(CollectivesModel::TimeColumn), secondsText(it.seconds * static_cast<double>(it.count)));
            std::int64_t group = 1;
            for (const int axis : it.axes)
                group *= plan.mesh.axis(axis).size;
            QCOMPARE(text(CollectivesModel::GroupColumn), QString::number(group));
            const bool heavy =
                rows.index(row, CollectivesModel::KindColumn).data(Qt::ForegroundRole).value<QColor>() == QColor(Qt::red);
            QCOMPARE(heavy, sums.exposedOf(CollectiveId(row)) > 0.1 * step);
        }
    }
}

void TestNumbers::sharesAddUpToTheStep()
{
    constexpr int kComputeShare = Qt::UserRole;
    constexpr int kExposedShare = Qt::UserRole + 1;
    enum { Name, Share, Time, Compute, Collectives, Exposed, Moved };
    for (const auto& [name, design] : shownDesigns()) {
        Document document;
        QVERIFY2(document.setDesign(design).ok(), name);
        const Plan& plan = document.evaluation()->plan;
        const Recount sums(*document.evaluation());
        const double step = plan.seconds();
        const auto view = shownView<CostView>(document, { 1200, 500 });
        const auto* tree = view->findChild<QTreeWidget*>(QStringLiteral("costTree"));
        QCOMPARE(tree->topLevelItemCount(), static_cast<int>(sums.segments.size()) + (sums.sends > 0 ? 1 : 0));
        double shares = 0; // of the busiest stage
        for (int row = 0; row < tree->topLevelItemCount(); ++row) {
            const QTreeWidgetItem* part = tree->topLevelItem(row);
            const double compute = part->data(Share, kComputeShare).toDouble();
            const double exposed = part->data(Share, kExposedShare).toDouble();
            const bool ofSegment = row < static_cast<int>(sums.segments.size());
            const auto s = static_cast<std::size_t>(row);
            const Recount::Seconds sends { 0, sums.sends, sums.sends, 0 };
            const Recount::Seconds& expected = ofSegment ? sums.segments[s] : sends;
            const double device = ofSegment ? sums.onDevice(s) : sums.sent / sums.sends;
            QVERIFY2(sameNumber(compute * step, expected.compute * device), qPrintable(part->text(Name)));
            QVERIFY2(sameNumber(exposed * step, expected.exposed * device), qPrintable(part->text(Name)));
            const auto told = [](double seconds) { return seconds > 0 ? secondsText(seconds) : QStringLiteral("–"); };
            QCOMPARE(part->text(Time), told((expected.compute + expected.exposed) * device));
            QCOMPARE(part->text(Collectives), told(expected.collectives * device));
            double inOperations = 0;
            for (int k = 0; k < part->childCount(); ++k) {
                const QTreeWidgetItem* operation = part->child(k);
                inOperations += operation->data(Share, kComputeShare).toDouble() + operation->data(Share, kExposedShare).toDouble();
            }
            QVERIFY2(!ofSegment || sameNumber(inOperations, compute + exposed), qPrintable(part->text(Name)));
            std::int64_t moved = 0;
            for (const Collective& collective : plan.collectives)
                if (ofSegment ? !sums.isSend(collective) && collective.plannedSegment == PlannedSegmentId(row)
                              : sums.isSend(collective))
                    moved += collective.bytes * collective.count;
            moved = qRound64(static_cast<double>(moved) * device);
            QCOMPARE(part->text(Moved), moved > 0 ? bytesText(moved) : QStringLiteral("–"));
            // The ends lie on different stages.
            if (!ofSegment || sums.isLayer(s) || sums.isThere(s))
                shares += compute + exposed;
        }
        // Of layers the table tells what all stages have on average; only what overlaps differs a little from stage to stage.
        const bool differs = sums.stages > 1 && plan.overlap != Overlap::None;
        const double sum = shares + sums.bubble / step;
        QVERIFY2(differs ? std::abs(sum - 1) < 0.02 : sameNumber(sum, 1),
                 qPrintable(QStringLiteral("%1: %2").arg(QString::fromUtf8(name)).arg(sum)));
    }
}

/// Bytes on a device and copies of each shard: in the list, the inspector, the tiles, and by device.
void TestNumbers::weightsAreCountedOnADevice()
{
    for (const auto& [name, design] : shownDesigns()) {
        Document document;
        QVERIFY2(document.setDesign(design).ok(), name);
        const Evaluation& evaluation = *document.evaluation();
        const Recount sums(evaluation);
        const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
        const auto tiles = shownView<TileView>(document, { 900, 500 });
        WeightModel list;
        list.setEvaluation(document.evaluation(), Qt::white, Qt::black);
        std::map<QModelIndex, std::int64_t> groups;
        std::vector<std::int64_t> held(static_cast<std::size_t>(sums.devices), 0);
        for (int i = 0; i < static_cast<int>(evaluation.weights.size()); ++i) {
            const WeightLayout& weight = evaluation.weights[static_cast<std::size_t>(i)];
            if (weight.spec.role != TensorRole::Weight)
                continue;
            const std::int64_t bytes = sums.bytesOn(weight);
            const QModelIndex row = list.indexOfWeight(i);
            QCOMPARE(row.data(WeightModel::BytesPerDeviceRole).toLongLong(), bytes);
            if (row.parent().isValid())
                groups[row.parent()] += bytes * sums.layersOn(weight);
            for (std::int64_t device = 0; device < sums.devices; ++device) {
                // Stages are the first axis of the mesh: embedding on the first ones, the head on the last.
                const std::int64_t stage = device / (sums.devices / sums.stages);
                const std::int64_t own = weight.segment == "embed" ? 0 : sums.stages - 1;
                held[static_cast<std::size_t>(device)] += weight.firstLayer >= 0 ? bytes * sums.layersOn(weight)
                    : stage == own                                               ? bytes
                                                                                 : 0;
            }
            document.selection()->setWeight(i);
            panel->buildNow();
            auto facts = shownFacts(*panel);
            QCOMPARE(facts[QStringLiteral("on a device")], bytesText(bytes));
            QCOMPARE(facts[QStringLiteral("copies of each")], countText(sums.copiesOfEach(weight)));
            if (weight.copies > 1) {
                const QString layers = sums.stages > 1
                    ? QStringLiteral("in %1 of %2 layers").arg(sums.layersOn(weight)).arg(weight.copies)
                    : QStringLiteral("in %1 layers").arg(weight.copies);
                QCOMPARE(facts[layers], bytesText(bytes * sums.layersOn(weight)));
            }
            // Collectives of what is computed with it, as long as one device is in them.
            for (const Card* card : shownCards(*panel)) {
                if (!card->title().contains(QStringLiteral(" over ")) || card->title().startsWith(QStringLiteral("cut ")))
                    continue;
                QVERIFY2(std::ranges::any_of(evaluation.plan.collectives,
                                             [&](const Collective& it) {
                                                 return card->value()
                                                     == secondsText(it.seconds * static_cast<double>(it.count) * sums.onDevice(it));
                                             }),
                         qPrintable(card->title() + card->value()));
            }
            QCOMPARE(unbroken(tiles->findChild<QLabel*>(QStringLiteral("tileShard"))->text()),
                     unbroken(QStringLiteral("%1 per device · %2")
                                  .arg(bytesText(bytes),
                                       counted(sums.copiesOfEach(weight), QStringLiteral("copy"), QStringLiteral("copies")))));
        }
        for (const auto& [group, bytes] : groups)
            QCOMPARE(group.data(WeightModel::BytesPerDeviceRole).toLongLong(), bytes);
        for (std::int64_t device = 0; device < sums.devices; ++device) {
            std::int64_t told = 0;
            for (const DeviceWeight& it : weightsOnDevice(evaluation, device))
                told += it.bytes;
            QCOMPARE(told, held[static_cast<std::size_t>(device)]);
        }
        document.selection()->setWeight(-1);
        panel->buildNow();
        const std::int64_t fullest = evaluation.plan.pipeline ? evaluation.plan.pipeline->fullestStage : 0;
        QCOMPARE(shownFacts(*panel)[QStringLiteral("weights on a device")],
                 bytesText(held[static_cast<std::size_t>(fullest * (sums.devices / sums.stages))]));
    }
}

/// As many devices at a tile as there are copies, and each of them has it.
void TestNumbers::tilesNameTheDevicesOfAStage()
{
    Design wide = stagedDesign();
    wide.mesh = Mesh::parse("stage=4,data=4,model=2").value();
    QVERIFY(applyPreset(wide, "pp-1f1b").ok());
    Design whole = stagedDesign();
    whole.mesh = Mesh::parse("stage=4,data=2").value();
    QVERIFY(applyPreset(whole, "pp-1f1b").ok());
    Design shared = whole; // embedding and head have one table, on the first stage and the last
    shared.model = builtinModel("qwen2.5-0.5b").value();
    QVERIFY(applyPreset(shared, "pp-1f1b").ok());
    Design plain = trainingDesign("llama3-8b", "fsdp=2,model=4", "tp+fsdp");
    for (const Design& design : { wide, whole, shared, plain }) {
        Document document;
        QVERIFY(document.setDesign(design).ok());
        const Evaluation& evaluation = *document.evaluation();
        const auto tiles = shownView<TileView>(document, { 900, 500 });
        for (int i = 0; i < static_cast<int>(evaluation.weights.size()); ++i) {
            const WeightLayout& weight = evaluation.weights[static_cast<std::size_t>(i)];
            if (weight.spec.role != TensorRole::Weight)
                continue;
            document.selection()->setWeight(i);
            const TileScene& scene = tiles->canvas()->scene();
            const std::int64_t copies = tiles->findChild<QLabel*>(QStringLiteral("tileShard"))
                                            ->text()
                                            .section(QStringLiteral(" · "), -1)
                                            .section(QLatin1Char(' '), 0, 0)
                                            .remove(QLatin1Char(','))
                                            .toLongLong();
            QVERIFY(copies > 0);
            for (const Tile& tile : scene.tiles) {
                QCOMPARE(tile.owners, copies);
                const auto ids = tile.devices().section(QStringLiteral(", …"), 0, 0).split(QStringLiteral(", "));
                QCOMPARE(tile.devices().contains(QLatin1Char('('))
                             ? tile.devices().section(QLatin1Char('('), 1).chopped(1).toLongLong()
                             : ids.size(),
                         copies);
                for (const QString& id : ids) {
                    const auto held = weightsOnDevice(evaluation, id.toLongLong());
                    QVERIFY(std::ranges::any_of(held, [&](const DeviceWeight& it) { return it.weight == i && it.copies > 0; }));
                }
            }
            if (!scene.replicated)
                continue;
            const QString told = tiles->canvas()->accessibleItemName(0);
            QVERIFY2(copies == 1 ? told.startsWith(QStringLiteral("whole on the one device"))
                                 : told.startsWith(QStringLiteral("on all %1 devices").arg(countText(copies))),
                     qPrintable(told));
        }
    }
}

void TestNumbers::collapsedBoxesAreOfADevice()
{
    std::vector<Shown> designs = shownDesigns();
    designs.push_back({ "local slice", byHand(trainingDesign("llama3-8b", "data=2,model=4", "megatron-tp"), "targets") });
    std::int64_t slices = 0;
    for (const auto& [name, design] : designs) {
        Document document;
        QVERIFY2(document.setDesign(design).ok(), name);
        const Plan& plan = document.evaluation()->plan;
        const Recount sums(*document.evaluation());
        for (PlannedSegmentId unfolded { 0 }; unfolded < plan.segments.size(); ++unfolded)
            for (const FlowItem& item : makeFoldedScene(*document.evaluation(), unfolded).items) {
                if (item.kind != FlowItem::Folded)
                    continue;
                double seconds = sums.segments[item.segment].compute * sums.onDevice(item.segment);
                double bytes = 0;
                std::int64_t moving = 0;
                for (const Collective& it : plan.collectives) {
                    if (it.plannedSegment != item.segment)
                        continue;
                    seconds += it.seconds * static_cast<double>(it.count) * sums.onDevice(it);
                    bytes += static_cast<double>(it.bytes * it.count) * sums.onDevice(it);
                    ++(it.kind == CollectiveKind::LocalSlice ? slices : moving);
                }
                QVERIFY2(sameNumber(item.seconds, seconds), qPrintable(item.detail));
                QVERIFY(item.seconds <= plan.seconds());
                QCOMPARE(item.bytes, qRound64(bytes));
                const QString words = counted(moving, QStringLiteral("collective"), QStringLiteral("collectives"));
                QCOMPARE(item.detail, moving > 0 ? words + QStringLiteral(" · ") + secondsText(seconds) : secondsText(seconds));
            }
    }
    QVERIFY(slices > 0);
}

SHARDBOARD_TEST(TestNumbers)
#include "tst_numbers.moc"
