// SPDX-License-Identifier: Apache-2.0
// The best layouts against other answers: what is claimed is what a plan costs, nothing that is at hand is better, and on small
// graphs every assignment is planned and looked at.
#include "model/design/optimize/optimize.h"
#include "model/design/presets/presets.h"
#include "model/picker/menu/menu.h"
#include "tests/model/optimize/layoutcase.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace shardboard;
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

/// The least seconds of a network among all assignments with at most so many bytes, by trying every one.
class EveryAssignment {
public:
    explicit EveryAssignment(const LayoutNetwork& network)
        : m_network(network)
        , m_choice(network.sizes.size(), 0)
        , m_tables(network.sizes.size())
    {
        for (const LayoutNetwork::Table& table : network.tables) // complete when its last node is chosen
            m_tables[static_cast<std::size_t>(std::ranges::max(table.nodes))].push_back(&table);
    }
    double least(double limit)
    {
        m_limit = limit;
        m_least = std::numeric_limits<double>::infinity();
        choose(0, 0, 0);
        return m_least;
    }

private:
    void choose(std::size_t node, double seconds, double bytes)
    {
        if (node == m_choice.size()) {
            if (bytes <= m_limit)
                m_least = std::min(m_least, seconds);
            return;
        }
        for (m_choice[node] = 0; m_choice[node] < m_network.sizes[node]; ++m_choice[node]) {
            double more = 0;
            double held = 0;
            for (const LayoutNetwork::Table* table : m_tables[node]) {
                std::size_t place = 0;
                for (const int of : table->nodes)
                    place = place * static_cast<std::size_t>(m_network.sizes[static_cast<std::size_t>(of)])
                        + static_cast<std::size_t>(m_choice[static_cast<std::size_t>(of)]);
                more += table->seconds[place];
                held += table->bytes.empty() ? 0 : table->bytes[place];
            }
            choose(node + 1, seconds + more, bytes + held);
        }
    }

    const LayoutNetwork& m_network;
    std::vector<int> m_choice;
    std::vector<std::vector<const LayoutNetwork::Table*>> m_tables; ///< by node
    double m_limit = 0;
    double m_least = 0;
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
    /// Many layouts share a price: of whatever shape, it is that of the steps that a plan would take.
    void pricesAreThoseOfTheSteps()
    {
        Random random(53);
        int priced = 0;
        int exact = 0;
        for (int i = 0; i < 24; ++i) {
            Case of = randomCase(random, 2 + i % 2, 4);
            for (GraphTensor& tensor : of.graph.tensors)
                for (std::int64_t& size : tensor.spec.shape)
                    if (random.below(3) == 0)
                        size = 1 + random.below(24);
            LayoutNumbers layouts;
            LayoutPrices prices(of.graph, of.design.mesh, of.hardware, Dispatch::PerExpert, layouts);
            ReshardPlanner planner(of.design.mesh, of.hardware);
            const auto layout = [&](std::size_t rank, const Layout* before) {
                Layout out = Layout::replicated(rank);
                for (int axis = 0; axis < of.design.mesh.axisCount(); ++axis) {
                    const auto place = static_cast<std::size_t>(random.below(static_cast<int>(rank) + 2));
                    const bool open =
                        before == nullptr || std::ranges::find(before->partial, AxisRef { axis }) != before->partial.end();
                    if (place < rank)
                        out.dims[place].insert(random.below(2) == 0 ? out.dims[place].begin() : out.dims[place].end(),
                                               AxisRef { axis });
                    else if (place == rank && open)
                        out.partial.push_back(AxisRef { axis });
                }
                return out;
            };
            for (std::size_t id = 0; id < of.graph.tensors.size(); ++id) {
                const TensorSpec& spec = of.graph.tensors[id].spec;
                for (int pair = 0; pair < 20; ++pair) {
                    const Layout from = layout(spec.shape.size(), nullptr);
                    const Layout to = layout(spec.shape.size(), &from);
                    const double seconds = prices.seconds(TensorId(id), spec.dtype, layouts.of(from), layouts.of(to));
                    const auto floor = prices.floor(TensorId(id), spec.dtype, layouts.of(from), layouts.of(to));
                    if (!std::isfinite(seconds)) { // not looked at
                        QVERIFY(!std::isfinite(floor.seconds));
                        continue;
                    }
                    QVERIFY2(floor.seconds <= seconds * (1 + 1e-9) && (!floor.exact || floor.seconds >= seconds * (1 - 1e-9)),
                             qPrintable(QStringLiteral("%1 %2 to %3: floor %4 of %5")
                                            .arg(QString::fromStdString(shapeText(spec.shape)),
                                                 QString::fromStdString(specText(from, of.design.mesh)),
                                                 QString::fromStdString(specText(to, of.design.mesh)))
                                            .arg(floor.seconds)
                                            .arg(seconds)));
                    exact += floor.exact;
                    double sum = 0;
                    for (const ReshardStep& step : sure(planner.steps(from, to, { spec.shape, spec.dtype, 1 }, "t")))
                        if (step.kind != CollectiveKind::LocalSlice)
                            sum += planner.seconds(step.kind, step.axes, stepBytes(step, spec.shape, spec.dtype, of.design.mesh));
                    QVERIFY2(std::abs(seconds - sum) <= 1e-9 * sum,
                             qPrintable(QStringLiteral("%1 %2 to %3: %4, not %5")
                                            .arg(QString::fromStdString(shapeText(spec.shape)),
                                                 QString::fromStdString(specText(from, of.design.mesh)),
                                                 QString::fromStdString(specText(to, of.design.mesh)))
                                            .arg(seconds)
                                            .arg(sum)));
                    priced += sum > 0;
                }
            }
        }
        QVERIFY2(priced > 1000, qPrintable(QString::number(priced)));
        QVERIFY2(exact > 300, qPrintable(QString::number(exact)));
    }

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
            const Case of = randomCase(random, 1 + i % 2, 1 + random.below(i % 2 == 0 ? 3 : 2));
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

