// SPDX-License-Identifier: Apache-2.0
// Steps between layouts, executed by brute force on small tensors: every device may read only from its device group.
#include "model/core/shards.h"
#include "model/plan/reshard/reshard.h"
#include "model/text/contains.h"
#include "tests/support/datarow.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QtTest>

#include <map>
#include <random>

using namespace shardboard;

namespace {

using Values = std::map<std::int64_t, double>; ///< element number -> value on one device

std::vector<std::int64_t> elementsOf(const Layout& layout, const Shape& shape, const Mesh& mesh, std::int64_t device)
{
    const Shard shard = shardsOf(shape, layout, mesh, CutRule::Balanced, "t").value().shardAt(device);
    std::vector<std::int64_t> out;
    for (std::int64_t i = shard.pieces[0][0].lo; i < shard.pieces[0][0].hi; ++i)
        for (std::int64_t j = shard.pieces[0][1].lo; j < shard.pieces[0][1].hi; ++j)
            out.push_back(i * shape[1] + j);
    return out;
}

/// What a device holds: a distinct value per element, and for partial axes an own addend per coordinate.
Values initial(const Layout& layout, const Shape& shape, const Mesh& mesh, std::int64_t device)
{
    Values values;
    for (const std::int64_t element : elementsOf(layout, shape, mesh, device)) {
        double value = static_cast<double>(element + 1);
        for (const AxisRef& ref : layout.partial)
            value *= static_cast<double>(3 + mesh.coordinate(device, ref.axis));
        values[element] = value;
    }
    return values;
}

/// The same value with the partial axes in `summed` added up: the product form makes this a product of sums.
double expected(const Layout& from, const Layout& to, const Mesh& mesh, std::int64_t device, std::int64_t element)
{
    double value = static_cast<double>(element + 1);
    for (const AxisRef& ref : from.partial) {
        const bool kept = contains(to.partial, ref);
        double factor = 0;
        for (std::int64_t i = 0; i < mesh.axis(ref.axis).size; ++i)
            if (!kept || i == mesh.coordinate(device, ref.axis))
                factor += static_cast<double>(3 + i);
        value *= factor;
    }
    return value;
}

bool execute(const ReshardStep& step, const Shape& shape, const Mesh& mesh, std::vector<Values>& devices, QString& problem)
{
    std::vector<Values> next(devices.size());
    const bool sums = step.kind == CollectiveKind::AllReduce || step.kind == CollectiveKind::ReduceScatter;
    for (std::int64_t device = 0; device < mesh.deviceCount(); ++device) {
        const auto group =
            step.kind == CollectiveKind::LocalSlice ? std::vector<std::int64_t> { device } : mesh.group(device, step.axes);
        for (const std::int64_t element : elementsOf(step.after, shape, mesh, device)) {
            double value = 0;
            bool found = false;
            for (const std::int64_t member : group) {
                const Values& values = devices[static_cast<std::size_t>(member)];
                const auto it = values.find(element);
                if (it == values.end()) {
                    if (sums)
                        problem = "a member of the group lacks an addend";
                    continue;
                }
                if (!sums && found && it->second != value)
                    problem = "members of the group disagree";
                value = sums ? value + it->second : it->second;
                found = true;
            }
            if (!found)
                problem = QString("device %1 finds element %2 nowhere in its group").arg(device).arg(element);
            next[static_cast<std::size_t>(device)][element] = value;
        }
    }
    devices = std::move(next);
    return problem.isEmpty();
}

Layout randomLayout(std::mt19937& random, bool partial, const Layout* within)
{
    Layout layout = Layout::replicated(2);
    std::vector<int> axes { 0, 1, 2 };
    std::ranges::shuffle(axes, random);
    for (const int axis : axes) {
        const auto place = random() % 4;
        if (place < 2)
            layout.dims[place].push_back(AxisRef { axis });
        const bool may = !within || contains(within->partial, AxisRef { axis });
        if (place == 2 && partial && may)
            layout.partial.push_back(AxisRef { axis });
    }
    std::ranges::sort(layout.partial, [](auto& a, auto& b) { return a.axis < b.axis; });
    return layout;
}

} // namespace

