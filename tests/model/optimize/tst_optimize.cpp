// SPDX-License-Identifier: Apache-2.0
// The best layouts against other answers: what is claimed is what a plan costs, nothing that is at hand is better, and on small
// graphs every assignment is planned and looked at.
#include "model/design/optimize/layoutdesign.h"
#include "model/design/optimize/optimize.h"
#include "model/design/presets/presets.h"
#include "model/ops/opdefinition.h"
#include "model/picker/menu/menu.h"
#include "model/solver/random.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>

using namespace shardboard;
using solver::Random;

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

/// A forward pass of random operations on one value [B,S,H] and what becomes of it.
Graph randomGraph(Random& random, int ops)
{
    Graph graph;
    Segment segment;
    segment.name = "block";
    const auto tensor = [&](const std::string& name, TensorRole role, Shape shape) {
        GraphTensor out;
        out.spec.name = name;
        out.spec.role = role;
        out.spec.dtype = DType::BF16;
        out.spec.shape = std::move(shape);
        out.spec.dimLabels.assign(out.spec.shape.size(), std::string());
        graph.tensors.push_back(out);
        return lastId(graph.tensors);
    };
    const std::int64_t hidden = 256LL << random.below(3);
    const auto size = [&] { return hidden << random.below(2); };
    const std::int64_t batch = 4LL << random.below(3);
    const std::int64_t rows = 128LL << random.below(4);
    std::vector<TensorId> values { tensor("x", TensorRole::Input, { batch, rows, hidden }) };
    for (int i = 0; i < ops; ++i) {
        const std::string name = "op" + std::to_string(i);
        const TensorId from = values[static_cast<std::size_t>(random.below(static_cast<int>(values.size())))];
        const Shape shape = graph.tensor(from).shape;
        Op op { name, OpKind::Silu, { from }, kNoTensor, {} };
        Shape result = shape;
        switch (random.below(4)) {
        case 0:
        case 1:
            op.kind = OpKind::Linear;
            result.back() = size();
            op.operands.push_back(tensor(name + ".weight", TensorRole::Weight, { result.back(), shape.back() }));
            break;
        case 2:
            for (const TensorId other : values)
                if (other != from && graph.tensor(other).shape == shape) {
                    op.kind = random.below(2) == 0 ? OpKind::Add : OpKind::Mul;
                    op.operands.push_back(other);
                    break;
                }
            break;
        default:
            break;
        }
        op.result = tensor("v" + std::to_string(i), TensorRole::Activation, result);
        values.push_back(op.result);
        graph.ops.push_back(op);
        segment.ops.push_back(lastId(graph.ops));
    }
    segment.carryOut = values.back();
    graph.segments.push_back(segment);
    return graph;
}

/// A graph, and what it is planned for.
struct Case {
    Graph graph;
    Design design;
    Hardware hardware;
    std::vector<Layout> whole;

    Result<Plan> plan(const std::vector<Layout>& layouts, const std::vector<Pin>& pins) const
    {
        return buildPlan({ graph, design.mesh, layouts, hardware, design.picker, pins, design.workload, design.pipeline, {} });
    }
};

Case randomCase(Random& random, int axes)
{
    Case out;
    out.graph = randomGraph(random, 1 + random.below(axes == 1 ? 3 : 2));
    std::string mesh;
    for (int axis = 0; axis < axes; ++axis)
        mesh += (axis > 0 ? "," : "") + std::string(1, static_cast<char>('a' + axis)) + "=" + std::to_string(2 << random.below(2));
    out.design.mesh = sure(Mesh::parse(mesh));
    out.hardware = sure(findHardware(random.below(2) == 0 ? "dgx-h100" : "dgx-a100"));
    for (const GraphTensor& tensor : out.graph.tensors)
        out.whole.push_back(Layout::replicated(tensor.spec.shape.size()));
    return out;
}

/// Everything that a search knows of a case.
struct Searched {
    LayoutNumbers layouts;
    LayoutSpace space;
    LayoutNetwork network;

    explicit Searched(const Case& of)
    {
        const Plan base = sure(of.plan(of.whole, {}));
        space = sure(layoutSpace(of.graph, of.design.mesh, {}, layouts));
        LayoutPrices prices(of.graph, of.design.mesh, of.hardware, Dispatch::PerExpert, layouts);
        const StepRates rates = ratesAt(of.graph, base, of.hardware.levels.size());
        const MemorySettings memory;
        network = layoutNetwork(
            { of.graph, of.design.mesh, of.hardware, of.design.workload, memory, base, rates, space, layouts, prices, {} });
    }

