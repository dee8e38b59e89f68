// SPDX-License-Identifier: Apache-2.0
// What the preset of a design would do otherwise after its batch was changed.
#include "model/design/presets/relaid.h"

#include "model/design/presets/presets.h"
#include "tests/support/runner.h"
#include "tests/widgets/widgets_support.h"

#include <QTest>

using namespace shardboard;

class TestRelaid : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void nothingWhileThePresetSaysTheSame();
    void theBatchIsCutAsFarAsItDivides();
    void whatWasAddedStays();
};

namespace {

Design laidOut(std::int64_t batch)
{
    Design design = trainingDesign("llama3-8b", "data=2,fsdp=4,model=2", "tp+fsdp");
    design.workload.batch = batch;
    (void)applyPreset(design, "tp+fsdp").ok();
    return design;
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

SHARDBOARD_TEST(TestRelaid)
#include "tst_relaid.moc"
