// SPDX-License-Identifier: Apache-2.0
// Random layouts on random meshes: each notation gives the layout back or refuses, and what HloSharding and DTensor
// texts mean is computed a second time from the text alone, by brute force.
#include "model/core/shards.h"
#include "model/notation/canonical.h"
#include "model/notation/notation.h"
#include "model/text/text.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QtTest>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

using namespace shardboard;

namespace {

using Random = std::mt19937;
using Numbers = std::vector<std::int64_t>;

int below(Random& random, int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); }

Mesh randomMesh(Random& random)
{
    std::vector<MeshAxis> axes;
    std::int64_t devices = 1;
    for (int count = 1 + below(random, 4), i = 0; i < count; ++i) {
        axes.push_back({ std::string(1, static_cast<char>('a' + i)) + "_x", 1 + below(random, 6) });
        if (below(random, 3) == 0)
            axes.back().size = below(random, 2) ? 8 : 12; // several ways to split
        devices *= axes.back().size;
    }
    Numbers ids;
    const int order = below(random, 4);
    if (order == 1) { // the axes of another order: an iota for some layouts
        const std::int64_t first = axes.front().size;
        for (std::int64_t i = 0; i < devices; ++i)
            ids.push_back(i % (devices / first) * first + i / (devices / first));
    } else if (order == 2) {
        ids.resize(static_cast<std::size_t>(devices));
        std::iota(ids.begin(), ids.end(), below(random, 2) * 3);
        std::ranges::shuffle(ids, random);
    }
    return Mesh::make(axes, ids).value();
}

/// Each axis whole or split at random; each part on a dim, partial, or unused.
Layout randomLayout(Random& random, const Mesh& mesh, std::size_t rank)
{
    std::vector<AxisRef> refs;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const std::int64_t size = mesh.axis(axis).size;
        if (below(random, 2) > 0) {
            refs.push_back({ axis });
            continue;
        }
        for (std::int64_t pre = 1; pre < size;) {
            std::int64_t part = 2 + below(random, static_cast<int>(size));
            while ((size / pre) % part != 0)
                part = part == size / pre ? 2 : part % (size / pre) + 1;
            if (part > 1)
                refs.push_back({ axis, pre, part });
            pre *= part;
        }
    }
    std::ranges::shuffle(refs, random);
    Layout layout = Layout::replicated(rank);
    layout.op = static_cast<ReduceOp>(std::max(0, below(random, 6) - 3));
    for (const AxisRef& ref : refs) {
        const int use = below(random, 8);
        if (use == 0)
            layout.partial.push_back(ref);
        else if (use < 7 && rank > 0)
            layout.dims[static_cast<std::size_t>(below(random, static_cast<int>(rank)))].push_back(ref);
    }
    return layout;
}

Numbers numbersIn(const std::string& text, char open, char close, std::size_t from = 0)
{
    const auto begin = text.find(open, from);
    const std::string inside = text.substr(begin + 1, text.find(close, begin) - begin - 1);
    Numbers numbers;
    for (const std::string_view word : split(inside, ','))
        numbers.push_back(parseInteger(word).value());
    return numbers;
}

/// The device list of a V1 or V2 text: numpy's arange(n).reshape(sizes).transpose(perm).flatten(), entry by entry.
Numbers devicesIn(const std::string& text)
{
    const auto arrow = text.find("<=");
    if (arrow == std::string::npos) {
        const auto begin = text.find(']') + 1;
        const auto end = text.find_first_not_of("0123456789,", begin);
        return numbersIn("(" + text.substr(begin, end - begin) + ")", '(', ')');
    }
    const Numbers sizes = numbersIn(text, '[', ']', arrow);
    Numbers perm(sizes.size());
    std::iota(perm.begin(), perm.end(), 0);
    if (const auto transpose = text.find("T(", arrow); transpose != std::string::npos)
        perm = numbersIn(text, '(', ')', transpose);
    const auto total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t { 1 }, std::multiplies<>());
    Numbers devices;
    for (std::int64_t flat = 0; flat < total; ++flat) {
        Numbers at(sizes.size()); // index in the array before it was transposed
        std::int64_t rest = flat;
        for (std::size_t i = perm.size(); i-- > 0;) {
            const auto source = static_cast<std::size_t>(perm[i]);
            at[source] = rest % sizes[source];
            rest /= sizes[source];
        }
        std::int64_t device = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i)
            device = device * sizes[i] + at[i];
        devices.push_back(device);
    }
    return devices;
}

