// SPDX-License-Identifier: Apache-2.0
// The way from one design to another: all steps lead there, none leads nowhere, what they are worth adds up to the difference, and
// each taken alone changes what it says and nothing else.
#include "model/design/designsteps.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace shardboard;

namespace {

Design small(const std::string& mesh, const std::string& preset, WorkloadKind kind = WorkloadKind::Train)
{
    return designOn(mesh, denseModel(4096, 1024, 4096, 8, 16, 8, 64), { kind, 16, 1024, DType::BF16 }, preset);
}

struct Way {
    Design before;
    Design after;
    Way(Design from, Design to)
        : before(std::move(from))
        , after(std::move(to))
    {
    }
    std::shared_ptr<const Evaluation> old = tolerant(before);
    std::shared_ptr<const Evaluation> now = tolerant(after);
    std::vector<DesignStep> steps = stepsBetween(before, *old, after, *now);

    Design with(const std::vector<bool>& accepted) const { return withSteps(before, after, *now, steps, accepted); }
    Design withOnly(std::size_t step) const
    {
        std::vector<bool> accepted(steps.size(), false);
        accepted[step] = true;
        if (steps[step].needs >= 0)
            accepted[static_cast<std::size_t>(steps[step].needs)] = true;
        return with(accepted);
    }
    std::size_t named(const char* name) const
    {
        const auto at = std::ranges::find(steps, std::string(name), &DesignStep::name);
        return at == steps.end() ? steps.size() : static_cast<std::size_t>(at - steps.begin());
    }
};

Pin byHand(const char* text) { return sure(parsePin(text)); }

} // namespace

