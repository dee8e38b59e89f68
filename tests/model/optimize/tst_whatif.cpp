// SPDX-License-Identifier: Apache-2.0
// What would it take: prices against searches that are asked for the same by themselves, and what has to hold of any price.
#include "model/design/optimize/whatif.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <set>

using namespace shardboard;

namespace {

constexpr double kStepUnit = 1024.0 * 1024;

Design trained()
{
    return designOn("data=2,model=4", denseModel(4096, 1024, 4096, 8, 16, 8, 64), { WorkloadKind::Train, 16, 1024, DType::BF16 },
                    "megatron-tp");
}

} // namespace

class TestWhatIf : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void pricesAreThoseOfSearches()
    {
        const Design design = trained();
        const OptimizedDesign free = optimizeLayouts(design, {}).value();
        OptimizeOptions smallest;
        smallest.objective = LayoutObjective::Memory;
        const OptimizedDesign least = optimizeLayouts(design, smallest).value();
        const auto needed = static_cast<double>(least.evaluation->plan.memory.least);
        WhatIfOptions options;
        options.stepBytes = 16 * kStepUnit;
        options.optimize.memoryBytes = (needed + static_cast<double>(free.evaluation->plan.memory.least)) / 2;
        const WhatIfAnswer answer = whatIf(design, options).value();
        QVERIFY(answer.complete && answer.best.feasible);
        QCOMPARE(answer.best.certificate.objective, optimizeLayouts(design, options.optimize).value().certificate.objective);
        int memory = 0;
        std::set<std::string> tensors;
        for (const WhatIf& one : answer.cases) {
            if (!one.feasible)
                continue;
            const auto evaluation = planOnly(one.design).value();
            QCOMPARE(evaluation->plan.seconds(), one.objective);
            QCOMPARE(static_cast<double>(evaluation->plan.memory.peak), one.peakBytes);
            QCOMPARE(one.objective - one.change, answer.best.certificate.objective);
            if (one.kind == WhatIf::Kind::Memory) {
                ++memory;
                QVERIFY(static_cast<double>(evaluation->plan.memory.least) <= *options.optimize.memoryBytes + one.bytes);
                if (one.bytes > 0)
                    QVERIFY(one.change <= 0); // what fitted fits
            } else {
                QVERIFY(tensors.insert(one.tensor).second);
                QVERIFY2(weightOf(*evaluation, one.tensor).layout.isReplicated(), one.tensor.c_str());
                QVERIFY(!weightOf(*answer.best.evaluation, one.tensor).layout.isReplicated());
            }
        }
        QVERIFY(memory >= 1);
        for (const WeightLayout& weight : answer.best.evaluation->weights)
            if (!weight.layout.isReplicated() && weight.spec.role == TensorRole::Weight)
                QVERIFY2(std::ranges::find(answer.cases, weight.spec.name, &WhatIf::tensor) != answer.cases.end(),
                         weight.spec.name.c_str());
    }

    /// Without a limit another layout of a weight can only be slower: the best is the best of all.
    void nothingIsBetterThanTheBest()
    {
        const WhatIfAnswer answer = whatIf(trained(), {}).value();
        QVERIFY(!answer.cases.empty());
        for (const WhatIf& one : answer.cases) {
            QVERIFY(one.kind == WhatIf::Kind::Replicated && one.feasible);
            QVERIFY2(one.change >= -1e-9 * one.objective, one.tensor.c_str());
        }
    }

    void endsWhenItIsStopped()
    {
        const std::atomic<bool> stop = true;
        WhatIfOptions options;
        options.optimize.cancelled = &stop;
        const WhatIfAnswer answer = whatIf(trained(), options).value();
        QVERIFY(answer.cases.empty() && !answer.complete);
    }
};

SHARDBOARD_TEST(TestWhatIf)
#include "tst_whatif.moc"