/// Whether the devices of a text hold the blocks that the layout gives them.
QString compareHlo(const std::string& text, const Layout& layout, const Mesh& mesh)
{
    if (text == "{replicated}")
        return partsOf(layout.partial, mesh) == 1
                && std::ranges::all_of(layout.dims, [&](const auto& dim) { return partsOf(dim, mesh) == 1; })
            ? QString()
            : "not replicated";
    if (text == "{unreduced}")
        return partsOf(layout.partial, mesh) == mesh.deviceCount() ? QString() : "not unreduced";
    const Numbers dims = numbersIn(text, '[', ']');
    const Numbers devices = devicesIn(text);
    std::map<std::int64_t, std::int64_t> positions;
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position)
        positions[mesh.deviceId(position)] = position;
    const bool unreduced = text.find("unreduced}") != std::string::npos;
    const bool copies = text.find("replicate") != std::string::npos;
    if (dims.size() != layout.dims.size() + (unreduced ? 1 : 0) + (copies ? 1 : 0)
        || unreduced != (partsOf(layout.partial, mesh) > 1))
        return "wrong dims";
    std::map<Numbers, Numbers> copiesOf; // positions per block and term
    for (std::size_t flat = 0; flat < devices.size(); ++flat) {
        auto rest = static_cast<std::int64_t>(flat);
        Numbers at(dims.size());
        for (std::size_t i = dims.size(); i-- > 0; rest /= dims[i])
            at[i] = rest % dims[i];
        const std::int64_t position = positions.at(devices[flat]);
        for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
            if (partIndexOf(layout.dims[dim], mesh, position) != at[dim])
                return QString("device %1 holds another part of dim %2").arg(devices[flat]).arg(dim);
        if (unreduced && partIndexOf(layout.partial, mesh, position) != at.back())
            return QString("device %1 holds another term").arg(devices[flat]);
        if (copies)
            at.erase(at.begin() + static_cast<std::ptrdiff_t>(layout.dims.size()));
        copiesOf[at].push_back(position);
    }
    for (const auto& [block, list] : copiesOf)
        if (!std::ranges::is_sorted(list))
            return "copies are not in mesh order";
    return {};
}

/// torch's chunk of a list into n pieces of ceil(size / n).
Numbers chunk(const Numbers& list, std::int64_t pieces, std::int64_t index)
{
    const auto size = static_cast<std::int64_t>(list.size());
    const std::int64_t tile = (size + pieces - 1) / pieces;
    return Numbers(list.begin() + std::min(size, index * tile), list.begin() + std::min(size, (index + 1) * tile));
}

/// The elements of each tensor dim that a device holds when the placements of a text are applied one after the other.
std::vector<Numbers> torchElements(const std::string& text, const Shape& shape, const Mesh& mesh, std::int64_t position)
{
    std::vector<Numbers> elements;
    for (const std::int64_t size : shape) {
        elements.emplace_back(static_cast<std::size_t>(size));
        std::iota(elements.back().begin(), elements.back().end(), 0);
    }
    std::size_t at = 0;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const std::int64_t pieces = mesh.axis(axis).size;
        const std::int64_t index = mesh.coordinate(position, axis);
        if (text[at] == 'S') {
            auto& dim = elements[static_cast<std::size_t>(numbersIn(text, '(', ')', at).front())];
            dim = chunk(dim, pieces, index);
        } else if (text[at] == '_') {
            const Numbers arguments = numbersIn(text, '(', ')', at);
            auto& dim = elements[static_cast<std::size_t>(arguments[0])];
            Numbers kept;
            for (std::int64_t part = 0; part < arguments[1]; ++part) {
                const Numbers piece = chunk(chunk(dim, arguments[1], part), pieces, index);
                kept.insert(kept.end(), piece.begin(), piece.end());
            }
            dim = kept;
        }
        at = text.find(", ", at); // between placements, never inside one
        at = at == std::string::npos ? text.size() : at + 2;
    }
    return elements;
}

