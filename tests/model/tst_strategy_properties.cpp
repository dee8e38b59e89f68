// SPDX-License-Identifier: Apache-2.0
// Whatever shape, mesh, strategy and cut rule: every device holds what dealing out the elements by hand gives it, in
// that order, and every element lies on as many devices as there are replicas.
#include "model/core/strategy.h"
#include "tests/model/brutecut.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <random>

using namespace shardboard;
using namespace shardboard::test;

namespace {

/// A dim as it is cut: by hand over these axes.
struct BruteDim {
    std::vector<BruteSegment> segments;
    std::int64_t numerator = 1;
    std::int64_t denominator = 1;
    std::vector<int> axes;
};

struct Trial {
    Mesh mesh;
    Shape shape;
    Strategy strategy;
    CutRule rule = CutRule::Balanced;
    std::vector<std::int64_t> grains;
    std::vector<BruteDim> dims;

    std::string text() const { return mesh.text() + " " + shapeText(shape) + " " + strategy.text() + " " + cutRuleName(rule); }
};

class Trials {
public:
    explicit Trials(unsigned seed)
        : m_random(seed)
    {
    }

    Trial next()
    {
        Trial t;
        std::vector<MeshAxis> axes { { "a", 1 + below(3) }, { "b", 1 + below(4) }, { "c", 1 + below(2) } };
        axes.resize(static_cast<std::size_t>(1 + below(3)));
        t.mesh = Mesh::make(axes).value();
        t.strategy.kind = static_cast<StrategyKind>(below(9)); // replicate to spec
        t.rule = static_cast<CutRule>(below(5));
        const int rank = 1 + below(3);
        for (int i = 0; i < rank; ++i)
            t.shape.push_back(below(10) ? 1 + below(8) : 0);
        const int least =
            t.strategy.kind == StrategyKind::Columnwise || t.strategy.kind == StrategyKind::HeadAwareColumnwise ? 2 : 1;
        while (static_cast<int>(t.shape.size()) < least)
            t.shape.push_back(1 + below(8));
        t.dims.resize(t.shape.size());
        for (std::size_t i = 0; i < t.shape.size(); ++i)
            t.dims[i].segments = { { t.shape[i], 1 } };
        if (t.strategy.kind == StrategyKind::Spec)
            spec(t);
        else if (t.strategy.kind != StrategyKind::Replicate)
            named(t);
        grains(t);
        return t;
    }

private:
    int below(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }

    std::vector<int> someAxes(const Mesh& mesh)
    {
        std::vector<int> axes;
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            axes.push_back(axis);
        std::ranges::shuffle(axes, m_random);
        axes.resize(static_cast<std::size_t>(1 + below(mesh.axisCount())));
        return axes;
    }

    void spec(Trial& t)
    {
        Layout layout = Layout::replicated(t.shape.size());
        for (const int axis : someAxes(t.mesh)) {
            const auto dim = static_cast<std::size_t>(below(static_cast<int>(t.shape.size())));
            layout.dims[dim].push_back(AxisRef { axis });
            t.dims[dim].axes.push_back(axis);
        }
        t.strategy.spec = specText(layout, t.mesh);
    }

    void named(Trial& t)
    {
        const int rank = static_cast<int>(t.shape.size());
        std::size_t dim =
            t.strategy.kind == StrategyKind::Columnwise || t.strategy.kind == StrategyKind::HeadAwareColumnwise ? 1 : 0;
        if (parametersOf(t.strategy.kind).dim) {
            t.strategy.dim = below(2 * rank) - rank; // negative counts from the end
            dim = static_cast<std::size_t>((t.strategy.dim + rank) % rank);
        }
        BruteDim& cut = t.dims[dim];
        std::int64_t& size = t.shape[dim];
        switch (t.strategy.kind) {
        case StrategyKind::HeadAwareColumnwise: {
            const std::int64_t packing[][2] = { { 1, 1 }, { 1, 2 }, { 3, 4 } };
            const auto& packed = packing[below(3)];
            heads(t.strategy);
            cut.segments = { { t.strategy.numHeads * t.strategy.headDim, t.strategy.headDim } };
            cut.numerator = packed[0];
            cut.denominator = packed[1];
            size = cut.segments[0].size * packed[0] / packed[1];
            break;
        }
        case StrategyKind::StackedQkv:
            heads(t.strategy);
            cut.segments.assign(3, { t.strategy.numHeads * t.strategy.headDim, t.strategy.headDim });
            size = 3 * cut.segments[0].size;
            break;
        case StrategyKind::GateUp:
            size = 2 * below(6);
            cut.segments.assign(2, { size / 2, 1 });
            break;
        case StrategyKind::Segmented:
            segments(t.strategy, cut, size);
            break;
        default:
            break;
        }
        cut.axes = someAxes(t.mesh);
        for (const int axis : cut.axes)
            t.strategy.axes.push_back(t.mesh.axis(axis).name);
    }

