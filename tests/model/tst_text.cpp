// SPDX-License-Identifier: Apache-2.0
#include "model/design/design.h"
#include "model/io/json/jsonwriter.h"
#include "model/text/glob.h"
#include "model/text/numbers.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"
#include "tests/support/datarow.h"
#include "tests/support/hostilenames.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <random>

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

    void namesAreShownAndNotObeyed()
    {
        QCOMPARE(visibleText("a\x1b[31m\n"), std::string("a\\x1b[31m\\n"));
        QCOMPARE(visibleText("a\xe2\x80\xae"
                             "b\xff"),
                 std::string("a\\u202eb\\xff"));
        QCOMPARE(visibleText("a\xc2\x9b"), std::string("a\\u009b"));
        QCOMPARE(visibleLines("a\nb\r\n"), std::string("a\nb\\r\n"));
        for (const HostileName& hostile : printableHostileNames()) {
            QVERIFY2(visibleText(hostile.name) == hostile.name, hostile.what.c_str());
            QVERIFY2(!nameProblem(hostile.name), hostile.what.c_str());
        }
        for (const auto& list : { controlHostileNames(), malformedHostileNames() })
            for (const HostileName& hostile : list) {
                const std::string shown = visibleText(hostile.name);
                QVERIFY2(nameProblem(hostile.name), hostile.what.c_str());
                QVERIFY2(!nameProblem(shown), hostile.what.c_str());
                QVERIFY2(QString::fromStdString(shown).toStdString() == shown,
                         hostile.what.c_str()); // Qt replaces what is not UTF-8
            }
        QCOMPARE(nameProblem("ab\x1b").value(), std::string("has the control character \\x1b at byte 2"));
        QCOMPARE(nameProblem("ab\xff").value(), std::string("is not UTF-8: byte \\xff at 2"));
    }

    void jsonIsEscapedAsJson()
    {
        // All that a terminal obeys and JSON lets through: DEL, C1, directions, byte order mark.
        const nlohmann::json document { { "a\x7f\xc2\x9b", "\xe2\x80\xae\xef\xbb\xbf\x1b\n\xe5\xb1\x82" } };
        for (const int indent : { -1, 2 }) {
            const std::string shown = jsonText(document, indent);
            QVERIFY2(visibleLines(shown) == shown, shown.c_str());
            QVERIFY(nlohmann::json::parse(shown) == document);
            QVERIFY(shown.find("\xe5\xb1\x82") != std::string::npos); // nothing else is escaped
        }
        for (const auto& list : { printableHostileNames(), controlHostileNames() })
            for (const HostileName& hostile : list)
                QVERIFY2(nlohmann::json::parse(jsonText(nlohmann::json { { hostile.name, hostile.name } }))[hostile.name]
                             == hostile.name,
                         hostile.what.c_str());
        // What is no UTF-8 can be in no JSON: its escape is.
        for (const HostileName& hostile : malformedHostileNames()) {
            const nlohmann::ordered_json odd { { "list", { 1, hostile.name } }, { hostile.name, true } };
            const auto back = nlohmann::json::parse(jsonText(odd));
            QCOMPARE(back["list"][1].get<std::string>(), visibleText(hostile.name));
            QVERIFY(back[visibleText(hostile.name)].get<bool>());
        }
    }

    /// Qt decodes independently: what it gives back unchanged is UTF-8, and nothing else.
    void utf8IsWhatQtTakes()
    {
        std::mt19937 random(5);
        const std::string pool = "ab\xc2\x9b\xe2\x80\xae\xf0\x9f\xa7\xa9\xff\xc0\xed\xa0\xf4\x90";
        for (int trial = 0; trial < 20'000; ++trial) {
            std::string text;
            for (std::size_t i = random() % 8; i > 0; --i)
                text += pool[random() % pool.size()];
            const QByteArray bytes = QByteArray::fromStdString(text);
            QCOMPARE(isUtf8(text), QString::fromUtf8(bytes).toUtf8() == bytes);
        }
    }

    void longTextsAreNotCutInsideACharacter()
    {
        QCOMPARE(shortened("abc", 3), std::string("abc"));
        QCOMPARE(shortened("abcd", 3), std::string("abc..."));
        const std::string wide = "\xe5\xb1\x82\xe5\xb1\x82\xe5\xb1\x82";
        for (std::size_t bytes = 0; bytes <= wide.size(); ++bytes) {
            QVERIFY(isUtf8(shortened(wide, bytes)));
            QVERIFY(shortened(wide, bytes).size() <= bytes + 3);
        }
        QVERIFY(isUtf8(inputError(std::string(399, 'a') + wide, "x" + wide, "").text()));
        QVERIFY(!nameProblem(inputError("\x1b[31m", "\x07", "\x9b").text()));
        // Of a message with a long name both ends are there: the name's beginning, and what is wrong with it.
        for (const std::string letter : { "x", "\xe5\xb1\x82", "\x1b" })
            for (std::size_t more = 0; more < 8; ++more) {
                std::string name(more, '-');
                for (int i = 0; i < 1000; ++i)
                    name += letter;
                const std::string text =
                    inputError("d.shardboard:" + name + ":place", "'" + name + "' is not a size", "use a number").text();
                QVERIFY(!nameProblem(text) && text.size() < 1000);
                QVERIFY(text.starts_with("d.shardboard:") && text.ends_with("' is not a size; use a number"));
                QVERIFY(text.find(":place: '") != std::string::npos);
            }
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
        QTest::newRow("next unit, not four digits") << 1048576000LL << "0.977 GiB";
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
        QCOMPARE(secondsText(0), std::string("0 s"));
    }

    void countsAreGrouped()
    {
        QCOMPARE(countText(8030261248), std::string("8,030,261,248"));
        QCOMPARE(countText(999), std::string("999"));
        QCOMPARE(countText(-1000), std::string("-1,000"));
        QCOMPARE(counted(2000, "weight"), std::string("2,000 weights"));
        QCOMPARE(figures::digits(-26516.4), std::string("-26,516"));
        QCOMPARE(figures::digits(250.5), std::string("251"));
        QCOMPARE(figures::digits(-0.5), std::string("-0.5"));
        QCOMPARE(figures::exact(26515.82554), std::string("26,515.8255"));
        QCOMPARE(figures::exact(1e10), std::string("1e+10"));
        QCOMPARE(figures::exact(5e-6), std::string("5e-06"));
        QCOMPARE(figures::percent(0.202), std::string("20.2 %"));
        QCOMPARE(figures::percent(0.15), std::string("15 %"));
        QCOMPARE(figures::percent(0.0036), std::string("0.36 %"));
        QCOMPARE(figures::digits(9.996), std::string("10"));
        QCOMPARE(figures::digits(0.0004), std::string("0"));
        QCOMPARE(figures::bytesPerSecond(3.7e11), std::string("370 GB/s"));
    }

    void globs_data()
    {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("matches");
        dataRow("star", "*.q_proj.*", "model.layers.3.self_attn.q_proj.weight", true);
        dataRow("whole name", "q_proj", "self_attn.q_proj", false);
        dataRow("question", "layers.?.x", "layers.3.x", true);
        dataRow("question is one", "layers.?.x", "layers.13.x", false);
        dataRow("set", "layers.[0-3].x", "layers.2.x", true);
        dataRow("outside set", "layers.[0-3].x", "layers.4.x", false);
        dataRow("negated", "layers.[!0-3].x", "layers.4.x", true);
        dataRow("literal bracket", "a[b", "a[b", true);
        dataRow("backtracking", "*a*b*c", "xxaxxbxxabc", true);
        dataRow("star in name is text", "model.layers.*.x", "model.layers.*.x", true);
        dataRow("empty", "", "", true);
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

SHARDBOARD_TEST(TestText)
#include "tst_text.moc"