std::string mutated(std::string text, Random& random)
{
    static const std::vector<std::string> kPieces { "(",
                                                    ")",
                                                    "[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    ",",
                                                    "<=",
                                                    "T(",
                                                    "'",
                                                    "\"",
                                                    "?",
                                                    "p",
                                                    "0",
                                                    "-1",
                                                    ":",
                                                    "=",
                                                    "<",
                                                    ">",
                                                    "@",
                                                    "9223372036854775807",
                                                    "99999999999999999999999",
                                                    "unreduced",
                                                    "replicated",
                                                    "device_ids=",
                                                    "S(0)",
                                                    "_S(",
                                                    "P(",
                                                    "None",
                                                    "data",
                                                    "model",
                                                    "mesh",
                                                    "devices=[",
                                                    " ",
                                                    "\n",
                                                    "\x80",
                                                    std::string(1, '\0'),
                                                    "max" };
    for (int edits = 1 + below(random, 4); edits-- > 0;) {
        const auto at = random() % (text.size() + 1);
        const auto count = random() % 6;
        switch (below(random, 3)) {
        case 0:
            text.erase(at, count);
            break;
        case 1:
            text.insert(at, kPieces[random() % kPieces.size()]);
            break;
        default:
            text.insert(random() % (text.size() + 1), text.substr(at, count * 3));
        }
    }
    return text;
}

} // namespace

