// SPDX-License-Identifier: Apache-2.0
// Figures of devices and steps as views, findings, and plans show them: what a device has and what its driver keeps, one price
// for a collective, memory layer by layer, and which logits a prefill computes. Sums are made here once more.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"
#include "tests/widgets/inspectortexts.h"

#include "model/design/compare.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/findings/findings.h"
#include "model/hardware/hardware.h"
#include "model/plan/hostcopies.h"
#include "model/plan/memory/timeline.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/cost/costview.h"
#include "widgets/explain/explainview.h"
#include "widgets/explain/inspector.h"
#include "widgets/explain/rowsmodel.h"
#include "widgets/look/format.h"
#include "widgets/memory/devicebars.h"
#include "widgets/memory/memoryview.h"
#include "widgets/plots/timelinechart.h"
#include "widgets/settings/settings.h"
#include "widgets/workbench/summarybar.h"
#include "widgets/workload/workloadview.h"

#include <QRegularExpression>
#include <QTableView>
#include <QTest>
#include <QUndoStack>

#include <cmath>
#include <map>
#include <set>

using namespace shardboard;

namespace {

constexpr double kMib = 1024.0 * 1024.0;

/// All texts of a card.
QString textsOf(const Card& card)
{
    QStringList out { card.title(), card.value() };
    for (const QLabel* label : card.findChildren<QLabel*>())
        out << unbroken(label->text());
    for (const QPushButton* button : card.findChildren<QPushButton*>())
        out << button->text();
    return out.join(QLatin1Char('\n'));
}

} // namespace

class TestFigures : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void devicesHaveWhatTheDriverReports();
    void whatTheDriverKeepsCounts();
    void aCollectiveHasOnePrice();
    void bytesOfMaxAreThoseOfItsPicker();
    void sameStepTimeNamesPins();
    void memoryRisesAndFallsLayerByLayer();
    void memoryHasAxes();
    void logitsAreAChoice();
    void hostCopiesAreNoCollectives();
};

void TestFigures::devicesHaveWhatTheDriverReports()
{
    // MiB that nvidia-smi reports and GiB that PyTorch has of them; GiB of a TPU and what XLA has of them.
    struct Known {
        const char* id;
        double mib;
        double usableGib;
    };
    const Known known[] = { { "dgx-h100", 81559, 79.11 },        { "dgx-h200", 143771, 139.80 },
                            { "dgx-a100", 81920, 79.25 },        { "dgx-b200", 183359, 178.35 },
                            { "gb200-nvl72", 189471, 184.31 },   { "tpu-v5e-pod", 16 * 1024, 15.75 },
                            { "tpu-v6e-pod", 32 * 1024, 31.25 }, { "tpu7x-4x4x4", 192 * 1024, 189.5 },
                            { "tpu-v5p", 96 * 1024, 95.74 } };
    for (const auto& [id, mib, usable] : known) {
        const Hardware hardware = findHardware(id).value();
        QVERIFY2(std::abs(hardware.memoryBytes() - mib * kMib) < 1, id);
        QVERIFY2(std::abs((hardware.memoryBytes() - hardware.reservedBytes()) / kMib / 1024 - usable) < 0.005, id);
    }
    QCOMPARE(findDevice("a100-sxm-40")->memoryBytes, 40960 * kMib);
}

/// A design that fits only without it: plan, verdict, bar, summary, and finding say the same.
void TestFigures::whatTheDriverKeepsCounts()
{
    Design design = knownDesign();
    Hardware own = hardwareOf(design).value();
    const auto usual = evaluate(design).value();
    const auto kept = static_cast<std::int64_t>(own.reservedBytes());
    QVERIFY(kept > 0);
    own.id = "own";
    own.device.memoryBytes = static_cast<double>(usual->plan.memory.least - 1);
    design.ownHardware = own;
    design.hardware = own.id;
    const auto tight = evaluate(design).value();
    QCOMPARE(tight->plan.memory.runtime, kept + design.memory.contextBytes + design.memory.communicatorBytes);
    const auto tooMuch = [](const Evaluation& of) {
        return std::ranges::any_of(of.findings, [](const DesignFinding& it) { return it.kind == "over-memory"; });
    };
    QVERIFY(tooMuch(*tight));
    Document document;
    QVERIFY(document.setDesign(design).ok());
    const auto memory = shownView<MemoryView>(document, { 900, 400 });
    QCOMPARE(memory->findChild<QLabel*>(QStringLiteral("memory.runtime"))->text(), bytesText(tight->plan.memory.runtime));
    QVERIFY(memory->findChild<QLabel*>(QStringLiteral("memoryVerdict"))->text().contains(QStringLiteral("Does not fit")));
    const auto& parts = memory->bars()->bars().front().parts;
    QVERIFY(std::ranges::any_of(parts, [&](const BarPart& it) { return it.bytes == tight->plan.memory.runtime; }));
    const auto bar = shownView<SummaryBar>(document, { 1600, 60 });
    const QString summary = bar->findChild<QLabel*>(QStringLiteral("summaryMemory"))->toolTip();
    QVERIFY2(summary.contains(exactBytesText(usual->plan.memory.peak)), qPrintable(summary));
    // A file from before has no such key: nothing is kept.
    design.ownHardware->device.reservedBytes = 0;
    const auto before = evaluate(design).value();
    QCOMPARE(before->plan.memory.peak, usual->plan.memory.peak - kept);
    QVERIFY(!tooMuch(*before));
}

