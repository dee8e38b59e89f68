// SPDX-License-Identifier: Apache-2.0
// Reshards against all others: every layout in between and every single collective is tried, and soundness of a collective
// is decided by looking at the elements that devices hold.
#include "model/core/shards.h"
#include "model/plan/reshard/reshard.h"
#include "model/plan/reshard/reshardorder.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>

using namespace shardboard;

namespace {

using Elements = std::vector<std::int64_t>;

Elements elementsOf(const Layout& layout, const Shape& shape, const Mesh& mesh, std::int64_t device)
{
    Elements out { 0 };
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        const Range range =
            partRange(shape[dim], layout.dims[dim], mesh, layout.cuttingOf(dim), partIndexOf(layout.dims[dim], mesh, device));
        Elements next;
        for (const std::int64_t outer : out)
            for (std::int64_t i = range.lo; i < range.hi; ++i)
                next.push_back(outer * shape[dim] + i);
        out = std::move(next);
    }
    return out;
}

struct Case {
    Mesh mesh;
    Shape shape;
    Hardware hardware;
    Layout from;
    Layout to;
};

constexpr double kStart = 6.6e-6;

LinkSpec link(double alphaSeconds, double bytesPerSecond)
{
    LinkSpec out;
    out.alphaSeconds = alphaSeconds;
    out.startSeconds = kStart;
    out.bytesPerSecond = bytesPerSecond;
    return out;
}

double price(const ReshardStep& step, const Case& on)
{
    return CollectivePrices(on.mesh, on.hardware).seconds(step.kind, step.axes, stepBytes(step, on.shape, DType::BF16, on.mesh));
}

double price(const std::vector<ReshardStep>& steps, const Case& on)
{
    double sum = 0;
    for (const ReshardStep& step : steps)
        sum += price(step, on);
    return sum;
}

std::vector<ReshardStep> found(const Case& on)
{
    return reshardSteps(on.from, on.to, { on.shape, DType::BF16, 1 }, on.mesh, on.hardware, "t").value();
}

QString told(const Case& on, const std::vector<ReshardStep>& steps)
{
    std::string text =
        on.mesh.text() + ", " + shapeText(on.shape) + ": " + specText(on.from, on.mesh) + " to " + specText(on.to, on.mesh) + ":";
    for (const ReshardStep& step : steps)
        text += " " + collectiveName(step.kind) + " " + specText(step.after, on.mesh);
    return QString::fromStdString(text);
}

std::set<int> axesOf(const std::vector<AxisRef>& refs)
{
    std::set<int> out;
    for (const AxisRef& ref : refs)
        out.insert(ref.axis);
    return out;
}

bool startsWith(const std::vector<AxisRef>& list, const std::vector<AxisRef>& prefix)
{
    return prefix.size() <= list.size() && std::equal(prefix.begin(), prefix.end(), list.begin());
}

/// Whether every device finds in its group all that it needs.
bool sound(const ReshardStep& step, const Case& on)
{
    for (std::int64_t device = 0; device < on.mesh.deviceCount(); ++device) {
        const auto group =
            step.kind == CollectiveKind::LocalSlice ? std::vector<std::int64_t> { device } : on.mesh.group(device, step.axes);
        const Elements needs = elementsOf(step.after, on.shape, on.mesh, device);
        Elements all;
        std::vector<Elements> had;
        std::vector<Elements> have;
        for (const std::int64_t member : group) {
            had.push_back(elementsOf(step.before, on.shape, on.mesh, member));
            have.push_back(elementsOf(step.after, on.shape, on.mesh, member));
            all.insert(all.end(), had.back().begin(), had.back().end());
            const bool sums = step.kind == CollectiveKind::ReduceScatter || step.kind == CollectiveKind::AllReduce;
            if (sums && !std::includes(had.back().begin(), had.back().end(), needs.begin(), needs.end()))
                return false; // an addend is missing
        }
        std::ranges::sort(all);
        if (!std::includes(all.begin(), all.end(), needs.begin(), needs.end()))
            return false;
        if (step.kind == CollectiveKind::SendRecv) {
            std::ranges::sort(had);
            std::ranges::sort(have);
            if (had != have)
                return false;
        }
    }
    return true;
}