    /// Graphs of at most 8 operations on at most 3 mesh axes, with at most a million assignments: the least of the network
    /// is the least of all; with a limit, prices of memory bound the least of all that keep it, and what they find keeps it.
    void networksEqualBruteForce()
    {
        const int cases = qEnvironmentVariableIntValue("SHARDBOARD_TEST_CASES") > 0
            ? qEnvironmentVariableIntValue("SHARDBOARD_TEST_CASES") // such as 10000, which takes minutes
            : 60;
        Random random(29);
        int looked = 0;
        int limited = 0;
        int met = 0;
        double assigned = 0;
        for (int i = 0; looked < cases; ++i) {
            QVERIFY(i < 40 * cases);
            const int axes = 1 + random.below(3);
            const Case of = randomCase(random, axes, 1 + random.below(axes == 1 ? 8 : axes == 2 ? 3 : 2));
            const Searched searched(of);
            double assignments = 1;
            for (const int size : searched.network.sizes)
                assignments *= size;
            if (assignments > (i % 500 == 0 ? 1e6 : 5e3))
                continue; // a few large ones are enough
            ++looked;
            assigned += assignments;
            EveryAssignment every(searched.network);
            const double best = every.least(std::numeric_limits<double>::infinity());
            const minplus::LeastCost free = minplus::least(searched.network.costs(0));
            QVERIFY(!free.values.empty());
            QVERIFY2(std::abs(free.cost / best - 1) < 1e-9 && std::abs(free.bound / best - 1) < 1e-9,
                     qPrintable(QStringLiteral("case %1: %2, %3").arg(i).arg(free.cost).arg(best)));
            // The same when it begins with floors.
            Searched later(of, true);
            const minplus::LeastCost least0 = minplus::least(later.network.costs(0));
            QVERIFY2(std::abs(least0.cost / best - 1) < 1e-9 && std::abs(least0.bound / best - 1) < 1e-9,
                     qPrintable(QStringLiteral("case %1, floors: %2, %3").arg(i).arg(least0.cost).arg(best)));
            QVERIFY(std::abs(searched.network.seconds(least0.values) / best - 1) < 1e-9);
            const minplus::LeastCost small = minplus::least(searched.network.costs(1e3));
            const double most = searched.network.bytes(free.values);
            const double least = searched.network.bytes(small.values);
            if (!(least < most))
                continue;
            ++limited;
            const double limit = least + (most - least) * random.below(100) / 100;
            const double within = every.least(limit);
            const auto [bound, found] = withinLimit(searched.network, limit);
            QVERIFY2(bound <= within * (1 + 1e-9) && found >= within * (1 - 1e-9),
                     qPrintable(QStringLiteral("case %1: %2 %3 %4").arg(i).arg(bound).arg(within).arg(found)));
            met += found <= within * (1 + 1e-9);
        }
        qInfo() << looked << "graphs," << assigned << "assignments;" << limited << "with a limit, of which prices meet the least in"
                << met;
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
