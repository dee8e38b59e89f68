// SPDX-License-Identifier: Apache-2.0
// Tokens per second, model and hardware FLOPs utilization of a plan.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/hardware/hardware.h"
#include "model/io/checkpoint/openmodel.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <limits>

using namespace shardboard;

namespace {

Design training(Recompute recompute)
{
    return designOn("fsdp=8", llama3Model(), { WorkloadKind::Train, 16, 8192, DType::BF16, 1, recompute }, "fsdp");
}

Plan planned(const Design& design)
{
    auto evaluation = sure(evaluate(design));
    return evaluation->plan;
}

} // namespace

class TestPerformance : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void ratesFollowFromTheStep()
    {
        const Plan plan = planned(training(Recompute::None));
        const Performance& p = plan.performance;
        QCOMPARE(p.tokens, 16.0 * 8192);
        QCOMPARE(p.modelFlops, p.tokens * (6 * 8030261248.0 + 12 * 32.0 * 4096 * 8192));
        QCOMPARE(p.tokensPerSecondPerDevice, p.tokens / plan.seconds() / 8);
        QCOMPARE(p.mfu, p.modelFlops / 8 / plan.seconds() / findHardware("dgx-h100").value().peakFlops(DType::BF16));
        QCOMPARE(p.recomputing, 1.0);
        QCOMPARE(p.hfu, p.mfu);
        QVERIFY(p.mfu > 0.2 && p.mfu < 0.9);
    }

    /// The whole forward pass again: a third more, a little less because the head is not computed again, and attention's
    /// backward pass takes more than twice its forward pass.
    void recomputingCountsForTheHardwareOnly()
    {
        const Performance full = planned(training(Recompute::Full)).performance;
        QCOMPARE(full.modelFlops, planned(training(Recompute::None)).performance.modelFlops);
        QVERIFY(full.recomputing > 1.2 && full.recomputing < 4.0 / 3);
        QCOMPARE(full.hfu, full.mfu * full.recomputing);
        const Performance selective = planned(training(Recompute::Selective)).performance;
        QVERIFY(selective.recomputing < full.recomputing);
    }

    void inferenceIsAThird()
    {
        Design design = training(Recompute::None);
        design.workload = { WorkloadKind::Prefill, 16, 8192, DType::BF16 };
        QCOMPARE(planned(design).performance.modelFlops * 3, planned(training(Recompute::None)).performance.modelFlops);
        design.workload.kind = WorkloadKind::Decode;
        QCOMPARE(planned(design).performance.tokens, 16.0);
    }

    /// Experts' products are most of the FLOPs of Mixtral. What is dropped is not the model's, what is padded the hardware's alone.
    void droppedAndPadded()
    {
        const auto with = [](double capacity) {
            Workload workload { WorkloadKind::Train, 64, 4096, DType::BF16 };
            workload.capacityFactor = capacity;
            return planned(designOn("expert=8", builtinModel("mixtral-8x7b").value(), workload, "ep"));
        };
        const Performance even = with(0).performance;
        const double experts = 6.0 * 3 * 2 * 4096 * 14336 * 32; // of a token
        for (const double capacity : { 0.25, 0.5 }) {
            const Performance dropped = with(capacity).performance;
            const double expected = even.modelFlops - dropped.tokens * (1 - capacity) * experts;
            QVERIFY(std::abs(dropped.modelFlops / expected - 1) < 1e-9);
            QVERIFY(dropped.mfu < 1);
            QCOMPARE(dropped.hfu, dropped.mfu);
        }
        const Performance padded = with(4).performance;
        QCOMPARE(padded.modelFlops, even.modelFlops);
        const auto flops = [](const Plan& plan) {
            double sum = 0;
            for (const PlannedSegment& segment : plan.segments)
                for (const PlannedOp& op : segment.ops)
                    sum += op.work.flops * static_cast<double>(op.count);
            return sum;
        };
        const double more = flops(with(4)) / flops(with(0));
        QVERIFY(more > 3);
        QVERIFY(std::abs(padded.hfu / padded.mfu / more - 1) < 1e-9);
    }

    void nothingIsEverNanOrInfinite()
    {
        Performance p;
        for (const double seconds :
             { 0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity() })
            for (const double tokens : { 0.0, 5.0 }) {
                p.tokens = tokens;
                p.modelFlops = 7;
                p.rate(seconds, 8, 0);
                QVERIFY(std::isfinite(p.tokensPerSecondPerDevice) && std::isfinite(p.mfu) && std::isfinite(p.hfu));
            }
    }
};

SHARDBOARD_TEST(TestPerformance)
#include "tst_performance.moc"