/// Axes that a reduce-scatter brings to where they are wanted, after which no more than a slice is to do on that dim.
std::set<int> axesToScatter(const Layout& before, const Case& on)
{
    std::set<int> out;
    const std::set<int> partial = axesOf(before.partial);
    for (std::size_t dim = 0; dim < on.shape.size(); ++dim) {
        const auto& wanted = on.to.dims[dim];
        if (!startsWith(wanted, before.dims[dim]))
            continue;
        Layout scattered = before;
        std::set<int> run;
        for (std::size_t i = before.dims[dim].size(); i < wanted.size() && partial.contains(wanted[i].axis); ++i) {
            scattered.dims[dim].push_back(wanted[i]);
            run.insert(wanted[i].axis);
        }
        Layout whole = scattered;
        whole.dims[dim] = wanted;
        if (sound({ CollectiveKind::ReduceScatter, { run.begin(), run.end() }, before, scattered }, on)
            && sound({ CollectiveKind::LocalSlice, {}, scattered, whole }, on))
            out.merge(run);
    }
    return out;
}

/// Axes that cut a dim in the end; nothing is cut over the others on the way.
std::set<int> axesOfGoal(const Case& on)
{
    std::set<int> out;
    for (const auto& dim : on.to.dims)
        out.merge(axesOf(dim));
    return out;
}

