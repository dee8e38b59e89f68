// SPDX-License-Identifier: Apache-2.0
// What happens to weights on their way into a framework, in words: of parameters that were written down by hand.
#include "model/io/names/namechange.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard;

namespace {

/// `in` and `out` of a linear layer, and the heads in its output.
NamedParameter linear(std::vector<std::vector<int>> from, std::vector<std::vector<int>> dims)
{
    NamedParameter out;
    out.name = "kernel";
    out.sources = { "q_proj.weight" };
    out.factors = { { "heads", 8 }, { "head_dim", 16 }, { "in", 64 }, { "layers", 4 } };
    out.from = std::move(from);
    out.dims = std::move(dims);
    return out;
}

} // namespace

class TestNameChange : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void changesAreTold()
    {
        QCOMPARE(nameChangeText(linear({ { 0, 1 }, { 2 } }, { { 0, 1 }, { 2 } })), std::string());
        QCOMPARE(nameChangeText(linear({ { 0, 1 }, { 2 } }, { { 2 }, { 0, 1 } })), std::string("transposed"));
        QCOMPARE(nameChangeText(linear({ { 0, 1 }, { 2 } }, { { 2 }, { 0 }, { 1 } })), std::string("transposed, dims split"));
        QCOMPARE(nameChangeText(linear({ { 0, 1 }, { 2 } }, { { 0 }, { 1 }, { 2 } })), std::string("dims split"));
    }

    /// Layers are stacked on whatever dim; that alone transposes nothing.
    void stackedLayers()
    {
        NamedParameter stacked = linear({ { 3 }, { 0, 1 }, { 2 } }, { { 0, 1 }, { 3 }, { 2 } });
        stacked.stacked = true;
        QCOMPARE(nameChangeText(stacked), std::string("layers stacked"));
        stacked.dims = { { 2 }, { 3 }, { 0, 1 } };
        QCOMPARE(nameChangeText(stacked), std::string("transposed, layers stacked"));
    }

    void fusedAndParts()
    {
        NamedParameter fused = linear({ { 0, 1 }, { 2 } }, { { 0, 1 }, { 2 } });
        fused.sources = { "q_proj.weight", "k_proj.weight", "v_proj.weight" };
        QCOMPARE(nameChangeText(fused), std::string("fused of 3"));
        NamedParameter part = linear({ { 0, 1 }, { 2 } }, { { 1 }, { 2 } });
        part.factors[0].taken = 0;
        QVERIFY(nameChange(part).part && !nameChange(part).transposed);
    }

    void orderOfElements()
    {
        NamedParameter turned = linear({ { 0, 1 }, { 2 } }, { { 2 }, { 0 }, { 1 } });
        turned.order = "the two halves of a head in turn";
        QCOMPARE(nameChangeText(turned), std::string("transposed, dims split, reordered (the two halves of a head in turn)"));
    }
};

SHARDBOARD_TEST(TestNameChange)

#include "tst_namechange.moc"
