// SPDX-License-Identifier: Apache-2.0
// Layouts and their notations. The expected texts are those JAX and torch print for the same layouts.
#include "model/core/layout.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QtTest>

#include <random>

using namespace shardboard;

class TestLayout : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void notations_data()
    {
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("placements");
        dataRow("rows over model", "P('model')", "R, S(0)");
        dataRow("cols over model", "P(None, 'model')", "R, S(1)");
        dataRow("both", "P('data', 'model')", "S(0), S(1)");
        dataRow("swapped", "P('model', 'data')", "S(1), S(0)");
        dataRow("data then model", "P(('data', 'model'))", "S(0), S(0)");
        dataRow("model then data", "P(('model', 'data'))", "S(0), S(0) *");
        dataRow("whole", "P()", "R, R");
        dataRow("partial", "P('data', unreduced={'model'})", "S(0), P(sum)");
    }
    void notations()
    {
        QFETCH(QString, spec);
        QFETCH(QString, placements);
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        const auto layout = sure(parseSpec(spec.toStdString(), mesh, 2));
        QCOMPARE(QString::fromStdString(specText(layout, mesh)), spec);
        QCOMPARE(QString::fromStdString(placementsText(layout, mesh)), placements);
    }

    void otherSpellings()
    {
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        const Layout wanted = parseSpec("P(None, 'model')", mesh, 2).value();
        for (const char* text : { "PartitionSpec(None,\"model\")", " P( None , ('model',), ) ", "P(None,'model',)" })
            QVERIFY2(parseSpec(text, mesh, 2).ok() && parseSpec(text, mesh, 2).value() == wanted, text);
    }

    void refusals_data()
    {
        QTest::addColumn<QString>("spec");
        QTest::addColumn<QString>("part");
        dataRow("unknown axis", "P('tp')", "the mesh has no axis 'tp'; its axes are data=2,model=4");
        dataRow("twice", "P('data','data')", "mesh axis 'data' is used twice");
        dataRow("cut and partial", "P('data', unreduced={'data'})", "mesh axis 'data' is used twice");
        dataRow("too long", "P(None,None,'data')", "the spec has 3 entries, but the tensor has 2 dims");
        dataRow("no P", "('data')", "the spec does not begin with P(");
        dataRow("open", "P('data'", "a comma or ) is missing");
        dataRow("open quote", "P('data", "a quote is not closed");
        dataRow("behind", "P('data') x", "there is text after the spec");
        dataRow("bare name", "P(data)", "a quoted mesh axis name is missing");
        dataRow("bad sub-axis", "P('model:(3)2')", "sub-axis model:(3)2 does not divide mesh axis 'model' of size 4");
    }
    void refusals()
    {
        QFETCH(QString, spec);
        QFETCH(QString, part);
        const auto layout = parseSpec(spec.toStdString(), Mesh::parse("data=2,model=4").value(), 2);
        QVERIFY(!layout.ok());
        QVERIFY2(QString::fromStdString(layout.error().text()).contains(part), layout.error().text().c_str());
    }

    void subAxes()
    {
        const Mesh mesh = Mesh::parse("x=8").value();
        const auto layout = sure(parseSpec("P('x:(1)2', 'x:(2)4')", mesh, 2));
        // Position 5 of an axis of 8 = 2 x 4: major part 1, minor part 1.
        QCOMPARE(partIndexOf(layout.dims[0], mesh, 5), 1);
        QCOMPARE(partIndexOf(layout.dims[1], mesh, 5), 1);
        QVERIFY(!parseSpec("P('x:(1)4', 'x:(2)4')", mesh, 2).ok()); // they overlap
        QCOMPARE(specText(layout, mesh), std::string("P('x:(1)2', 'x:(2)4')"));
    }

    void anyTextEndsWithAnAnswer()
    {
        std::mt19937 random(7);
        const std::string letters = "P('data',None)(unreduced={}model:0 \"";
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        for (int i = 0; i < 20000; ++i) {
            std::string text = i % 2 ? "P(" : "";
            for (auto n = random() % 24; n-- > 0;)
                text += letters[random() % letters.size()];
            const auto layout = parseSpec(text, mesh, 2);
            if (layout.ok()) // what is understood can be said again
                QVERIFY(parseSpec(specText(layout.value(), mesh), mesh, 2).value() == layout.value());
        }
    }
};

SHARDBOARD_TEST(TestLayout)
#include "tst_layout.moc"
