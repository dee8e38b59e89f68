// SPDX-License-Identifier: Apache-2.0
#include "model/io/file/naturalorder.h"
#include "model/io/json/jsontext.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTest>

#include <algorithm>

using namespace shardboard;

class TestJsonText : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsWhatIsValid()
    {
        const auto out = sure(parseJson("{\"a\": [1, -2.5e3, true, null, \"\\u00e9\\\"\"], \"b\": {\"c\": {}}}", "f"));
        QCOMPARE(out["a"][1].get<double>(), -2500.0);
        QCOMPARE(out["a"][4].get<std::string>(), std::string("\xc3\xa9\""));
        QVERIFY(out["b"]["c"].is_object());
    }

    void namesLineAndColumn()
    {
        const auto out = parseJson("{\n  \"a\": 1,\n  \"b\": ?\n}", "f.json");
        QVERIFY(!out.ok());
        QCOMPARE(QString::fromStdString(out.error().where), QStringLiteral("f.json:3:8"));
        QVERIFY(out.error().text().find('\n') == std::string::npos);
    }

    void refusesBrokenText_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("cut off") << QByteArray("{\"a\": [1, 2");
        QTest::newRow("two documents") << QByteArray("{} {}");
        QTest::newRow("zero byte") << QByteArray("{}\0{", 4);
        QTest::newRow("bad utf-8") << QByteArray("[\"\xff\"]");
        QTest::newRow("deep") << QByteArray(100000, '[');
        QTest::newRow("duplicate key") << QByteArray("{\"a\":1,\"a\":2}");
        QTest::newRow("NaN") << QByteArray("[NaN]");
        QTest::newRow("number out of range") << QByteArray("[1e999]");
        QTest::newRow("long number") << QByteArray(3 << 20, '1');
        QTest::newRow("lone surrogate") << QByteArray("[\"\\ud800\"]");
    }
    void refusesBrokenText()
    {
        QFETCH(QByteArray, text);
        const auto out = parseJson(text.toStdString(), "f");
        QVERIFY(!out.ok());
        QVERIFY(!out.error().what.empty());
    }

    void depthLimitIsExact()
    {
        const auto nested = [](int depth) {
            return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
        };
        QVERIFY(parseJson(nested(64), "f").ok());
        QVERIFY(!parseJson(nested(65), "f").ok());
    }

    void limitsValues()
    {
        JsonLimits limits;
        limits.values = 4;
        QVERIFY(parseJson("[1,2,3]", "f", limits).ok());
        QVERIFY(!parseJson("[1,2,3,4]", "f", limits).ok());
    }

    void readsWhatPythonWrites()
    {
        JsonLimits limits;
        limits.pythonNumbers = limits.lastDuplicateWins = true;
        const auto out = sure(parseJson("{\"a\":[NaN, Infinity, -Infinity, -1], \"b\":1, \"b\":-0}", "f", limits));
        QVERIFY(out["a"][0].is_null() && out["a"][1].is_null() && out["a"][2].is_null());
        QCOMPARE(out["a"][3].get<int>(), -1);
        QCOMPARE(out["b"].get<int>(), 0);
        QVERIFY(!parseJson("[Nan]", "f", limits).ok());
    }

    void namesAreOrderedAsPeopleCount()
    {
        std::vector<std::string> names { "l.10.a", "l.2.b", "l.2", "l.02.a", "l.2.a", "l", "l.1x", "l.x", "l.100.a", "l.9" };
        std::ranges::sort(names, naturalLess);
        const std::vector<std::string> expected {
            "l", "l.1x", "l.02.a", "l.2", "l.2.a", "l.2.b", "l.9", "l.10.a", "l.100.a", "l.x"
        };
        QCOMPARE(names, expected);
        for (const std::string& a : names)
            for (const std::string& b : names)
                for (const std::string& c : names) {
                    QVERIFY(!(naturalLess(a, b) && naturalLess(b, a)));
                    QVERIFY(!(naturalLess(a, b) && naturalLess(b, c)) || naturalLess(a, c));
                }
    }

    /// Elements of one list of the top object, in order, each whole; the rest of the document is as it would be.
    void longListsAreTakenOneByOne()
    {
        const std::string text = R"({"a":{"list":[7,8]},"list":[1,"x",[2,[3]],{"list":[4],"b":{}},null,[],{}],"c":[5,[6]]})";
        std::vector<std::string> taken;
        bool sawBefore = true;
        const auto take = [&](const nlohmann::json& before, const nlohmann::json& element) {
            taken.push_back(element.dump());
            sawBefore = sawBefore && before["a"]["list"].size() == 2 && !before.contains("c");
            return done();
        };
        const auto rest = sure(parseJsonList(jsonSource(text), "f", "list", take));
        QCOMPARE(taken, (std::vector<std::string> { "1", "\"x\"", "[2,[3]]", R"({"b":{},"list":[4]})", "null", "[]", "{}" }));
        QVERIFY(sawBefore);
        QCOMPARE(rest.dump(), std::string(R"({"a":{"list":[7,8]},"c":[5,[6]],"list":[]})"));
        for (const std::string other : { R"({"list":{"list":[1]}})", R"({"list":1})", R"([["list",1]])", "3" }) {
            const auto whole = parseJsonList(jsonSource(other), "f", "list",
                                             [](const auto&, const auto&) -> Status { return inputError("f", "taken"); });
            QVERIFY(whole.ok() && whole.value().dump() == other);
        }
        // What the taker refuses ends the reading with its own words; what is no JSON with those of the reader.
        int asked = 0;
        const auto refused = parseJsonList(jsonSource(text), "f", "list", [&](const auto&, const auto&) {
            return ++asked == 3 ? Status(inputError("f:2", "no", "yes")) : done();
        });
        QVERIFY(!refused.ok());
        QCOMPARE(refused.error().text(), std::string("f:2: no; yes"));
        QCOMPARE(asked, 3);
        const std::string cut = text.substr(0, 40);
        QVERIFY(!parseJsonList(jsonSource(cut), "f", "list", [](const auto&, const auto&) { return done(); }).ok());
        JsonLimits limits;
        limits.values = 5;
        QVERIFY(!parseJsonList(jsonSource(text), "f", "list", take, limits).ok());
    }

    void anyPrefixOfADocumentIsRefused()
    {
        const std::string text = "{\"a\": [1, -2.5e3, true, null, \"x\\u00e9\"], \"b\": {\"c\": {}}}";
        for (std::size_t length = 0; length < text.size(); ++length)
            QVERIFY2(!parseJson(text.substr(0, length), "f").ok(), qPrintable(QString::number(length)));
    }
};

SHARDBOARD_TEST(TestJsonText)
#include "tst_jsontext.moc"