bool within(const std::set<int>& some, const std::set<int>& all)
{
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

/// What an all-reduce sums over at least: all that is not wanted in shards, at once.
bool sumsAllAtOnce(const Layout& before, const std::set<int>& summed, const Case& on)
{
    const std::set<int> goal = axesOfGoal(on);
    const std::set<int> staysPartial = axesOf(on.to.partial);
    for (const int axis : axesOf(before.partial))
        if (!goal.contains(axis) && !staysPartial.contains(axis) && !summed.contains(axis))
            return false;
    return true;
}

/// The collective that leads from one layout to the other, if one does.
std::optional<ReshardStep> single(const Layout& before, const Layout& after, const Case& on)
{
    std::set<int> summed = axesOf(before.partial);
    for (const int axis : axesOf(after.partial))
        if (summed.erase(axis) == 0)
            return std::nullopt;
    std::vector<std::size_t> longer;
    std::vector<std::size_t> shorter;
    std::set<int> gained;
    std::set<int> lost;
    bool other = false;
    for (std::size_t dim = 0; dim < on.shape.size(); ++dim) {
        const auto& a = before.dims[dim];
        const auto& b = after.dims[dim];
        if (a == b)
            continue;
        if (startsWith(b, a)) {
            longer.push_back(dim);
            gained.merge(axesOf({ b.begin() + static_cast<std::ptrdiff_t>(a.size()), b.end() }));
        } else if (startsWith(a, b)) {
            shorter.push_back(dim);
            lost.merge(axesOf({ a.begin() + static_cast<std::ptrdiff_t>(b.size()), a.end() }));
        } else {
            other = true;
        }
    }
    ReshardStep step { CollectiveKind::SendRecv, {}, before, after };
    const auto over = [&](CollectiveKind kind, const std::set<int>& axes) {
        step.kind = kind;
        step.axes.assign(axes.begin(), axes.end());
        return sound(step, on) ? std::optional(step) : std::nullopt;
    };
    if (!other && longer.empty() && shorter.empty()) {
        for (const int axis : axesToScatter(before, on))
            if (summed.contains(axis))
                return std::nullopt;
        return sumsAllAtOnce(before, summed, on) ? over(CollectiveKind::AllReduce, summed) : std::nullopt;
    }
    if (!other && longer.size() == 1 && shorter.empty() && !summed.empty() && gained == summed && within(gained, axesOfGoal(on)))
        return over(CollectiveKind::ReduceScatter, summed);
    if (!summed.empty())
        return std::nullopt;
    if (!other && longer.size() == 1 && shorter.empty()) {
        if (!within(gained, axesOfGoal(on)))
            return std::nullopt;
        for (std::size_t dim = 0; dim < on.shape.size(); ++dim)
            for (const AxisRef& ref : before.dims[dim])
                if (gained.contains(ref.axis))
                    return std::nullopt;
        return over(CollectiveKind::LocalSlice, gained);
    }
    if (!other && longer.empty() && shorter.size() == 1)
        return over(CollectiveKind::AllGather, lost);
    if (!other && longer.size() == 1 && shorter.size() == 1 && gained == lost)
        if (auto moved = over(CollectiveKind::AllToAll, lost))
            return moved;
    // What is left is an exchange of shards: over all axes that stand elsewhere, or for another stride.
    std::set<int> changed;
    for (int axis = 0; axis < on.mesh.axisCount(); ++axis) {
        const auto place = [&](const Layout& layout) {
            for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
                for (std::size_t i = 0; i < layout.dims[dim].size(); ++i)
                    if (layout.dims[dim][i].axis == axis)
                        return std::pair(
                            dim,
                            partsOf({ layout.dims[dim].begin() + static_cast<std::ptrdiff_t>(i) + 1, layout.dims[dim].end() },
                                    on.mesh));
            return std::pair(std::size_t { 99 }, std::int64_t { 0 });
        };
        if (place(before) != place(after))
            changed.insert(axis);
    }
    for (std::size_t dim = 0; dim < on.shape.size(); ++dim)
        if (partsOf(before.dims[dim], on.mesh) != partsOf(after.dims[dim], on.mesh))
            return std::nullopt;
    return over(CollectiveKind::SendRecv, changed);
}

/// All layouts on which the axes that are the same thing in both ends, everywhere whole or partial, stay so.
std::vector<Layout> layoutsBetween(const Case& on)
{
    std::vector<Layout> out { Layout::replicated(on.shape.size()) };
    const auto used = [](const Layout& layout, int axis) {
        return std::ranges::any_of(layout.dims, [&](const auto& dim) { return axesOf(dim).contains(axis); });
    };
    for (int axis = 0; axis < on.mesh.axisCount(); ++axis) {
        const bool partialBefore = axesOf(on.from.partial).contains(axis);
        const bool partialAfter = axesOf(on.to.partial).contains(axis);
        const bool idle = !partialBefore && !used(on.from, axis) && !used(on.to, axis);
        std::vector<Layout> next;
        for (const Layout& layout : out) {
            if (!partialAfter)
                next.push_back(layout);
            if (partialBefore) {
                next.push_back(layout);
                next.back().partial.push_back({ axis });
            }
            if (partialAfter || idle)
                continue;
            for (std::size_t dim = 0; dim < on.shape.size(); ++dim)
                for (std::size_t at = 0; at <= layout.dims[dim].size(); ++at) {
                    next.push_back(layout);
                    auto& list = next.back().dims[dim];
                    list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), { axis });
                }
        }
        out = std::move(next);
    }
    return out;
}

double cheapestOfAll(const Case& on)
{
    const std::vector<Layout> layouts = layoutsBetween(on);
    std::vector<double> cost(layouts.size(), std::numeric_limits<double>::infinity());
    std::vector<bool> done(layouts.size(), false);
    const auto indexOf = [&](const Layout& layout) {
        return static_cast<std::size_t>(std::ranges::find(layouts, layout) - layouts.begin());
    };
    cost[indexOf(on.from)] = 0;
    for (;;) {
        std::size_t best = layouts.size();
        for (std::size_t i = 0; i < layouts.size(); ++i)
            if (!done[i] && (best == layouts.size() || cost[i] < cost[best]))
                best = i;
        if (best == layouts.size() || best == indexOf(on.to))
            return cost[indexOf(on.to)];
        done[best] = true;
        for (std::size_t i = 0; i < layouts.size(); ++i)
            if (!done[i])
                if (const auto step = single(layouts[best], layouts[i], on))
                    cost[i] = std::min(cost[i], cost[best] + price(*step, on));
    }
}