class TestDesignSteps : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void allLeadThereAndNoneNowhere_data()
    {
        QTest::addColumn<QString>("fromMesh");
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("toMesh");
        QTest::addColumn<QString>("to");
        QTest::newRow("layouts") << "data=2,model=4"
                                 << "replicate"
                                 << "data=2,model=4"
                                 << "megatron-tp";
        QTest::newRow("sizes") << "data=2,model=4"
                               << "megatron-tp"
                               << "data=4,model=2"
                               << "tp-sp";
        QTest::newRow("axes") << "data=2,model=4"
                              << "megatron-tp"
                              << "fsdp=8"
                              << "fsdp";
        QTest::newRow("stages") << "data=8"
                                << "replicate"
                                << "stage=2,data=2,model=2"
                                << "pp+tp+dp";
        QTest::newRow("no stages") << "stage=2,data=2,model=2"
                                   << "pp+tp+dp"
                                   << "fsdp=4,model=2"
                                   << "tp+fsdp";
    }

    void allLeadThereAndNoneNowhere()
    {
        QFETCH(QString, fromMesh);
        QFETCH(QString, from);
        QFETCH(QString, toMesh);
        QFETCH(QString, to);
        Design after = small(toMesh.toStdString(), to.toStdString());
        after.workload.recompute = Recompute::Full;
        const Way way { small(fromMesh.toStdString(), from.toStdString()), after };
        QVERIFY(way.steps.size() >= 2);
        QVERIFY(way.with(std::vector<bool>(way.steps.size(), true)) == way.after);
        QVERIFY(way.with(std::vector<bool>(way.steps.size(), false)) == way.before);
        const auto worth = worthOfSteps(way.before, way.after, *way.now, way.steps, std::vector<bool>(way.steps.size(), true));
        QCOMPARE(worth.size(), way.steps.size());
        double seconds = 0;
        double bytes = 0;
        for (std::size_t i = 0; i < worth.size(); ++i) {
            QVERIFY2(worth[i].refused.empty(), (way.steps[i].name + ": " + worth[i].refused).c_str());
            seconds += worth[i].seconds;
            bytes += worth[i].bytes;
        }
        const double wanted = way.now->plan.seconds() - way.old->plan.seconds();
        QVERIFY2(std::abs(seconds - wanted) <= 1e-9 * way.now->plan.seconds(), qPrintable(QString::number(seconds - wanted)));
        QCOMPARE(bytes, static_cast<double>(way.now->plan.memory.peak - way.old->plan.memory.peak));
        // What needs another step stands below it, and goes with it.
        std::vector<bool> accepted(way.steps.size(), true);
        for (std::size_t i = 0; i < way.steps.size(); ++i) {
            QVERIFY(way.steps[i].needs < static_cast<int>(i));
            if (way.steps[i].needs >= 0)
                accepted[static_cast<std::size_t>(way.steps[i].needs)] = false;
        }
        const std::vector<bool> taken = takenSteps(way.steps, accepted);
        for (std::size_t i = 0; i < way.steps.size(); ++i)
            if (way.steps[i].needs >= 0)
                QVERIFY(!taken[i]);
    }

    /// Every setting that the comparison knows is taken over by its step, and by no other.
    void eachSettingIsAStep()
    {
        const Design before = small("data=2,model=4", "megatron-tp");
        Design after = before;
        Workload& work = after.workload;
        work.batch = 32;
        work.sequence = 2048;
        work.microBatches = 2;
        work.recompute = Recompute::Full;
        work.recomputeLayers = 3;
        work.recomputeEvery = 2;
        work.attention = AttentionKernel::Unfused;
        work.overlap = Overlap::All;
        work.optimizer = { { "data" }, true };
        work.software = Software::Eager;
        work.graphs = true;
        work.contextOrder = ContextOrder::InOrder;
        after.memory.reserveShare += 0.01;
        after.memory.prefetchedLayers += 1;
        after.hardware = "dgx-a100";
        const Way way { before, after };
        QVERIFY(way.steps.size() >= 12);
        for (std::size_t i = 0; i < way.steps.size(); ++i) {
            const Way rest { way.withOnly(i), after };
            QVERIFY2(rest.named(way.steps[i].name.c_str()) == rest.steps.size(), way.steps[i].name.c_str());
            QVERIFY2(rest.steps.size() < way.steps.size(), way.steps[i].name.c_str());
            const Way change { before, way.withOnly(i) };
            QVERIFY2(!change.steps.empty() && change.steps.front().name == way.steps[i].name, way.steps[i].name.c_str());
        }
    }

    void aWeightAloneIsLaidOutAnew()
    {
        const Way way { small("data=2,model=4", "replicate"), small("data=2,model=4", "megatron-tp") };
        const std::size_t step = way.named("self_attn.o_proj");
        QVERIFY(step < way.steps.size());
        const auto evaluation = tolerant(way.withOnly(step));
        for (std::size_t i = 0; i < evaluation->weights.size(); ++i) {
            const bool taken = evaluation->weights[i].spec.name == way.steps[step].tensor;
            QVERIFY2(evaluation->weights[i].layout == (taken ? way.now : way.old)->weights[i].layout,
                     evaluation->weights[i].spec.name.c_str());
        }
    }

    /// Rules lay it out there; here a strategy does.
    void aWeightOfRulesToo()
    {
        const Design before = small("data=2,model=4", "replicate");
        Design after = before;
        after.strategies.clear();
        LogicalRule rule;
        rule.name = "mlp";
        rule.axes = { "model" };
        after.rules = { "mine", { rule } };
        const Way way { before, after };
        const std::size_t step = way.named("mlp.up_proj");
        if (step == way.steps.size())
            QSKIP("these rules do not know the weight");
        const auto evaluation = tolerant(way.withOnly(step));
        QVERIFY(weightOf(*evaluation, "up_proj.weight").layout == weightOf(*way.now, "up_proj.weight").layout);
        QVERIFY(weightOf(*evaluation, "gate_proj.weight").layout == weightOf(*way.old, "gate_proj.weight").layout);
    }

    void decisionsByHandAreSaid()
    {
        Design before = small("data=2,model=4", "megatron-tp");
        before.pins.push_back(byHand("*:batch=data"));
        Design after = small("data=2,model=4", "tp-sp");
        after.pins.push_back(byHand("*:sequence=model"));
        const Way way { before, after };
        const auto gone = std::ranges::find(way.steps, true, &DesignStep::byHand);
        QVERIFY(gone != way.steps.end());
        QVERIFY(!gone->before.empty() && gone->after.empty());
        std::vector<bool> accepted(way.steps.size(), true);
        accepted[static_cast<std::size_t>(gone - way.steps.begin())] = false;
        const Design mixed = way.with(accepted);
        for (const char* pin : { "*:batch=data", "*:sequence=model" })
            QVERIFY2(std::ranges::find(mixed.pins, byHand(pin)) != mixed.pins.end(), pin);
        QVERIFY(mixed.strategies == after.strategies || tolerant(mixed)->weights.size() == way.now->weights.size());
    }

    void sameDesignsHaveNone()
    {
        const Design design = small("data=2,model=4", "megatron-tp");
        QVERIFY(Way(design, design).steps.empty());
    }

    void countingCanBeStopped()
    {
        const Way way { small("data=2,model=4", "replicate"), small("data=2,model=4", "megatron-tp") };
        const std::atomic<bool> stop = true;
        QVERIFY(worthOfSteps(way.before, way.after, *way.now, way.steps, std::vector<bool>(way.steps.size(), true), &stop).empty());
    }
};

SHARDBOARD_TEST(TestDesignSteps)
#include "tst_designsteps.moc"