class TestNotationRoundTrip : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void writtenAndReadIsTheSame()
    {
        Random random(11);
        std::map<Notation, int> said;
        int subAxes = 0;
        for (int i = 0; i < 2500; ++i) {
            const Mesh mesh = randomMesh(random);
            const std::size_t rank = static_cast<std::size_t>(below(random, 4));
            const Layout layout = randomLayout(random, mesh, rank);
            QVERIFY(verifyLayout(layout, mesh, rank, "layout").ok());
            const Layout canonical = canonicalLayout(layout, mesh);
            QVERIFY(canonicalLayout(canonical, mesh) == canonical && sameLayout(layout, canonical, mesh));
            const bool hasSubAxis = firstSubAxis(canonical);
            const bool sum = withoutSizeOneAxes(layout, mesh).op == ReduceOp::Sum;
            subAxes += hasSubAxis;
            for (const Notation notation : kNotations) {
                const auto text = writeLayout(notation, layout, mesh);
                const std::string shown =
                    notationName(notation) + " on " + mesh.text() + ": " + (text.ok() ? text.value() : text.error().text());
                if (notation == Notation::Shardy)
                    QVERIFY2(text.ok(), shown.c_str());
                if (notation == Notation::Jax || notation == Notation::DTensor)
                    QVERIFY2(text.ok() == !hasSubAxis, shown.c_str());
                if (notation == Notation::HloV1 || (notation == Notation::HloV2 && mesh.deviceIds().empty()))
                    QVERIFY2(text.ok() == sum, shown.c_str());
                if (!text.ok())
                    continue;
                ++said[notation];
                const auto read = readLayout(notation, text.value(), mesh, rank, "TEXT");
                QVERIFY2(read.ok(), (shown + (read.ok() ? "" : read.error().text())).c_str());
                QVERIFY2(sameLayout(read.value(), layout, mesh), (shown + " was read as " + specText(read.value(), mesh)).c_str());
                if (notation == Notation::Jax || notation == Notation::Shardy)
                    QVERIFY2(read.value() == canonical, shown.c_str());
                const auto detected = readAnyLayout(text.value(), mesh, rank, "TEXT");
                QVERIFY2(detected.ok() && sameLayout(detected.value(), layout, mesh), shown.c_str());
            }
        }
        for (const Notation notation : kNotations)
            QVERIFY2(said[notation] > 400, notationName(notation).c_str());
        QVERIFY(subAxes > 400);
    }

    void maxRefusesExactlyOtherOrders()
    {
        Random random(12);
        for (int i = 0; i < 2000; ++i) {
            const Mesh mesh = randomMesh(random);
            Layout layout = randomLayout(random, mesh, 2);
            layout.op = ReduceOp::Sum;
            const Layout bare = withoutSizeOneAxes(layout, mesh);
            bool sayable = !firstSubAxis(canonicalLayout(layout, mesh));
            for (const auto& dim : bare.dims)
                sayable =
                    sayable && std::ranges::is_sorted(dim, [](const AxisRef& a, const AxisRef& b) { return a.axis < b.axis; });
            QCOMPARE(writeLayout(Notation::Max, layout, mesh).ok(), sayable);
        }
    }

    void hloTextsMeanTheLayout()
    {
        Random random(13);
        int compared = 0;
        int edited = 0;
        for (int i = 0; i < 1500; ++i) {
            const Mesh mesh = randomMesh(random);
            Layout layout = canonicalLayout(randomLayout(random, mesh, static_cast<std::size_t>(below(random, 4))), mesh);
            layout.op = ReduceOp::Sum;
            for (const Notation notation : { Notation::HloV2, Notation::HloV1 }) {
                const auto text = writeLayout(notation, layout, mesh);
                if (!text.ok())
                    continue;
                const QString difference = compareHlo(text.value(), layout, mesh);
                QVERIFY2(difference.isEmpty(),
                         (text.value() + " for " + specText(layout, mesh) + " on " + mesh.text() + ": ")
                             .append(difference.toStdString())
                             .c_str());
                ++compared;
                edited += notation == Notation::HloV2 && !mesh.deviceIds().empty() && text.value().find("<=") != std::string::npos;
            }
        }
        QVERIFY(compared > 2000);
        QVERIFY(edited > 50);
    }

    void iotasAreFoundWhereTheyExist()
    {
        // Every reordering of axes is an iota, so V2 must not refuse a device order that comes from one.
        Random random(14);
        for (int i = 0; i < 500; ++i) {
            std::vector<MeshAxis> axes { { "a", 1 + below(random, 4) },
                                         { "b", 1 + below(random, 4) },
                                         { "c", 1 + below(random, 4) } };
            const Mesh plain = Mesh::make(axes).value();
            std::vector<int> order { 0, 1, 2 };
            std::ranges::shuffle(order, random);
            const Numbers ids = plain.group(0, order);
            std::vector<MeshAxis> reordered;
            for (const int axis : order)
                reordered.push_back(axes[static_cast<std::size_t>(axis)]);
            const Mesh mesh = Mesh::make(reordered, ids).value();
            Layout layout = randomLayout(random, mesh, 2);
            layout.op = ReduceOp::Sum;
            const auto text = sure(writeLayout(Notation::HloV2, layout, mesh));
            QCOMPARE(compareHlo(text, canonicalLayout(layout, mesh), mesh), QString());
        }
    }

    void torchPlacementsMeanTheLayout()
    {
        Random random(15);
        int strided = 0;
        for (int i = 0; i < 600; ++i) {
            const Mesh mesh = randomMesh(random);
            const Layout layout = canonicalLayout(randomLayout(random, mesh, 2), mesh);
            const auto text = writeLayout(Notation::DTensor, layout, mesh);
            if (!text.ok())
                continue;
            strided += text.value().find("_S(") != std::string::npos;
            Shape shape;
            for (const auto& dim : layout.dims)
                shape.push_back(partsOf(dim, mesh) * (1 + below(random, 3)));
            const ShardMap shards = shardsOf(shape, layout, mesh, CutRule::Strict, "tensor").value();
            for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
                const auto elements = torchElements(text.value(), shape, mesh, position);
                const Shard shard = shards.shardAt(position);
                for (std::size_t dim = 0; dim < shape.size(); ++dim) {
                    const Range range = shard.pieces.front()[dim];
                    Numbers wanted(static_cast<std::size_t>(range.size()));
                    std::iota(wanted.begin(), wanted.end(), range.lo);
                    QVERIFY2(elements[dim] == wanted,
                             (text.value() + " for " + specText(layout, mesh) + " on " + mesh.text()).c_str());
                }
            }
        }
        QVERIFY(strided > 50);
    }

    void anyTextEndsWithAnAnswer()
    {
        Random random(16);
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        const std::vector<std::string> extra {
            R"(#sdy.sharding<mesh<["data"=2, "model"=4], device_ids=[0,1,2,3,4,5,6,7]>, [{"model":(2)2}p1, {}], replicated={"data"}>)",
            "{mesh['data'=2,'model'=4], device_ids=([8]), [{'model'}, {}], unreduced={'data'}}",
            "(_StridedShard(dim=0, split_factor=4), Shard(dim=0))", "[Partial('sum'), Sharded(0)]"
        };
        int read = 0;
        for (int i = 0; i < 15000; ++i) {
            const Layout layout = randomLayout(random, mesh, 2);
            const auto text = writeLayout(kNotations[random() % kNotations.size()], layout, mesh);
            const std::string fuzzed =
                mutated(text.ok() && below(random, 3) ? text.value() : extra[random() % extra.size()], random);
            detectNotation(fuzzed);
            for (const Notation notation : kNotations) {
                const auto answer = readLayout(notation, fuzzed, mesh, 2, "TEXT");
                if (!answer.ok()) {
                    QVERIFY(answer.error().text().find('\n') == std::string::npos);
                    continue;
                }
                ++read; // what is understood is a layout that can be said again
                QVERIFY(verifyLayout(answer.value(), mesh, 2, "layout").ok());
                const auto again = writeLayout(Notation::Shardy, answer.value(), mesh);
                QVERIFY(readLayout(Notation::Shardy, again.value(), mesh, 2, "TEXT").value() == answer.value());
            }
        }
        QVERIFY(read > 500);
    }

    void longTextsEndSoon()
    {
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        for (const char* piece :
             { "[", "{", "(", "R, ", "R", "S(0)", "P(", "{\"data\"}, ", "0,", "1,", "'data', ", "?", "\"model\":(1)2, ", "," })
            for (const char* start : { "", "P(", "P((", "[", "[{", "{devices=[", "{devices=[2,4]", "{devices=[8]<=[", "{mesh[",
                                       "{mesh['data'=2,'model'=4], [{", "R, S(" }) {
                std::string text = start;
                while (text.size() < 50000)
                    text += piece;
                for (const Notation notation : kNotations) {
                    const auto answer = readLayout(notation, text, mesh, 2, "TEXT");
                    QVERIFY2(!answer.ok() && answer.error().text().size() < 1000, text.substr(0, 40).c_str());
                }
                QVERIFY(!readAnyLayout(text, mesh, 2, "TEXT").ok());
            }
    }

    void largestMesh()
    {
        const Mesh mesh = Mesh::parse("pod=16,data=64,model=1024").value();
        const Layout layout = parseSpec("P(('model', 'pod'), 'data:(8)8')", mesh, 2).value();
        for (const Notation notation : { Notation::HloV2, Notation::HloV1 }) {
            const std::string text = writeLayout(notation, layout, mesh).value();
            QVERIFY(readLayout(notation, text, mesh, 2, "TEXT").value() == layout);
        }
    }
};

SHARDBOARD_TEST(TestNotationRoundTrip)
#include "tst_notationroundtrip.moc"
