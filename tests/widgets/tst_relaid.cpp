// SPDX-License-Identifier: Apache-2.0
// What the preset of a design would do otherwise after its batch was changed.
#include "model/design/presets/relaid.h"

#include "model/design/presets/presets.h"
#include "tests/support/runner.h"
#include "tests/widgets/widgets_support.h"

#include <QTest>

#include <algorithm>

using namespace shardboard;

class TestRelaid : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nothingWhileThePresetSaysTheSame();
    void theBatchIsCutAsFarAsItDivides();
    void whatWasAddedStays();
    void whatWasAddedStaysWhereItWas();
    void microBatchesOfAPipeline();
    void anotherPipelineStays();
    void anotherPresetsPinsAreNotTaken();
    void endsWhenItIsToStop();
};

namespace {

Design laidOut(std::int64_t batch)
{
    Design design = trainingDesign("llama3-8b", "data=2,fsdp=4,model=2", "tp+fsdp");
    design.workload.batch = batch;
    (void)applyPreset(design, "tp+fsdp").ok();
    return design;
}

Design inStages(const char* mesh, const char* preset, std::int64_t batch)
{
    Design design = trainingDesign("llama3-8b", mesh, preset);
    design.workload.batch = batch;
    design.workload.microBatches = 4;
    return applyPreset(design, preset).ok() ? design : Design {};
}

} // namespace

void TestRelaid::nothingWhileThePresetSaysTheSame()
{
    QVERIFY(!relaidByPreset(laidOut(16)));
    Design more = laidOut(16);
    more.workload.batch = 32; // divides as well
    QVERIFY(!relaidByPreset(more));
    more.strategies.clear();
    QVERIFY(!relaidByPreset(more));
    QVERIFY(!relaidByPreset(Design {}));
}

void TestRelaid::theBatchIsCutAsFarAsItDivides()
{
    Design changed = laidOut(16);
    changed.workload.batch = 2; // divides over data alone
    const auto relaid = relaidByPreset(changed);
    QVERIFY(relaid);
    QCOMPARE(relaid->preset, std::string("tp+fsdp"));
    QVERIFY(relaid->design == laidOut(2));
    QVERIFY(!relaidByPreset(relaid->design));
    changed.workload.batch = 16; // and back
    QVERIFY(!relaidByPreset(changed));
}

void TestRelaid::whatWasAddedStays()
{
    Design changed = laidOut(16);
    const StrategyEntry mine { "model.norm.weight", Strategy {}, std::nullopt };
    changed.strategies.push_back(mine);
    changed.workload.batch = 2;
    const auto relaid = relaidByPreset(changed);
    QVERIFY(relaid);
    Design wanted = laidOut(2);
    wanted.strategies.push_back(mine);
    QVERIFY(relaid->design.strategies == wanted.strategies);
}

/// Later entries win: one that was before a preset's must not come behind it.
void TestRelaid::whatWasAddedStaysWhereItWas()
{
    Design changed = laidOut(16);
    const StrategyEntry first { "*.mlp.*", Strategy {}, std::nullopt };
    const StrategyEntry between { "*.self_attn.*", Strategy {}, std::nullopt };
    const StrategyEntry last { "model.norm.weight", Strategy {}, std::nullopt };
    const auto withMine = [&](Design design) {
        auto& entries = design.strategies;
        entries.push_back(last);
        const auto targets = std::ranges::find_if(entries, [](const StrategyEntry& e) { return e.match == "targets"; });
        entries.insert(targets + 1, between);
        entries.insert(entries.begin(), first);
        return design;
    };
    changed = withMine(laidOut(16));
    changed.workload.batch = 2;
    const auto relaid = relaidByPreset(changed);
    QVERIFY(relaid);
    QVERIFY(relaid->design == withMine(laidOut(2)));
}

/// The interleaved schedule is no preset's without micro-batches.
void TestRelaid::microBatchesOfAPipeline()
{
    for (const char* preset : { "pp-interleaved", "pp-1f1b" })
        for (const char* mesh : { "stage=4,fsdp=2,model=2", "stage=4,data=2,model=2" }) {
            Design changed = inStages(mesh, preset, 16);
            QVERIFY(changed.pipeline.present());
            QVERIFY(!relaidByPreset(changed));
            changed.workload.batch = 4; // a micro-batch of one sequence
            const auto relaid = relaidByPreset(changed);
            QVERIFY(relaid);
            QCOMPARE(relaid->preset, std::string(preset));
            QVERIFY(relaid->design == inStages(mesh, preset, 4));
            QVERIFY(!relaidByPreset(relaid->design));
        }
}

void TestRelaid::anotherPipelineStays()
{
    Design changed = inStages("stage=4,fsdp=2,model=2", "pp-1f1b", 16);
    changed.pipeline.chunks = 4;
    QVERIFY(!relaidByPreset(changed));
    changed.workload.batch = 4;
    const auto relaid = relaidByPreset(changed);
    QVERIFY(relaid);
    QCOMPARE(relaid->preset, std::string("pp-1f1b"));
    Design wanted = inStages("stage=4,fsdp=2,model=2", "pp-1f1b", 4);
    wanted.pipeline.chunks = 4;
    QVERIFY(relaid->design == wanted);
}

/// The first entries of many presets are all that `replicate` has.
void TestRelaid::anotherPresetsPinsAreNotTaken()
{
    Design changed = trainingDesign("llama3-8b", "data=4,model=2", "tp-sp");
    QVERIFY(!changed.pins.empty());
    changed.strategies.back().strategy = {}; // edited: it is no preset's any more
    changed.workload.batch = 2;
    QVERIFY(!relaidByPreset(changed));
    changed = inStages("stage=4,data=2,model=2", "pp-1f1b", 16);
    changed.strategies.back().strategy = {};
    changed.workload.batch = 4;
    QVERIFY(!relaidByPreset(changed));
}

void TestRelaid::endsWhenItIsToStop()
{
    Design changed = laidOut(16);
    changed.workload.batch = 2;
    int asked = 0;
    QVERIFY(!relaidByPreset(changed, [&] { return ++asked > 3; }));
    QCOMPARE(asked, 4);
    QVERIFY(relaidByPreset(changed, [] { return false; }));
}

SHARDBOARD_TEST(TestRelaid)
#include "tst_relaid.moc"
