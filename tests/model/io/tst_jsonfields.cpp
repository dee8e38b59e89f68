// SPDX-License-Identifier: Apache-2.0
// The reader that all documents share, and keys that are declared once for both directions.
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsonmembers.h"
#include "model/io/json/jsontext.h"
#include "model/io/json/meshjson.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTest>

#include <limits>

using nlohmann::json;

namespace shardboard {

enum class Color { Red, Green };
static std::string colorName(Color color) { return color == Color::Red ? "red" : "green"; }
static std::optional<Color> colorFromName(std::string_view name)
{
    return name == "red" ? std::optional(Color::Red) : name == "green" ? std::optional(Color::Green) : std::nullopt;
}
static auto jsonWords(Color) { return JsonWords { colorName, colorFromName, "red or green" }; }

struct Wheel {
    double radius = 1;
    std::optional<int> spokes {};
    friend bool operator==(const Wheel&, const Wheel&) = default;
};
template <class Each, MembersOf<Wheel> One>
void jsonMembers(Each& each, One& wheel)
{
    each.value("radius", wheel.radius, { 0, 100 });
    each.value("spokes", wheel.spokes, { 3, 90 });
}

struct Cart {
    std::string name;
    Color color = Color::Red;
    std::int64_t seats = 1;
    std::uint64_t number = 0;
    bool roof = false;
    double load = 0;
    std::vector<std::string> owners {};
    std::vector<std::int64_t> gears {};
    std::vector<std::vector<int>> teams {};
    std::vector<Wheel> wheels {};
    std::optional<Wheel> spare {};
    double length = 0;
    friend bool operator==(const Cart&, const Cart&) = default;
};
template <class Each, MembersOf<Cart> One>
void jsonMembers(Each& each, One& cart)
{
    each.value("name", cart.name);
    each.usual("color", cart.color);
    each.unless("seats", cart.seats, 1, { 1, 8 });
    each.usual("number", cart.number);
    each.unless("roof", cart.roof, false);
    each.finite("load", cart.load);
    each.unless("owners", cart.owners, {});
    each.usual("gears", cart.gears, { 1, 9 });
    each.usual("teams", cart.teams, { 0, 9 });
    each.value("wheels", cart.wheels);
    each.value("spare", cart.spare);
    each.group("size", [&](auto& inner) { inner.value("length", cart.length, { 0 }); });
    each.derived("wheel_count", [&] { return cart.wheels.size(); });
    each.check([&](JsonFields& from) {
        if (cart.wheels.size() == 1)
            from.fail("wheels", "one wheel is none", "add another");
    });
}

} // namespace shardboard

using namespace shardboard;

namespace {

Cart wholeCart()
{
    Cart cart;
    cart.name = "hay";
    cart.color = Color::Green;
    cart.seats = 2;
    cart.number = std::numeric_limits<std::uint64_t>::max();
    cart.roof = true;
    cart.load = std::numeric_limits<double>::infinity();
    cart.owners = { "a", "b" };
    cart.gears = { 1, 9 };
    cart.teams = { { 0, 9 }, {} };
    cart.wheels = { { 0.5, 12 }, { 2, {} } };
    cart.spare = Wheel { 3, 90 };
    cart.length = 4.5;
    return cart;
}

} // namespace