Layout randomLayout(std::mt19937& random, const Mesh& mesh, std::size_t rank, const Layout* before)
{
    Layout layout = Layout::replicated(rank);
    std::vector<int> axes(static_cast<std::size_t>(mesh.axisCount()));
    std::iota(axes.begin(), axes.end(), 0);
    std::ranges::shuffle(axes, random);
    for (const int axis : axes) {
        const std::size_t place = random() % (rank + 2);
        if (place < rank)
            layout.dims[place].push_back({ axis });
        else if (place == rank && (!before || axesOf(before->partial).contains(axis)))
            layout.partial.push_back({ axis });
    }
    std::ranges::sort(layout.partial, [](auto& a, auto& b) { return a.axis < b.axis; });
    return layout;
}

Case randomCase(std::mt19937& random, int mostAxes, std::size_t mostDims)
{
    const auto pick = [&](std::int64_t n) { return 1 + static_cast<std::int64_t>(random()) % n; };
    std::vector<MeshAxis> axes;
    for (std::int64_t i = pick(mostAxes); i > 0; --i)
        axes.push_back({ std::string(1, static_cast<char>('a' + axes.size())), 1 + pick(3) });
    if (axes.size() > 3)
        axes[0].size = axes[1].size = axes[2].size = axes[3].size = 2;
    Case out { Mesh::make(axes).value(), {}, {}, {}, {} };
    for (std::size_t i = static_cast<std::size_t>(pick(static_cast<std::int64_t>(mostDims))); i > 0; --i)
        out.shape.push_back(random() % 2 ? pick(16) : 12 * pick(2));
    const std::int64_t perNode = std::int64_t { 1 } << random() % 4;
    const LinkSpec inner = link(1e-7 * static_cast<double>(random() % 4), 1e6 * static_cast<double>(pick(50)));
    out.hardware = twoLevelHardware(perNode, inner, random() % 3 ? link(1e-6, 2e5 * static_cast<double>(pick(20))) : inner);
    out.from = randomLayout(random, out.mesh, out.shape.size(), nullptr);
    out.to = randomLayout(random, out.mesh, out.shape.size(), &out.from);
    return out;
}

} // namespace

