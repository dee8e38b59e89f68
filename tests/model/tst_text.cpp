// SPDX-License-Identifier: Apache-2.0
#include "model/core/numbers.h"
#include "model/core/text.h"
#include "model/design/design.h"

#include <QtTest>

using namespace shardboard;

class TestText : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void splitKeepsEmptyParts()
    {
        const auto parts = split(std::string_view(" a, ,b"), ',');
        QCOMPARE(parts.size(), std::size_t(3));
        QVERIFY(parts[0] == "a" && parts[1].empty() && parts[2] == "b");
    }

    void integersAreWholeAndFit()
    {
        QCOMPARE(parseInteger("-12").value(), -12);
        QVERIFY(!parseInteger("12x"));
        QVERIFY(!parseInteger(""));
        QVERIFY(!parseInteger("9223372036854775808"));
        QCOMPARE(parseInteger("9223372036854775807").value(), INT64_MAX);
    }

    void lettersBetweenWords()
    {
        QCOMPARE(editDistance("mlp", "mlp"), std::size_t(0));
        QCOMPARE(editDistance("mpl", "mlp"), std::size_t(2));
        QCOMPARE(editDistance("", "abc"), std::size_t(3));
        QCOMPARE(editDistance("kitten", "sitting"), std::size_t(3));
    }

    void numbersForPeople_data()
    {
        QTest::addColumn<qlonglong>("bytes");
        QTest::addColumn<QString>("text");
        QTest::newRow("bytes") << 512LL << "512 B";
        QTest::newRow("mib") << 134217728LL << "128 MiB";
        QTest::newRow("llama 3 8b in bf16") << 16060522496LL << "15 GiB";
        QTest::newRow("next unit, not 1024") << 1048575LL << "1 MiB";
    }
    void numbersForPeople()
    {
        QFETCH(qlonglong, bytes);
        QFETCH(QString, text);
        QCOMPARE(QString::fromStdString(bytesText(bytes)), text);
    }

    void secondsChooseTheUnit()
    {
        QCOMPARE(secondsText(0.00036), std::string("360 µs"));
        QCOMPARE(secondsText(0.131), std::string("131 ms"));
        QCOMPARE(secondsText(1.5), std::string("1.5 s"));
    }

    void countsAreGrouped()
    {
        QCOMPARE(countText(8030261248), std::string("8,030,261,248"));
        QCOMPARE(countText(999), std::string("999"));
        QCOMPARE(countText(-1000), std::string("-1,000"));
    }

    void globs_data()
    {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("matches");
        QTest::newRow("star") << "*.q_proj.*" << "model.layers.3.self_attn.q_proj.weight" << true;
        QTest::newRow("whole name") << "q_proj" << "self_attn.q_proj" << false;
        QTest::newRow("question") << "layers.?.x" << "layers.3.x" << true;
        QTest::newRow("question is one") << "layers.?.x" << "layers.13.x" << false;
        QTest::newRow("set") << "layers.[0-3].x" << "layers.2.x" << true;
        QTest::newRow("outside set") << "layers.[0-3].x" << "layers.4.x" << false;
        QTest::newRow("negated") << "layers.[!0-3].x" << "layers.4.x" << true;
        QTest::newRow("literal bracket") << "a[b" << "a[b" << true;
        QTest::newRow("backtracking") << "*a*b*c" << "xxaxxbxxabc" << true;
        QTest::newRow("star in name is text") << "model.layers.*.x" << "model.layers.*.x" << true;
        QTest::newRow("empty") << "" << "" << true;
    }
    void globs()
    {
        QFETCH(QString, pattern);
        QFETCH(QString, name);
        QFETCH(bool, matches);
        QCOMPARE(globMatch(pattern.toStdString(), name.toStdString()), matches);
    }

    void hostileGlobEnds()
    {
        std::string pattern;
        for (int i = 0; i < 200; ++i)
            pattern += "*a";
        QVERIFY(!globMatch(pattern + "b", std::string(5000, 'a')));
    }
};

QTEST_APPLESS_MAIN(TestText)
#include "tst_text.moc"