void TestFigures::aCollectiveHasOnePrice()
{
    for (const bool train : { false, true }) {
        Document document;
        QVERIFY(document.setDesign(train ? trainingDesign() : knownDesign()).ok());
        const Plan& plan = document.evaluation()->plan;
        const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
        int seen = 0;
        for (CollectiveId i { 0 }; i < plan.collectives.size(); ++i) {
            const Collective& collective = plan.collective(i);
            if (collective.kind == CollectiveKind::LocalSlice || collective.axes.size() > 1)
                continue;
            document.selection()->setCollective(i);
            panel->buildNow();
            const auto facts = shownFacts(*panel);
            const QString predicted = facts.at(QStringLiteral("predicted")).section(QStringLiteral(" ×"), 0, 0);
            QCOMPARE(predicted, secondsText(collective.seconds));
            for (Card* card : shownCards(*panel)) {
                const QString all = textsOf(*card);
                if (!all.contains(QStringLiteral("picked:")) && !all.contains(QStringLiteral("pinned:")))
                    continue;
                if (!all.contains(QStringLiteral("over %1 ·").arg(qstr(plan.mesh.axis(collective.axes.front()).name)))
                    || all.contains(QStringLiteral("Pin this")))
                    continue;
                double sum = 0; // of all that the operation waits for over that mesh axis
                for (const PlannedOp& op : plan.segment(collective.plannedSegment).ops)
                    if (op.op == collective.op)
                        for (const OperandUse& use : op.operands)
                            for (const CollectiveId id : use.collectives)
                                if (plan.collective(id).axes == collective.axes)
                                    sum += plan.collective(id).seconds;
                QCOMPARE(card->value(), secondsText(sum));
                ++seen;
            }
        }
        QVERIFY(seen > 1);
    }
}

void TestFigures::bytesOfMaxAreThoseOfItsPicker()
{
    for (const PickerProfile profile : { PickerProfile::Shardboard, PickerProfile::G1 }) {
        const bool ofMax = profile == PickerProfile::G1;
        Design design = knownDesign();
        design.picker.profile = profile;
        Document document;
        QVERIFY(document.setDesign(design).ok());
        const Plan& plan = document.evaluation()->plan;
        CollectiveId moved { 0 };
        while (plan.collective(moved).seconds == 0 || plan.collective(moved).axes.size() > 1)
            ++moved;
        document.selection()->setCollective(moved);
        const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
        panel->buildNow();
        int told = 0;
        for (Card* card : shownCards(*panel)) {
            const QString all = textsOf(*card);
            told += all.contains(QStringLiteral(" B as MAX counts")) || all.contains(QStringLiteral("iB as MAX counts")) ? 1 : 0;
            QVERIFY2(!card->value().contains(QStringLiteral("iB")), qPrintable(all));
            if (all.contains(QStringLiteral("picked:")))
                QCOMPARE(card->value(), secondsText(plan.collective(moved).seconds));
        }
        QCOMPARE(told > 0, ofMax);
        const auto why = shownView<ExplainView>(document, { 900, 500 });
        why->buildNow();
        const auto* table = why->findChild<QTableView*>(QStringLiteral("explainRows"));
        QVERIFY(table);
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const QModelIndex index = table->model()->index(row, RowsModel::PriceColumn);
            if (index.data().toString() == QStringLiteral("–"))
                continue; // not possible
            QCOMPARE(index.data(Qt::ToolTipRole).toString().contains(QStringLiteral("as MAX counts: ")), ofMax);
            QVERIFY(!index.data().toString().contains(QStringLiteral("iB")));
        }
    }
}