class TestReshardSearch : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void partsNestWhereTheyDo()
    {
        for (std::int64_t size = 0; size < 40; ++size)
            for (std::int64_t coarse = 2; coarse < 7; ++coarse)
                for (std::int64_t each = 2; each < 5; ++each) {
                    bool inside = true;
                    for (std::int64_t i = 0; i < coarse * each; ++i) {
                        const Range fine = balancedPart(size, coarse * each, i);
                        const Range around = balancedPart(size, coarse, i / each);
                        inside = inside && (fine.size() == 0 || (around.lo <= fine.lo && fine.hi <= around.hi));
                    }
                    QCOMPARE(partsNest(size, coarse * each), inside);
                }
    }

    void sequences_data()
    {
        QTest::addColumn<QString>("links");
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("steps");
        const auto row = [](const char* name, const char* links, const char* from, const char* to, const char* steps) {
            QTest::newRow(name) << links << from << to << steps;
        };
        // a=2, b=4, c=2 and d=2 on a tensor of 64 x 64 x 64; "fabric": one node; "nodes": b, c and d inside a node of 16.
        row("two sums are one", "fabric", "P(unreduced={'a','b'})", "P()", "all-reduce a,b");
        row("on any links", "nodes", "P(unreduced={'a','b'})", "P()", "all-reduce a,b");
        row("slow links carry a part of a sum", "nodes", "P(unreduced={'a','b'})", "P('b')", "reduce-scatter b, all-reduce a");
        row("dims in order where both cost the same", "fabric", "P(unreduced={'a','b'})", "P('a','b')",
            "reduce-scatter a, reduce-scatter b");
        row("other dims in order", "fabric", "P(unreduced={'a','b'})", "P('b','a')", "reduce-scatter b, reduce-scatter a");
        row("faster axis first", "nodes", "P(unreduced={'a','c'})", "P('a','c')", "reduce-scatter c, reduce-scatter a");
        row("a scatter of both", "fabric", "P(unreduced={'a','b'})", "P(('b','a'))", "reduce-scatter b,a");
        row("scatter before the sum", "fabric", "P(unreduced={'a','b'})", "P('a')", "reduce-scatter a, all-reduce b");
        row("slice before the sum", "fabric", "P(unreduced={'b'})", "P('c')", "local-slice c, all-reduce b");
        row("both cuts move at once", "fabric", "P(('a','b'))", "P(None,('a','b'))", "all-to-all a,b");
        row("in another order, too", "fabric", "P(('a','b'))", "P(None,('b','a'))", "all-to-all a,b");
        row("order of axes", "fabric", "P(('a','b'))", "P(('b','a'))", "send-recv a,b");
        row("axes of a size change dims", "fabric", "P('a','c')", "P('c','a')", "send-recv a,c");
        row("an axis for another", "fabric", "P('c')", "P('d')", "send-recv c,d");
        row("two gathers are one", "fabric", "P(('a','b'))", "P()", "all-gather a,b");
        row("one gather through slow and fast links", "nodes", "P(('a','b'))", "P()", "all-gather a,b");
        row("whatever the order of its axes", "nodes", "P(('b','a'))", "P()", "all-gather b,a");
        row("major axis leaves", "fabric", "P(('a','b'))", "P('b')", "send-recv a,b, all-gather a");
        row("two slices", "fabric", "P()", "P('a','b')", "local-slice a, local-slice b");
    }
    /// Prices are those of 1.1 and 1.2 of the performance notes; launches and latencies count for little here.
    void sequences()
    {
        QFETCH(QString, links);
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, steps);
        Case on { Mesh::parse("a=2,b=4,c=2,d=2").value(), { 64, 64, 64 }, {}, {}, {} };
        on.hardware = twoLevelHardware(16, link(1e-9, 1e9), link(1e-9, links == "nodes" ? 1e8 : 1e9));
        on.from = parseSpec(from.toStdString(), on.mesh, 3).value();
        on.to = parseSpec(to.toStdString(), on.mesh, 3).value();
        QStringList list;
        for (const ReshardStep& step : found(on)) {
            QStringList axes;
            for (const int axis : step.axes)
                axes << QString::fromStdString(on.mesh.axis(axis).name);
            list << QString::fromStdString(collectiveName(step.kind)) + " " + axes.join(",");
        }
        QCOMPARE(list.join(", "), steps);
    }

    /// A sum over islands of 8 and 4 of them, wanted in shards on the island (1.2): the network carries an eighth of it.
    void hierarchicalSumCostsWhatItShould()
    {
        Case on { Mesh::parse("nodes=4,island=8").value(), { 4096, 4096 }, {}, {}, {} };
        on.hardware = twoLevelHardware(8, link(1e-6, 400e9), link(5e-6, 50e9));
        on.from = parseSpec("P(unreduced={'nodes','island'})", on.mesh, 2).value();
        on.to = parseSpec("P('island')", on.mesh, 2).value();
        const double bytes = 4096.0 * 4096 * 2;
        const double island = 7 * 1e-6 + 7.0 / 8 * bytes / 400e9;
        const double nodes = 2 * 3 * 5e-6 + 2 * 3.0 / 4 * (bytes / 8) / 50e9;
        QVERIFY(std::fabs(price(found(on), on) - (island + nodes + 2 * kStart)) < 1e-12);
    }

    void whatIsTooLargeTakesTheFixedOrder()
    {
        std::vector<MeshAxis> axes;
        for (char name = 'a'; name < 'k'; ++name)
            axes.push_back({ std::string(1, name), 2 });
        Case on { Mesh::make(axes).value(), { 4096, 4096 }, {}, {}, {} };
        on.hardware = hardwarePresets().front();
        on.from = parseSpec("P(('a','b','c','d','e'),('f','g','h','i','j'))", on.mesh, 2).value();
        on.to = parseSpec("P(('j','i','h','g','f'),('e','d','c','b','a'))", on.mesh, 2).value();
        const auto steps = found(on);
        QVERIFY(steps == stepsInFixedOrder(on.from, on.to, on.shape, on.mesh));
        QVERIFY(!steps.empty() && steps.back().after == on.to);
    }

    void dataThatIsNotThereIsNotPaidFor()
    {
        // Where all rows are full it pays to gather half of them; where few are, a single start.
        Case on { Mesh::parse("a=2,b=8").value(), { 8192, 512 }, {}, {}, {} };
        on.hardware = twoLevelHardware(16, link(1e-7, 400e9), link(1e-7, 10e9));
        on.from = parseSpec("P(('a','b'))", on.mesh, 2).value();
        on.to = parseSpec("P('b')", on.mesh, 2).value();
        const auto first = [&](double density) {
            return reshardSteps(on.from, on.to, { on.shape, DType::BF16, density }, on.mesh, on.hardware, "t").value().front().kind;
        };
        QCOMPARE(first(1), CollectiveKind::SendRecv);
        QCOMPARE(first(0.01), CollectiveKind::AllGather);
    }

    /// Dims that are cut in heads, or as other frameworks do.
    void everyCuttingIsSound()
    {
        std::mt19937 random(23);
        const Cutting cuttings[] = { {}, { CutRule::CeilFlat, 1 }, { CutRule::CeilNested, 1 }, { CutRule::GrainBalanced, 4 } };
        const auto recut = [&](Layout& layout, const Case& on) {
            for (std::size_t dim = 0; dim < on.shape.size(); ++dim)
                if (!layout.dims[dim].empty())
                    layout.setCutting(dim, canonicalCutting(on.shape[dim], layout.dims[dim], on.mesh, cuttings[random() % 4]));
        };
        int cut = 0;
        for (int trial = 0; trial < 4000; ++trial) {
            Case on = randomCase(random, 3, 2);
            recut(on.from, on);
            if (trial % 4 == 0) {
                const auto partial = on.to.partial;
                on.to = on.from; // nothing but the cuttings
                on.to.cutting.clear();
                on.to.partial = partial;
            }
            recut(on.to, on);
            if (!verifyLayout(on.to, on.mesh, on.shape.size(), "t").ok())
                continue;
            const auto steps = found(on);
            Layout now = on.from;
            for (const ReshardStep& step : steps) {
                QVERIFY(step.before == now);
                QVERIFY2(sound(step, on), qPrintable(told(on, steps)));
                now = step.after;
            }
            QVERIFY2(now == on.to, qPrintable(told(on, steps)));
            cut += !on.from.cutting.empty() && !on.to.cutting.empty();
        }
        QVERIFY2(cut > 150, qPrintable(QString::number(cut)));
    }

    void remembersNothingWrong()
    {
        std::mt19937 random(5);
        const Case frame = randomCase(random, 3, 2);
        ReshardPlanner planner(frame.mesh, frame.hardware);
        for (int trial = 0; trial < 400; ++trial) {
            Case on = frame;
            on.shape.assign(on.shape.size(), trial % 3 + 4);
            on.from = randomLayout(random, on.mesh, on.shape.size(), nullptr);
            on.to = randomLayout(random, on.mesh, on.shape.size(), &on.from);
            const auto steps = planner.steps(on.from, on.to, { on.shape, DType::BF16, 1 }, "t");
            QVERIFY(steps.value() == found(on));
        }
    }

    /// What is looked for alone, as directly as it goes, and with what was kept of searches before.
    void secondsAreThoseOfTheSteps()
    {
        std::mt19937 random(29);
        int several = 0;
        for (int frames = 0; frames < 20; ++frames) {
            const Case frame = randomCase(random, frames % 2 == 0 ? 4 : 3, 3);
            CollectivePrices prices(frame.mesh, frame.hardware);
            ReshardSearch search;
            for (int trial = 0; trial < 10; ++trial) {
                Case on = frame;
                for (std::int64_t& size : on.shape)
                    size = random() % 3 == 0 ? 1 + static_cast<std::int64_t>(random()) % 16 : 1 << random() % 12;
                on.from = randomLayout(random, on.mesh, on.shape.size(), nullptr);
                on.to = randomLayout(random, on.mesh, on.shape.size(), &on.from);
                const auto steps = found(on);
                const double sum = price(steps, on);
                const ReshardedTensor tensor { on.shape, DType::BF16, 1 };
                const ReshardProblem problem { on.from, on.to, tensor, on.mesh, prices };
                const auto seconds = search.seconds(problem);
                QVERIFY2(search.floor(problem) <= sum, qPrintable(told(on, steps)));
                QVERIFY2(seconds && std::fabs(*seconds - sum) <= 1e-12 * sum,
                         qPrintable(told(on, steps) + QString(" %1 and %2").arg(seconds.value_or(-1)).arg(sum)));
                several += steps.size() > 1;
            }
        }
        QVERIFY2(several > 40, qPrintable(QString::number(several)));
    }

    void sendRecvIsAPermutation()
    {
        const Mesh mesh = Mesh::parse("a=2,b=3,c=3").value();
        const ReshardStep step { CollectiveKind::SendRecv, { 1, 2 }, Layout::cut(2, 0, { 1 }), Layout::cut(2, 0, { 2 }) };
        for (std::int64_t device = 0; device < mesh.deviceCount(); ++device) {
            const auto group = mesh.group(device, step.axes);
            const auto sources = sendRecvSources(step, mesh, group);
            QVERIFY(std::is_permutation(group.begin(), group.end(), sources.begin(), sources.end()));
            for (std::size_t i = 0; i < group.size(); ++i)
                QCOMPARE(mesh.coordinate(sources[i], 1), mesh.coordinate(group[i], 2));
        }
        // Two devices want what only one has.
        const ReshardStep wrong { CollectiveKind::SendRecv, { 1 }, Layout::cut(2, 0, { 1 }), Layout::cut(2, 0, { 2 }) };
        const auto sources = sendRecvSources(wrong, mesh, mesh.group(0, wrong.axes));
        QVERIFY(std::ranges::count(sources, -1) > 0);
    }

    void nothingIsCheaper()
    {
        std::mt19937 random(11);
        int several = 0;
        int exchanges = 0;
        int better = 0;
        for (int trial = 0; trial < 200; ++trial) {
            const Case on = randomCase(random, trial % 6 == 0 ? 4 : 3, trial % 6 == 0 ? 2 : 3);
            const auto steps = found(on);
            const double cost = price(steps, on);
            const double least = cheapestOfAll(on);
            QVERIFY2(std::fabs(cost - least) <= 1e-9 * (least + 1e-6),
                     qPrintable(told(on, steps) + QString(" costs %1, but %2 would do").arg(cost).arg(least)));
            const double fixed = price(stepsInFixedOrder(on.from, on.to, on.shape, on.mesh), on);
            QVERIFY2(cost <= fixed * (1 + 1e-9), qPrintable(told(on, steps)));
            several += steps.size() > 1;
            better += cost < 0.99 * fixed;
            exchanges += std::ranges::any_of(steps, [](auto& s) { return s.kind == CollectiveKind::SendRecv; });
        }
        QVERIFY2(several > 60 && exchanges > 10 && better > 30,
                 qPrintable(QString("%1 %2 %3").arg(several).arg(exchanges).arg(better)));
    }
};

SHARDBOARD_TEST(TestReshardSearch)
#include "tst_reshardsearch.moc"