    void heads(Strategy& strategy)
    {
        strategy.numHeads = 1 + below(7);
        strategy.headDim = 4 * (1 + below(2));
    }

    void segments(Strategy& strategy, BruteDim& cut, std::int64_t& size)
    {
        cut.segments.clear();
        std::int64_t sum = 0;
        const int count = 1 + below(4);
        for (int i = 0; i < count; ++i) {
            StrategySegment segment;
            if (below(2)) {
                segment.numHeads = 1 + below(5);
                segment.headDim = 1 + below(4);
            } else {
                segment.size = 1 + below(9);
            }
            strategy.segments.push_back(segment);
            cut.segments.push_back({ segment.elements(), std::max<std::int64_t>(1, segment.headDim) });
            sum += segment.elements();
        }
        const bool packed = sum % 2 == 0 && below(2);
        cut.denominator = packed ? 2 : 1;
        size = sum / cut.denominator;
    }

    /// Units of dims that are cut as a whole count for one rule only.
    void grains(Trial& t)
    {
        if (t.rule != CutRule::GrainBalanced)
            return;
        const bool whole = t.strategy.kind == StrategyKind::Rowwise || t.strategy.kind == StrategyKind::Columnwise
            || t.strategy.kind == StrategyKind::Axiswise || t.strategy.kind == StrategyKind::Spec;
        if (!whole)
            return;
        for (BruteDim& dim : t.dims) {
            t.grains.push_back(1 + below(3));
            dim.segments[0].unit = t.grains.back();
        }
    }

    std::mt19937 m_random;
};

std::vector<std::int64_t> axisSizes(const Trial& t, const BruteDim& dim)
{
    std::vector<std::int64_t> sizes;
    for (const int axis : dim.axes)
        sizes.push_back(t.mesh.axis(axis).size);
    return sizes;
}

/// A strict cut wants whole units on every part of every segment.
bool divides(const Trial& t)
{
    for (const BruteDim& dim : t.dims) {
        std::int64_t parts = 1;
        for (const std::int64_t size : axisSizes(t, dim))
            parts *= size;
        for (const BruteSegment& segment : dim.segments)
            if (segment.size % (segment.unit * parts) != 0)
                return false;
    }
    return true;
}

/// Coordinates of a position, last axis fastest.
std::vector<std::int64_t> coordinates(const Mesh& mesh, std::int64_t position)
{
    std::vector<std::int64_t> out(static_cast<std::size_t>(mesh.axisCount()));
    for (int axis = mesh.axisCount() - 1; axis >= 0; --axis) {
        out[static_cast<std::size_t>(axis)] = position % mesh.axis(axis).size;
        position /= mesh.axis(axis).size;
    }
    return out;
}

/// Elements of one dim in the order in which the shard holds them: pieces one after the other along the join dim.
Elements elementsOf(const Shard& shard, std::size_t dim)
{
    Elements out;
    for (std::size_t i = 0; i < shard.pieces.size(); ++i) {
        if (i > 0 && static_cast<int>(dim) != shard.joinDim)
            break;
        for (std::int64_t at = shard.pieces[i][dim].lo; at < shard.pieces[i][dim].hi; ++at)
            out.push_back(at);
    }
    return out;
}

} // namespace

