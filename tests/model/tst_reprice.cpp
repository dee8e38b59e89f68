// SPDX-License-Identifier: Apache-2.0
// Pricing apart from planning gives what planning gives, plain and compiled.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/plan/pipeline.h"
#include "model/plan/time/compiledcost.h"
#include "model/plan/time/reprice.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard;

namespace {

struct Case {
    const char* mesh;
    const char* preset;
    Overlap overlap;
    std::int64_t microBatches;
};

constexpr Case kCases[] {
    { "data=2,model=4", "megatron-tp", Overlap::None, 1 },     { "fsdp=16,model=8", "tp-sp+fsdp", Overlap::Weights, 1 },
    { "data=4,context=4", "cp-ring", Overlap::All, 2 },        { "stage=4,model=8", "pp-1f1b", Overlap::Weights, 8 },
    { "stage=4,model=8", "pp-interleaved", Overlap::None, 8 },
};

Design designOf(const Case& c)
{
    Workload workload { WorkloadKind::Train, 64, 4096, DType::BF16, c.microBatches };
    workload.overlap = c.overlap;
    return designOn(c.mesh, llama3Model(), workload, c.preset);
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

} // namespace

class TestReprice : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void pricesAreThoseOfThePlan()
    {
        for (const Case& c : kCases) {
            const Design design = designOf(c);
            const auto evaluation = sure(evaluate(design));
            const Graph& graph = evaluation->graph;
            const Plan& plan = evaluation->plan;
            const Hardware hardware = findHardware(design.hardware).value();
            Plan again = plan;
            reprice(graph, again, hardware, DType::BF16);
            QCOMPARE(again.seconds(), plan.seconds());
            QCOMPARE(again.performance.mfu, plan.performance.mfu);
            CompiledCost compiled(graph, plan, DType::BF16);
            QVERIFY(compiled.kernels() > 10);
            QVERIFY(compiled.collectives() > 0);
            const StepCost cost = compiled.on(hardware);
            QVERIFY2(near(cost.seconds, plan.seconds()), c.preset);
            QVERIFY(near(cost.computeSeconds, plan.computeSeconds));
            QVERIFY(near(cost.collectiveSeconds, plan.collectiveSeconds));
            QVERIFY(near(cost.exposedSeconds, plan.exposedSeconds));
            QVERIFY(near(cost.performance.mfu, plan.performance.mfu));
            QCOMPARE(cost.peakBytes, plan.memory.peak);
        }
    }

    /// A send that is priced in parts, gathered behind the slow link, says so, in plans and when priced again; one that is not,
    /// not.
    void sendsSayHowTheyArePriced()
    {
        int inParts = 0;
        int whole = 0;
        for (const char* preset : { "megatron-tp", "tp-sp" }) {
            Design design = designOf(kCases[3]);
            sure(applyPreset(design, preset));
            design.pipeline = { "stage", 1 };
            const auto evaluation = evaluate(design);
            Plan again = evaluation.value()->plan;
            const Hardware hardware = findHardware(design.hardware).value();
            reprice(evaluation.value()->graph, again, hardware, DType::BF16);
            const Plan& plan = evaluation.value()->plan;
            for (std::size_t i = 0; i < plan.collectives.size(); ++i) {
                const Collective& send = plan.collectives[i];
                if (!isStageSend(plan, send))
                    continue;
                QCOMPARE(again.collectives[i].algorithm, send.algorithm);
                QCOMPARE(again.collectives[i].seconds, send.seconds);
                CollectivePrices prices(plan.mesh, hardware);
                const double point = prices.seconds(CollectiveKind::SendRecv, send.axes, send.bytes);
                const bool parts = send.algorithm == "in parts, then all-gather over model";
                QCOMPARE(send.seconds < point * (1 - 1e-9), parts);
                ++(parts ? inParts : whole);
            }
        }
        QVERIFY(inParts > 0 && whole > 0);
    }

    /// Copies do not mislead each other.
    void copiesPriceOnTheirOwn()
    {
        const auto evaluation = evaluate(designOf(kCases[1]));
        CompiledCost one(evaluation.value()->graph, evaluation.value()->plan, DType::BF16);
        const Hardware fast = findHardware("dgx-b200").value();
        const Hardware slow = findHardware("dgx-a100").value();
        const double onFast = one.on(fast).seconds;
        CompiledCost other = one;
        const double onSlow = other.on(slow).seconds;
        QVERIFY(onSlow > onFast);
        QCOMPARE(one.on(slow).seconds, onSlow);
        QCOMPARE(other.on(fast).seconds, onFast);
        QCOMPARE(one.on(fast).seconds, onFast);
    }

    /// Other hardware: plain and compiled agree, and faster links make a step no slower.
    void otherHardware()
    {
        for (const Case& c : kCases) {
            const auto evaluation = evaluate(designOf(c));
            CompiledCost compiled(evaluation.value()->graph, evaluation.value()->plan, DType::BF16);
            for (const Hardware& hardware : hardwarePresets()) {
                Plan plan = evaluation.value()->plan;
                reprice(evaluation.value()->graph, plan, hardware, DType::BF16);
                const StepCost cost = compiled.on(hardware);
                QVERIFY2(near(cost.seconds, plan.seconds()), hardware.id.c_str());
                QVERIFY(std::isfinite(cost.seconds) && cost.seconds > 0);
                QCOMPARE(cost.fits, static_cast<double>(cost.peakBytes) <= hardware.memoryBytes());
                const Plan& planned = evaluation.value()->plan;
                QCOMPARE(plan.memory.peak - planned.memory.peak,
                         static_cast<std::int64_t>(hardware.reservedBytes()) - planned.reservedBytes);
                QCOMPARE(cost.peakBytes, plan.memory.peak);
                Hardware faster = hardware;
                for (Level& level : faster.levels)
                    level.link.bytesPerSecond *= 2;
                QVERIFY(compiled.on(faster).seconds <= cost.seconds);
            }
        }
    }
};

SHARDBOARD_TEST(TestReprice)
#include "tst_reprice.moc"