void TestFigures::sameStepTimeNamesPins()
{
    Document document;
    QVERIFY(document.setDesign(trainingDesign()).ok());
    QVERIFY(!document.design().pins.empty());
    // The activations are pinned, so that another cut of this weight is undone before it is used.
    int told = 0;
    const auto panel = shownView<InspectorPanel>(document, { 340, 1400 });
    for (const char* name : { "o_proj", "q_proj", "up_proj", "embed_tokens", "norm" }) {
        document.selection()->setWeight(weightNamed(document, name));
        panel->buildNow();
        for (Card* card : shownCards(*panel))
            told += textsOf(*card).contains(QStringLiteral("same step time with these pins")) ? 1 : 0;
    }
    QVERIFY(told > 0);
    // Without pins nobody blames them.
    QVERIFY(document.setDesign(knownDesign()).ok());
    document.selection()->setWeight(weightNamed(document, "o_proj"));
    panel->buildNow();
    for (Card* card : shownCards(*panel))
        QVERIFY(!textsOf(*card).contains(QStringLiteral("pins")));
}

/// Forward every layer leaves what it keeps, backward every layer takes its own away; the top is the peak that is evaluated.
void TestFigures::memoryRisesAndFallsLayerByLayer()
{
    for (const Recompute recompute : { Recompute::None, Recompute::Full }) {
        Design design = trainingDesign("llama3-8b", "fsdp=2,model=4", "tp+fsdp");
        design.workload.recompute = recompute;
        const auto evaluation = evaluate(design).value();
        const MemoryTimeline timeline = memoryTimeline(evaluation->graph, evaluation->plan);
        std::map<std::pair<int, std::int64_t>, std::int64_t> kept; // by phase and layer
        std::int64_t most = 0;
        for (const MemoryMoment& moment : timeline.moments) {
            most = std::max(most, moment.bytes.total());
            if (moment.layer >= 0)
                kept[{ static_cast<int>(evaluation->plan.segment(moment.plannedSegment).phase), moment.layer }] = moment.bytes.kept;
        }
        QCOMPARE(most, evaluation->plan.memory.peak);
        QCOMPARE(kept.size(), std::size_t { 3 * 32 });
        const std::int64_t layer = kept[{ 0, 1 }] - kept[{ 0, 0 }];
        QVERIFY(layer > 0);
        for (std::int64_t i = 0; i < 32; ++i) {
            QCOMPARE(kept[std::pair(0, i)], i * layer); // what the layers before have left
            QCOMPARE(kept[std::pair(1, i)], i * layer); // its own are in use
        }
    }
}

/// Both axes have names, and numbers that do not touch; where operations are too many, every layer is one point.
void TestFigures::memoryHasAxes()
{
    struct Case {
        const char* model;
        const char* mesh;
        const char* preset;
        int layers; // of a device
    };
    const Case cases[] = { { "llama3-8b", "fsdp=2,model=4", "tp+fsdp", 32 },
                           { "llama3.1-405b", "fsdp=8,model=8", "tp+fsdp", 126 },
                           { "llama3-8b", "stage=16", "pp-1f1b", 2 } };
    for (const auto& [model, mesh, preset, count] : cases) {
        Design design = trainingDesign(model, mesh, preset);
        if (count == 2)
            design.workload.microBatches = 16;
        Document document;
        QVERIFY(document.setDesign(design).ok());
        const auto view = shownView<MemoryView>(document, { 1000, 300 });
        const Evaluation& evaluation = *document.evaluation();
        const std::int64_t stage = evaluation.plan.pipeline ? evaluation.plan.pipeline->fullestStage : 0;
        const MemoryTimeline whole = memoryTimeline(evaluation.graph, evaluation.plan, stage);
        const bool pipeline = evaluation.plan.pipeline.has_value();
        QCOMPARE(whole.moments.size() == view->timeline().moments.size(), pipeline); // of two layers every operation has room
        std::set<std::pair<int, std::int64_t>> layers;
        for (const MemoryMoment& moment : view->timeline().moments)
            if (moment.layer >= 0)
                layers.insert({ static_cast<int>(evaluation.plan.segment(moment.plannedSegment).phase), moment.layer });
        QCOMPARE(layers.size(), std::size_t(3 * count));
        for (const int width : { 420, 1000, 1900 }) {
            view->resize(width, 300);
            QTest::qWait(20);
            const QStringList texts = view->chart()->momentTexts();
            QVERIFY(texts.last().startsWith(QStringLiteral("layer")));
            const auto numbers = texts.filter(QRegularExpression(QStringLiteral("^[0-9]+$")));
            const int least = pipeline ? 3 : width < 1000 ? 2 : 9; // a narrow panel has no room for more
            QVERIFY2(numbers.size() >= least && numbers.contains(QStringLiteral("0")), qPrintable(texts.join(QLatin1Char(' '))));
            QVERIFY(pipeline || numbers.size() < 3 * count);
        }
    }
}