class TestStrategyProperties : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyDeviceHoldsWhatItIsDealt()
    {
        Trials trials(7);
        std::map<StrategyKind, int> cut;
        int refused = 0;
        for (int i = 0; i < 12000; ++i) {
            const Trial t = trials.next();
            const auto shards = shardsOf(t.strategy, t.shape, t.mesh, t.rule, "w", t.grains);
            if (t.rule == CutRule::Strict && !divides(t)) {
                QVERIFY2(!shards.ok(), t.text().c_str());
                ++refused;
                continue;
            }
            QVERIFY2(shards.ok(), (t.text() + ": " + (shards.ok() ? "" : shards.error().text())).c_str());
            check(t, shards.value());
            if (QTest::currentTestFailed())
                QFAIL(t.text().c_str());
            ++cut[t.strategy.kind];
        }
        QCOMPARE(cut.size(), std::size_t(9));
        for (const auto& [kind, count] : cut)
            QVERIFY2(count > 500, strategyKindName(kind).c_str());
        QVERIFY(refused > 500);
    }

    /// The two ways to say a layout agree: a strategy of one dim and the spec that layoutOf makes of it.
    void strategiesAreTheirSpecs()
    {
        Trials trials(8);
        for (int i = 0; i < 2000; ++i) {
            const Trial t = trials.next();
            const auto layout = layoutOf(t.strategy, t.mesh, t.shape.size(), "w").value();
            for (std::size_t dim = 0; dim < t.dims.size(); ++dim) {
                QCOMPARE(layout.dims[dim].size(), t.dims[dim].axes.size());
                for (std::size_t k = 0; k < t.dims[dim].axes.size(); ++k)
                    QCOMPARE(layout.dims[dim][k].axis, t.dims[dim].axes[k]);
            }
        }
    }

private:
    static void check(const Trial& t, const ShardMap& shards)
    {
        std::vector<std::vector<Elements>> dealt;
        std::int64_t parts = 1;
        for (std::size_t dim = 0; dim < t.dims.size(); ++dim) {
            const BruteDim& d = t.dims[dim];
            dealt.push_back(dealDim(t.shape[dim], d.segments, d.numerator, d.denominator, t.rule, axisSizes(t, d)));
            parts *= static_cast<std::int64_t>(dealt.back().size());
        }
        std::vector<std::int64_t> copies(static_cast<std::size_t>(elementCount(t.shape).value()));
        std::int64_t largest = 0;
        for (std::int64_t position = 0; position < t.mesh.deviceCount(); ++position) {
            const Shard shard = shards.shardAt(position);
            const auto at = coordinates(t.mesh, position);
            std::vector<Elements> held;
            Shape shape;
            for (std::size_t dim = 0; dim < t.dims.size(); ++dim) {
                std::int64_t part = 0;
                for (const int axis : t.dims[dim].axes)
                    part = part * t.mesh.axis(axis).size + at[static_cast<std::size_t>(axis)];
                held.push_back(elementsOf(shard, dim));
                QCOMPARE(held.back(), dealt[dim][static_cast<std::size_t>(part)]);
                shape.push_back(static_cast<std::int64_t>(held.back().size()));
            }
            QCOMPARE(shard.shape(), shape);
            largest = std::max(largest, elementCount(shape).value());
            count(t.shape, held, copies);
        }
        QCOMPARE(shards.replication(), t.mesh.deviceCount() / parts);
        QCOMPARE(shards.maxElements(), largest);
        for (const std::int64_t n : copies)
            QCOMPARE(n, t.mesh.deviceCount() / parts);
    }

    static void count(const Shape& shape, const std::vector<Elements>& held, std::vector<std::int64_t>& copies)
    {
        std::vector<std::int64_t> offsets { 0 };
        for (std::size_t dim = 0; dim < shape.size(); ++dim) {
            std::vector<std::int64_t> next;
            for (const std::int64_t offset : offsets)
                for (const std::int64_t element : held[dim])
                    next.push_back(offset * shape[dim] + element);
            offsets = std::move(next);
        }
        for (const std::int64_t offset : offsets)
            ++copies[static_cast<std::size_t>(offset)];
    }
};

SHARDBOARD_TEST(TestStrategyProperties)
#include "tst_strategy_properties.moc"
