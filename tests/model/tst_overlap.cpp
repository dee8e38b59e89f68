// SPDX-License-Identifier: Apache-2.0
// Names of sets of kind.
#include "model/ops/overlap.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <set>

using namespace shardboard;

class TestOverlap : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// Every set has a name of its own, which is read back as that set.
    void roundTrip()
    {
        std::set<std::string> names;
        for (unsigned set = 0; set < 1U << kOverlapKinds.size(); ++set) {
            Overlap overlap = Overlap::None;
            for (std::size_t i = 0; i < kOverlapKinds.size(); ++i)
                overlap = overlap.with(kOverlapKinds[i], (set >> i & 1U) != 0);
            const std::string name = overlapName(overlap);
            QVERIFY2(names.insert(name).second, name.c_str());
            QVERIFY2(overlapFromName(name) == overlap, name.c_str());
        }
    }

    void words()
    {
        QCOMPARE(overlapName(Overlap::None), std::string("none"));
        QCOMPARE(overlapName(Overlap::Weights), std::string("weights"));
        QCOMPARE(overlapName(Overlap::All), std::string("all"));
        QCOMPARE(overlapName(Overlap::All.with(OverlapKind::Sends)), std::string("all,sends"));
        QCOMPARE(overlapName(Overlap::Weights.with(OverlapKind::Tensor)), std::string("weights,tensor"));
        QVERIFY(overlapFromName("tensor,weights,tensor") == Overlap::Weights.with(OverlapKind::Tensor));
        QVERIFY(overlapFromName("gradient-scatters,weight-gathers") == Overlap::Weights);
        for (const char* wrong : { "", ",", "some", "none,weights", "weights,", "Weights", "tensor sends" })
            QVERIFY2(!overlapFromName(wrong), wrong);
    }
};

SHARDBOARD_TEST(TestOverlap)
#include "tst_overlap.moc"