/// A field of the workload: what it takes and what it saves.
void TestFigures::logitsAreAChoice()
{
    const auto field = [](const Design& design) {
        for (const SettingGroup& group : settingGroups(design))
            for (const Setting& setting : group.settings)
                if (setting.id == QStringLiteral("workload.logits"))
                    return setting;
        return Setting {};
    };
    Document document;
    const Design design = knownDesign("data=2,model=4", "tp-sp");
    QVERIFY(document.setDesign(design).ok());
    const Setting logits = field(design);
    QCOMPARE(logits.text(design), QStringLiteral("all"));
    QVERIFY(logits.whyNot(design).isEmpty());
    const Plan before = document.evaluation()->plan;
    QCOMPARE(WorkloadView::applySetting(document, logits, QStringLiteral("last")), QString());
    QVERIFY(document.design().workload.logits == Logits::Last);
    QVERIFY(document.evaluation()->plan.seconds() < before.seconds());
    QVERIFY(document.evaluation()->plan.memory.peak < before.memory.peak);
    document.undoStack()->undo();
    QVERIFY(document.design() == design);
    QVERIFY(!logits.whyNot(trainingDesign()).isEmpty());
}

/// Copies to and from the host are counted once, and not among the collectives, wherever both are told.
void TestFigures::hostCopiesAreNoCollectives()
{
    Design design = trainingDesign();
    design.workload.offload.what = offloadFromName("optimizer,weights,activations").value();
    Document document;
    QVERIFY(document.setDesign(design).ok());
    const Plan& plan = document.evaluation()->plan;
    QVERIFY(!plan.pipeline);
    double host = 0;
    for (const PlannedSegment& segment : plan.segments)
        host += segment.host.seconds;
    double collectives = 0;
    for (const Collective& collective : plan.collectives)
        collectives += collective.seconds * static_cast<double>(collective.count);
    QVERIFY(host > 0 && collectives > 0);
    const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(a, b); };
    QVERIFY(near(collectives, collectiveSecondsAlone(document.evaluation()->graph, plan)));
    std::map<std::string, double> costs;
    double step = 0; // what stands below it as its parts
    for (const CostLine& line : compareDesigns(design, *document.evaluation(), design, *document.evaluation()).costs) {
        costs[line.key] = line.after;
        if (line.key == "compute_seconds" || line.key == "exposed_seconds" || line.key == "bubble_seconds")
            step += line.after;
        else // no other time is told as a part of the step
            QVERIFY2(!line.part || line.unit != CostLine::Unit::Seconds || costs.contains("collective_seconds"), line.key.c_str());
    }
    QVERIFY(near(step, costs.at("step_seconds")));
    QVERIFY(near(collectives, costs.at("collective_seconds")));
    QVERIFY(near(host, costs.at("host_seconds")));
    const auto bar = shownView<SummaryBar>(document, { 1900, 60 });
    const QString tip = bar->findChild<QLabel*>(QStringLiteral("summaryStep"))->toolTip();
    QVERIFY2(tip.contains(secondsText(collectives) + QStringLiteral(" in collectives"))
                 && tip.contains(secondsText(host) + QStringLiteral(" to and from the host")),
             qPrintable(tip));
    const auto cost = shownView<CostView>(document, { 900, 400 });
    const QString total = cost->findChild<ElidedLabel*>(QStringLiteral("costTotal"))->text();
    QVERIFY2(total.contains(QStringLiteral("exposed collectives and host copies")), qPrintable(total));
}

SHARDBOARD_TEST(TestFigures)
#include "tst_figures.moc"
