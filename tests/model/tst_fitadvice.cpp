// SPDX-License-Identifier: Apache-2.0
// What would make a design fit: every fix is a design that was planned and fits.
#include "model/design/evaluate/evaluate.h"
#include "model/design/evaluate/fitadvice.h"
#include "model/design/presets/presets.h"
#include "model/hardware/hardware.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard;

namespace {

Design training(const char* mesh, const char* preset, std::int64_t batch, Recompute recompute = Recompute::None)
{
    return designOn(mesh, llama3Model(), { WorkloadKind::Train, batch, 8192, DType::BF16, 1, recompute }, preset);
}

} // namespace

class TestFitAdvice : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void whatFitsNeedsNothing()
    {
        const auto advice = fitAdvice(training("fsdp=8", "fsdp", 16, Recompute::Full)).value();
        QVERIFY(advice.fits());
        QVERIFY(advice.missing() < 0);
        QVERIFY(advice.fixes.empty() && advice.nearest.empty());
        QVERIFY(fitText(advice).starts_with("fits: "));
    }

    void everyFixFits()
    {
        const Design design = training("fsdp=8", "fsdp", 16);
        const auto advice = fitAdvice(design).value();
        QVERIFY(!advice.fits());
        QVERIFY(advice.fixes.size() >= 2);
        QVERIFY(advice.nearest.empty());
        for (std::size_t i = 0; i < advice.fixes.size(); ++i) {
            const FitOption& fix = advice.fixes[i];
            const auto evaluation = sure(evaluate(fix.design));
            QCOMPARE(evaluation->plan.memory.peak, fix.peakBytes);
            QCOMPARE(evaluation->plan.seconds(), fix.seconds);
            QVERIFY(fix.peakBytes <= advice.limitBytes);
            QVERIFY(!(fix.design == design));
            if (i > 0 && fix.devices == advice.fixes[i - 1].devices)
                QVERIFY(fix.lostSeconds >= advice.fixes[i - 1].lostSeconds);
        }
        QVERIFY(fitText(advice).find("too much; would fit with ") != std::string::npos);
    }

    /// 405 billion parameters on eight devices: nothing that is tried fits on them, and all that is said is by how much.
    /// Of a preset of parts those parts stay, and its stages take turns as before.
    void presetsOfParts()
    {
        Design design =
            designOn("stage=2,fsdp=2,model=2", llama3Model(), { WorkloadKind::Train, 16, 8192, DType::BF16, 4 }, "pp+tp");
        design.pipeline.countLoss = true;
        const FitAdvice advice = sure(fitAdvice(design));
        QVERIFY(advice.fit() != Fit::Fits);
        bool offered = false;
        for (const std::vector<FitOption>* options : { &advice.fixes, &advice.nearest })
            for (const FitOption& option : *options)
                if (option.what.find("preset pp+tp") != std::string::npos) {
                    offered = true;
                    QCOMPARE(option.design.pipeline, design.pipeline);
                    QVERIFY(option.peakBytes < advice.peakBytes);
                }
        QVERIFY(offered);
    }

    void nothingFits()
    {
        Design design = training("model=2", "megatron-tp", 2);
        design.model = denseModel(128256, 16384, 53248, 126, 128, 8, 128);
        QVERIFY(applyPreset(design, "megatron-tp").ok());
        const auto advice = fitAdvice(design).value();
        QVERIFY(advice.fixes.empty());
        QCOMPARE(advice.nearest.size(), std::size_t { 1 });
        QVERIFY(advice.nearest.front().peakBytes > advice.limitBytes);
        QVERIFY(fitText(advice).find("none fits; the nearest misses by ") != std::string::npos);
    }

    /// What is not offered: another preset that fits and leaves the sequence whole on all devices of its axis, or weights whole
    /// that are sharded.
    void nothingIsTakenBack()
    {
        Design design;
        design.mesh = Mesh::parse("data=2,context=4").value();
        design.model = denseModel(128256, 8192, 28672, 60, 64, 8, 128);
        design.workload = { WorkloadKind::Prefill, 8, 4096, DType::BF16 };
        QVERIFY(applyPreset(design, "cp-ring").ok());
        const auto before = evaluate(design).value();
        const auto advice = fitAdvice(design).value();
        QVERIFY(!advice.fits());
        std::vector<FitOption> told = advice.fixes;
        told.insert(told.end(), advice.nearest.begin(), advice.nearest.end());
        QVERIFY(!told.empty());
        for (const FitOption& fix : told) {
            const auto after = evaluate(fix.design).value();
            QVERIFY2(std::ranges::none_of(after->findings, [](const auto& f) { return f.kind == "unused-axis"; }),
                     fix.what.c_str());
            QVERIFY2(after->plan.memory.weights <= before->plan.memory.weights, fix.what.c_str());
        }
        Design sharded = design;
        QVERIFY(applyPreset(sharded, "fsdp").ok()); // which would fit
        const auto other = evaluate(sharded).value();
        QVERIFY(other->plan.memory.peak <= advice.limitBytes);
        QVERIFY(std::ranges::any_of(other->findings, [](const auto& f) { return f.kind == "unused-axis"; }));
    }

    /// A preset lays out the larger mesh: 8 KV heads over 8 devices are whole there, over 16 they would be cut in two.
    void moreDevicesAreLaidOutByThePreset()
    {
        Design design = training("model=8", "megatron-tp", 1, Recompute::Full);
        design.model = denseModel(128256, 8192, 28672, 80, 64, 8, 128);
        design.workload.sequence = 4096;
        QVERIFY(applyPreset(design, "megatron-tp").ok());
        const auto advice = fitAdvice(design).value();
        const auto larger = std::ranges::find_if(advice.fixes, [](const FitOption& fix) { return fix.devices > 8; });
        QVERIFY(larger != advice.fixes.end());
        const auto after = evaluate(larger->design).value();
        QVERIFY(std::ranges::none_of(after->findings, [](const auto& f) { return f.kind == "heads-split"; }));
        Design applied = larger->design;
        QVERIFY(applyPreset(applied, "megatron-tp").ok());
        QCOMPARE(applied.strategies, larger->design.strategies);
        // Entries of one's own stay as they are.
        design.strategies.push_back({ "*norm*", {}, {} });
        const auto own = fitAdvice(design).value();
        for (const FitOption& fix : own.fixes)
            if (fix.devices > 8)
                QCOMPARE(fix.design.strategies, design.strategies);
    }

    void canBeStopped()
    {
        int asked = 0;
        const auto advice = fitAdvice(training("fsdp=8", "fsdp", 16), [&] { return ++asked > 2; }).value();
        QCOMPARE(advice.tried, 2);
    }

    /// The finding's repair makes the design fit.
    void repairOfTheFinding()
    {
        const Design design = training("fsdp=8", "fsdp", 16);
        auto findings = evaluate(design, Misfits::Replicate).value()->findings;
        addFitRepair(design, findings);
        const auto found = std::ranges::find_if(findings, [](const auto& f) { return f.kind == "over-memory"; });
        QVERIFY(found != findings.end() && found->fix);
        const auto after = sure(evaluate(repaired(design, *found->fix)));
        QVERIFY(static_cast<double>(after->plan.memory.peak) <= findHardware(design.hardware).value().memoryBytes());
    }
};

SHARDBOARD_TEST(TestFitAdvice)
#include "tst_fitadvice.moc"