    double planned(const Case& of, const std::vector<int>& choice) const
    {
        std::vector<Layout> stored = of.whole;
        for (std::size_t w = 0; w < network.weights.size(); ++w)
            for (const TensorId tensor : network.weights[w].tensors)
                stored[tensor] =
                    layouts[network.weights[w]
                                .stored[static_cast<std::size_t>(choice[static_cast<std::size_t>(network.weightNode(space, w))])]];
        const Design design = designOf(of.design, of.graph, of.design.mesh, space, network, layouts, choice, {});
        return sure(of.plan(stored, design.pins)).seconds();
    }
};

} // namespace

class TestOptimize : public QObject {
    Q_OBJECT
private:
    static Workload workload(WorkloadKind kind, std::int64_t batch, std::int64_t sequence)
    {
        Workload out;
        out.kind = kind;
        out.batch = batch;
        out.sequence = sequence;
        return out;
    }

    static void holds(const Design& design, const OptimizedDesign& answer, const OptimizeOptions& options)
    {
        const Certificate& certificate = answer.certificate;
        const auto again = evaluated(answer.design);
        QCOMPARE(again->plan.seconds(), certificate.objective);
        QVERIFY(certificate.lowerBound <= certificate.objective);
        QVERIFY(certificate.objective <= evaluated(design)->plan.seconds() || !certificate.greedyFits);
        for (const std::string& name : presetsFor(design.mesh, design.model)) {
            Design preset = design;
            if (!applyPreset(preset, name).ok() || preset.pipeline != design.pipeline)
                continue;
            const auto evaluation = evaluated(preset);
            if (!options.memoryBytes || static_cast<double>(evaluation->plan.memory.peak) <= *options.memoryBytes)
                QVERIFY2(certificate.objective <= evaluation->plan.seconds(), name.c_str());
        }
        if (certificate.winner == "layouts")
            QVERIFY2(std::abs(certificate.modelled / certificate.objective - 1) < 0.02,
                     qPrintable(QString::number(certificate.modelled / certificate.objective)));
    }

private Q_SLOTS:
    void costsWhatItClaims_data()
    {
        QTest::addColumn<QString>("mesh");
        QTest::addColumn<int>("kind");
        for (const char* mesh : { "model=4", "data=2,model=4", "data=4,model=8" })
            for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train })
                QTest::addRow("%s %s", mesh, workloadName(kind).c_str()) << QString::fromLatin1(mesh) << static_cast<int>(kind);
    }

    void costsWhatItClaims()
    {
        QFETCH(QString, mesh);
        QFETCH(int, kind);
        const Design design =
            designOn(mesh.toStdString(), llama3Model(), workload(static_cast<WorkloadKind>(kind), 32, 2048), "megatron-tp");
        const OptimizeOptions options;
        holds(design, sure(optimizeLayouts(design, options)), options);
    }

    /// Every assignment of rows and weights is planned: what the network chooses is the best of them, and its bound holds.
    void equalsBruteForce()
    {
        Random random(7);
        int equal = 0;
        int looked = 0;
        for (int i = 0; i < 60; ++i) {
            const Case of = randomCase(random, 1 + i % 2);
            const Searched searched(of);
            const minplus::LeastCost least = minplus::least(searched.network.costs(0));
            QVERIFY(!least.values.empty());
            std::vector<int> choice = least.values;
            const double answer = searched.planned(of, choice);
            // Values are no choice of a plan: it brings them where the first that takes them wants them.
            std::vector<std::size_t> nodes;
            double assignments = 1;
            for (std::size_t node = 0; node < searched.network.sizes.size(); ++node)
                if (node < searched.space.decisions.size()
                    || node >= searched.space.decisions.size() + searched.network.values.size()) {
                    nodes.push_back(node);
                    assignments *= searched.network.sizes[node];
                }
            if (assignments > 4000)
                continue;
            for (const std::size_t node : nodes)
                choice[node] = 0;
            double best = answer;
            for (bool more = true; more;) {
                best = std::min(best, searched.planned(of, choice));
                std::size_t at = 0;
                while (at < nodes.size() && ++choice[nodes[at]] == searched.network.sizes[nodes[at]])
                    choice[nodes[at++]] = 0;
                more = at < nodes.size();
            }
            ++looked;
            equal += answer <= best * (1 + 1e-12);
            QVERIFY2(least.bound <= best * (1 + 1e-9), qPrintable(QString::number(least.bound / best, 'g', 12)));
        }
        QVERIFY(looked > 20);
        QCOMPARE(equal, looked);
    }

    void keepsTheLimit()
    {
        const Design design = designOn("data=4,model=4", llama3Model(), workload(WorkloadKind::Train, 16, 2048), "tp-sp+fsdp");
        const auto base = evaluated(design);
        OptimizeOptions options;
        const double fastest = sure(optimizeLayouts(design, options)).certificate.objective;
        options.memoryBytes = static_cast<double>(base->plan.memory.peak);
        const OptimizedDesign answer = sure(optimizeLayouts(design, options));
        QVERIFY(answer.feasible);
        QVERIFY(static_cast<double>(answer.evaluation->plan.memory.least) <= *options.memoryBytes);
        QVERIFY(answer.certificate.objective >= fastest);
        holds(design, answer, options);
        options.memoryBytes = 1 * kGiB;
        const OptimizedDesign none = sure(optimizeLayouts(design, options));
        QVERIFY(!none.feasible);
        QCOMPARE(none.missingBytes, static_cast<double>(none.evaluation->plan.memory.least) - kGiB);
    }

    void respectsWhatIsSaid()
    {
        Design design = designOn("data=4,model=4", llama3Model(), workload(WorkloadKind::Prefill, 16, 2048), "megatron-tp");
        OptimizeOptions options;
        options.keep = { "*q_proj*" };
        options.forbid = { { "*", "data" } };
        Pin pin;
        pin.match = "residual";
        pin.whole = { "model" };
        design.pins.push_back(pin);
        const OptimizedDesign answer = sure(optimizeLayouts(design, options));
        QCOMPARE(weightOf(*answer.evaluation, "q_proj.weight").layout, weightOf(*evaluated(design), "q_proj.weight").layout);
        QVERIFY(std::ranges::find(answer.design.pins, pin) != answer.design.pins.end());
        for (const PlannedSegment& segment : answer.evaluation->plan.segments)
            for (const PlannedOp& op : segment.ops) {
                if (answer.evaluation->graph.tensor(answer.evaluation->graph.op(op.op).result).name == "residual")
                    QVERIFY(!placementOn(op.result, 1).sharded());
                QVERIFY(answer.certificate.winner != "layouts" || !placementOn(op.result, 0).sharded());
            }
        OptimizeOptions unknownWeight;
        unknownWeight.keep = { "nothing" };
        QVERIFY(!optimizeLayouts(design, unknownWeight).ok());
        OptimizeOptions unknownAxis;
        unknownAxis.forbid = { { "*", "nowhere" } };
        QVERIFY(!optimizeLayouts(design, unknownAxis).ok());
    }

    /// Many mesh axes, and little time.
    void endsInTime()
    {
        const Design design = designOn("a=2,b=4,c=4,d=8", llama3Model(), workload(WorkloadKind::Train, 64, 2048));
        OptimizeOptions options;
        const auto begin = std::chrono::steady_clock::now();
        options.deadline = begin + std::chrono::milliseconds(500);
        const OptimizedDesign answer = sure(optimizeLayouts(design, options));
        QVERIFY(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)); // on a busy machine
        QVERIFY(answer.feasible);
    }

    void tellsHowFarItIs()
    {
        const Design design = designOn("data=2,model=4", llama3Model(), workload(WorkloadKind::Train, 8, 1024));
        OptimizeOptions options;
        std::vector<OptimizeProgress> seen;
        options.progress = [&](const OptimizeProgress& now) { seen.push_back(now); };
        const OptimizedDesign answer = sure(optimizeLayouts(design, options));
        QCOMPARE(seen.size(), answer.certificate.history.size());
        for (std::size_t i = 1; i < seen.size(); ++i)
            QVERIFY(seen[i].best <= seen[i - 1].best && seen[i].seconds >= seen[i - 1].seconds);
        const std::atomic<bool> cancelled = true;
        options.cancelled = &cancelled;
        QVERIFY(sure(optimizeLayouts(design, options)).certificate.objective >= answer.certificate.objective);
    }
};

SHARDBOARD_TEST(TestOptimize)
#include "tst_optimize.moc"