class TestReshard : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyStepIsSound()
    {
        std::mt19937 random(3);
        int uneven = 0;
        for (int trial = 0; trial < 4000; ++trial) {
            const auto pick = [&](unsigned n) { return static_cast<std::int64_t>(1 + random() % n); };
            const Mesh mesh = Mesh::make({ { "a", pick(3) }, { "b", pick(3) }, { "c", pick(2) } }).value();
            const Shape shape { pick(12), pick(9) };
            uneven += shape[0] % mesh.deviceCount() != 0;
            const Layout from = randomLayout(random, true, nullptr);
            const Layout to = randomLayout(random, true, &from);
            const auto steps = sure(reshardSteps(from, to, shape, mesh, "t"));
            std::vector<Values> devices;
            for (std::int64_t device = 0; device < mesh.deviceCount(); ++device)
                devices.push_back(initial(from, shape, mesh, device));
            Layout now = from;
            for (const ReshardStep& step : steps) {
                QVERIFY(step.before == now);
                QString problem;
                QVERIFY2(execute(step, shape, mesh, devices, problem),
                         qPrintable(problem + " in " + QString::fromStdString(collectiveName(step.kind)) + " "
                                    + QString::fromStdString(specText(from, mesh) + " to " + specText(to, mesh)) + " on "
                                    + QString::fromStdString(mesh.text() + " of " + shapeText(shape))));
                now = step.after;
            }
            QVERIFY(now == to);
            for (std::int64_t device = 0; device < mesh.deviceCount(); ++device)
                for (const auto& [element, value] : devices[static_cast<std::size_t>(device)])
                    QCOMPARE(value, expected(from, to, mesh, device, element));
        }
        QVERIFY(uneven > 100);
    }

    void kinds_data()
    {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("kinds");
        dataRow("partial to whole", "P(unreduced={'model'})", "P()", "all-reduce");
        dataRow("partial to shard", "P(unreduced={'model'})", "P('model')", "reduce-scatter");
        dataRow("two partials merge", "P(unreduced={'data','model'})", "P()", "all-reduce");
        dataRow("gather", "P('model')", "P()", "all-gather");
        dataRow("gather minor", "P(('data','model'))", "P('data')", "all-gather");
        dataRow("two axes of a dim merge", "P(('data','model'))", "P()", "all-gather");
        dataRow("slice", "P()", "P(None,'model')", "local-slice");
        dataRow("move a cut", "P('model')", "P(None,'model')", "all-to-all");
        dataRow("major leaves", "P(('data','model'))", "P('model')", "send-recv all-gather");
        dataRow("nothing", "P('data')", "P('data')", "");
    }
    void kinds()
    {
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, kinds);
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        const auto steps = reshardSteps(parseSpec(from.toStdString(), mesh, 2).value(),
                                        parseSpec(to.toStdString(), mesh, 2).value(), { 64, 64 }, mesh, "t");
        QStringList names;
        for (const ReshardStep& step : steps.value())
            names << QString::fromStdString(collectiveName(step.kind));
        QCOMPARE(names.join(" "), kinds);
    }

    void bytesAreTheLargeSide()
    {
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        const auto bytes = [&](const char* from, const char* to) {
            const auto steps =
                reshardSteps(parseSpec(from, mesh, 2).value(), parseSpec(to, mesh, 2).value(), { 64, 64 }, mesh, "t");
            return stepBytes(steps.value().front(), { 64, 64 }, DType::BF16, mesh);
        };
        QCOMPARE(bytes("P('data', unreduced={'model'})", "P('data')"), 32 * 64 * 2); // the data shard, not the whole
        QCOMPARE(bytes("P('model')", "P()"), 64 * 64 * 2);
        QCOMPARE(bytes("P(unreduced={'model'})", "P('model')"), 64 * 64 * 2);
        QCOMPARE(bytes("P('model')", "P(None,'model')"), 16 * 64 * 2);
        QCOMPARE(bytes("P()", "P('model')"), 0);
    }

    void wholeCannotBecomePartial()
    {
        const Mesh mesh = Mesh::parse("data=2,model=4").value();
        const auto steps =
            reshardSteps(Layout::replicated(2), parseSpec("P(unreduced={'model'})", mesh, 2).value(), { 4, 4 }, mesh, "x");
        QVERIFY(!steps.ok());
        QCOMPARE(steps.error().text(),
                 std::string("x: a value that is not partial over 'model' cannot be made partial; choose a layout without it"));
    }
};

SHARDBOARD_TEST(TestReshard)
#include "tst_reshard.moc"