class TestJsonFields : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void firstProblemSticksAndNamesItsPlace()
    {
        const json document = json::parse(R"({"a": {"list": [{"n": 1}, {"n": "x"}, {"n": -5}]}, "b": 3})");
        JsonFields top(document, "f.json");
        JsonFields a = top.object("a");
        std::vector<std::int64_t> seen;
        a.objects("list", [&](JsonFields& item) { seen.push_back(item.integer("n", 0, 9)); });
        QCOMPARE(seen, (std::vector<std::int64_t> { 1, 0 })); // the third is not asked any more
        QVERIFY(top.error().has_value());
        QCOMPARE(top.error()->text(), std::string("f.json:a.list[1].n: cannot be \"x\"; use a whole number from 0 to 9"));
        top.text("b");
        top.object("missing");
        QCOMPARE(top.error()->where, std::string("f.json:a.list[1].n"));
    }

    void objectsAndListsMustBeThere()
    {
        const json document = json::parse(R"({"object": [], "list": {}, "null": null})");
        const auto problem = [&](auto&& ask) {
            JsonFields top(document, "f");
            ask(top);
            return top.error() ? top.error()->text() : std::string();
        };
        const auto none = [](JsonFields&) { QFAIL("there is no item"); };
        QCOMPARE(problem([](JsonFields& top) { (void)top.object("object"); }),
                 std::string("f:object: expected an object, found []; write {...}"));
        QCOMPARE(problem([](JsonFields& top) { (void)top.object("none"); }), std::string("f:none: the key is missing; add it"));
        QCOMPARE(problem([&](JsonFields& top) { top.objects("list", none); }), std::string("f:list: is not a list; use [...]"));
        QCOMPARE(problem([&](JsonFields& top) { top.objects("none", none); }), std::string("f:none: the key is missing; add it"));
        QCOMPARE(problem([](JsonFields& top) { top.text("null"); }), std::string("f:null: cannot be null; use a string in quotes"));
        QCOMPARE(problem([](JsonFields& top) {
                     top.nullIsAbsent();
                     top.text("null", "usual");
                 }),
                 std::string());
        const json nothing = json::array();
        JsonFields list(nothing, "f", "part");
        QCOMPARE(list.error()->text(), std::string("f:part: expected an object, found []; write {...}"));
    }

    void unknownKeysAreKeptOrRefused()
    {
        const json document = json::parse(R"({"known": 1, "other": [2], "inner": {"radius": 1, "colour": 7}})");
        JsonFields top(document, "f");
        top.integer("known", 0, 5);
        QVERIFY(top.leftOver() == json::parse(R"({"other": [2], "inner": {"radius": 1, "colour": 7}})"));
        top.close();
        QVERIFY(!top.error());

        JsonFields strict(document, "f");
        strict.refuseUnknown();
        Wheel wheel;
        JsonMembersReader(strict).value("inner", wheel);
        QCOMPARE(strict.error()->text(), std::string("f:inner.colour: is not a key of it; remove it, or correct its spelling"));
    }

    void namesAndProse()
    {
        const json document { { "name", "a\x1b[2Jb" }, { "prose", "two\nlines" } };
        JsonFields top(document, "f");
        QCOMPARE(top.prose("prose", ""), std::string("two\nlines"));
        QVERIFY(!top.error());
        top.text("name");
        QCOMPARE(top.error()->where, std::string("f:name"));
        JsonFields message = JsonFields::message(document, "m");
        QCOMPARE(message.text("name"), std::string("a\x1b[2Jb"));
        QVERIFY(!message.error());
    }

    void membersReadBack()
    {
        for (const Cart& cart : { wholeCart(), [] {
                                     Cart plain;
                                     plain.name = "plain";
                                     return plain;
                                 }() }) {
            const auto back = sure(messageFromJson<Cart>(json::parse(jsonOf(cart).dump()), "cart"));
            QVERIFY(back == cart);
        }
        QVERIFY(jsonOf(wholeCart()) == json::parse(R"({"name": "hay", "color": "green", "seats": 2, "number": 18446744073709551615,
            "roof": true, "load": null, "owners": ["a", "b"], "gears": [1, 9], "wheels": [{"radius": 0.5, "spokes": 12},
            {"radius": 2.0}], "spare": {"radius": 3.0, "spokes": 90}, "size": {"length": 4.5}, "wheel_count": 2})"));
    }

    void whatIsAsUsualIsLeftOut()
    {
        Cart cart;
        cart.name = "x";
        const json written = jsonOf(cart);
        for (const char* key : { "seats", "roof", "owners", "spare" })
            QVERIFY2(!written.contains(key), key);
        for (const char* key : { "color", "number", "load", "gears", "wheel_count" })
            QVERIFY2(written.contains(key), key);
    }

    void absentKeysKeepWhatTheMemberHas()
    {
        const json document = json::parse(R"({"name": "y", "wheels": [], "size": {"length": 0}})");
        Cart cart = wholeCart();
        JsonFields from = JsonFields::message(document, "cart");
        readMembers(from, cart);
        QVERIFY2(!from.error(), from.error() ? from.error()->text().c_str() : "");
        QVERIFY(cart.color == Color::Green); // usual: stays
        QCOMPARE(cart.seats, 1); // unless: the usual one
        QVERIFY(!cart.spare && cart.wheels.empty());
        QCOMPARE(cart.name, std::string("y"));
    }

    void wrongMembersAreNamed_data()
    {
        QTest::addColumn<QByteArray>("pointer");
        QTest::addColumn<QByteArray>("value");
        QTest::addColumn<QByteArray>("message");
        const auto row = [](const char* name, const char* pointer, const char* value, const char* message) {
            QTest::newRow(name) << QByteArray(pointer) << QByteArray(value) << QByteArray(message);
        };
        row("text", "/name", "7", "cart:name: cannot be 7; use a string in quotes");
        row("word", "/color", "\"blue\"", "cart:color: cannot be 'blue'; use red or green");
        row("no word", "/color", "1", "cart:color: cannot be 1; use a string in quotes");
        row("below", "/seats", "0", "cart:seats: cannot be 0; use a whole number from 1 to 8");
        row("above", "/seats", "9", "cart:seats: cannot be 9; use a whole number from 1 to 8");
        row("huge", "/seats", "18446744073709551615", "cart:seats: cannot be 18446744073709551615; use a whole number from 1 to 8");
        row("fraction", "/seats", "1.5", "cart:seats: cannot be 1.5; use a whole number from 1 to 8");
        row("negative", "/number", "-1", "cart:number: cannot be -1; use a whole number of at least 0");
        row("flag", "/roof", "\"yes\"", "cart:roof: cannot be \"yes\"; use true or false");
        row("no list", "/owners", "{}", "cart:owners: cannot be {}; use a list of strings");
        row("item", "/gears/1", "10", "cart:gears: holds 10; use a whole number from 1 to 9");
        row("number", "/wheels/1/radius", "101", "cart:wheels[1].radius: cannot be 101; use a number from 0.0 to 100.0");
        row("inside an optional", "/spare/spokes", "2", "cart:spare.spokes: cannot be 2; use a whole number from 3 to 90");
        row("no object", "/wheels/0", "3", "cart:wheels[0]: expected an object, found 3; write {...}");
        row("group", "/size", "{}", "cart:size.length: the key is missing; add it");
        row("check", "/wheels", "[{\"radius\": 1}]", "cart:wheels: one wheel is none; add another");
    }
    void wrongMembersAreNamed()
    {
        QFETCH(QByteArray, pointer);
        QFETCH(QByteArray, value);
        QFETCH(QByteArray, message);
        json document = jsonOf(wholeCart());
        document[json::json_pointer(pointer.toStdString())] = json::parse(value.toStdString());
        const auto read = messageFromJson<Cart>(document, "cart");
        QVERIFY(!read.ok());
        QCOMPARE(QByteArray::fromStdString(read.error().text()), message);
    }

    /// Whatever stands where, the reader answers.
    void nothingThrows()
    {
        const json good = jsonOf(wholeCart()).flatten();
        for (const auto& [pointer, old] : good.items())
            for (const json& value : { json(), json(-1), json("\xff"), json::array(), json::object(), json(1e300),
                                       json(std::numeric_limits<std::uint64_t>::max()), json(true) }) {
                json bad = good.unflatten();
                bad[json::json_pointer(pointer)] = value;
                const auto read = messageFromJson<Cart>(bad, "cart");
                QVERIFY(read.ok() || read.error().where.starts_with("cart:"));
            }
    }

    void meshes()
    {
        const json document = json::parse(R"({"axes": ["data", "model"], "sizes": [2, 2], "device_ids": [3, 1, 0, 2]})");
        Mesh mesh;
        JsonFields from(document, "f", "mesh");
        readMesh(from, mesh);
        QVERIFY2(!from.error(), from.error() ? from.error()->text().c_str() : "");
        QVERIFY(meshJson(mesh) == document);
        const auto refused = [](const char* text) {
            const json wrong = json::parse(text);
            Mesh out;
            JsonFields fields(wrong, "f", "mesh");
            readMesh(fields, out);
            return fields.error() ? fields.error()->where : std::string();
        };
        QCOMPARE(refused(R"({"axes": ["a"], "sizes": [2, 2]})"), std::string("f:mesh.sizes"));
        QCOMPARE(refused(R"({"axes": ["a"], "sizes": [0]})"), std::string("f:mesh.sizes"));
        QCOMPARE(refused(R"({"axes": [1], "sizes": [1]})"), std::string("f:mesh.axes"));
        QVERIFY(refused(R"({"axes": ["a", "a"], "sizes": [1, 1]})").starts_with("f:mesh"));
    }
};

SHARDBOARD_TEST(TestJsonFields)
#include "tst_jsonfields.moc"
