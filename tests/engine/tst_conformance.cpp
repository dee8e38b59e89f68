// SPDX-License-Identifier: Apache-2.0
// Every backend of this build through the suite of engine/conformance, and the suite itself: that it leaves nothing out, that
// its answers are right, and that it finds what is wrong.
#include "app/engine/modelprograms.h"
#include "engine/backends/backends.h"
#include "engine/conformance/gradientcases.h"
#include "engine/conformance/opcase.h"
#include "engine/conformance/reference.h"
#include "engine/cpu/backend.h"
#include "model/ops/opdefinition.h"
#include "tests/engine/numeric.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard;
using namespace shardboard::conformance;
using shardboard::engine::Backend;

namespace {

const Options& usual()
{
    static const Options options = withModels();
    return options;
}

} // namespace

class TestConformance : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyBackend_data()
    {
        QTest::addColumn<int>("backend");
        QTest::addColumn<int>("number");
        int index = 0;
        for (const Backend& backend : engine::backends()) {
            if (!backend.usable())
                QTest::addRow("%s", backend.name.c_str()) << index << -1;
            int number = 0;
            for (const Case& which : backend.usable() ? casesFor(backend, usual()) : std::vector<Case> {})
                QTest::addRow("%s, %s", backend.name.c_str(), which.name.c_str()) << index << number++;
            ++index;
        }
    }
    void everyBackend()
    {
        QFETCH(int, backend);
        QFETCH(int, number);
        const Backend& on = engine::backends()[static_cast<std::size_t>(backend)];
        if (!on.usable())
            QSKIP(on.unusable.c_str());
        static std::vector<Case> cases;
        static int of = -1;
        if (of != backend)
            cases = casesFor(on, usual());
        of = backend;
        const CaseResult result = runCase(cases[static_cast<std::size_t>(number)], on, usual());
        QVERIFY2(result.passed, result.message.c_str());
        QVERIFY(result.programs > 0);
    }

    void everyKindIsTried()
    {
        std::set<OpKind> tried;
        for (const OpCase& one : opCases())
            tried.insert(one.op().kind);
        for (const OpDefinition* definition : allDefinitions())
            QVERIFY2(tried.contains(definition->kind) || !definition->runs, definition->name);
        const auto kinds = reshardKinds(usual());
        for (const CollectiveKind kind : { CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                                           CollectiveKind::AllToAll, CollectiveKind::SendRecv, CollectiveKind::LocalSlice })
            QVERIFY2(kinds.contains(kind), collectiveName(kind).c_str());
    }

    /// Gradients that the suite works out in closed form are the slopes of their operations.
    void gradientsAreSlopes_data()
    {
        QTest::addColumn<int>("number");
        int number = 0;
        for (const GradientCase& one : gradientCases())
            QTest::newRow(one.name.c_str()) << number++;
    }
    void gradientsAreSlopes()
    {
        QFETCH(int, number);
        const GradientCase of = gradientCases()[static_cast<std::size_t>(number)];
        std::vector<Value> operands;
        const auto made = [&](const Shape& shape, unsigned seed) {
            return Value { shape, engine::numeric::doubles(engine::numeric::randomFloats(elementCount(shape).value(), seed)) };
        };
        for (std::size_t i = 0; i < of.operands.size(); ++i)
            operands.push_back(made(of.operands[i], static_cast<unsigned>(i + 1)));
        const Value dy = made(of.result, 77);
        std::vector<const Value*> list;
        for (const int i : of.gradientOperands)
            list.push_back(i == kGradient ? &dy : &operands[static_cast<std::size_t>(i)]);
        const Shape& shape = of.operands[static_cast<std::size_t>(of.of)];
        const Value gradient = reference(of.gradient, of.attributes, list, shape);
        const auto loss = [&](double step) {
            std::vector<Value> moved = operands;
            auto& data = moved[static_cast<std::size_t>(of.of)].data;
            for (std::size_t i = 0; i < data.size(); ++i)
                data[i] += step * std::cos(static_cast<double>(i));
            std::vector<const Value*> all;
            for (const Value& value : moved)
                all.push_back(&value);
            return engine::numeric::dot(reference(of.forward, of.attributes, all, of.result).data, dy.data);
        };
        const double slope = (loss(1e-5) - loss(-1e-5)) / 2e-5;
        double along = 0;
        double size = 0;
        for (std::size_t i = 0; i < gradient.data.size(); ++i) {
            along += gradient.data[i] * std::cos(static_cast<double>(i));
            size += gradient.data[i] * gradient.data[i];
        }
        QVERIFY2(size > 0 && std::fabs(along - slope) < 1e-6 * std::sqrt(size), std::to_string(along - slope).c_str());
    }

    /// A backend that executes collectives wrongly, and one that leaves results as it found the memory.
    void findsWhatIsWrong()
    {
        Backend wrong = engine::cpuBackend();
        wrong.run = [](const engine::RunRequest& request) {
            RunOptions options = request.options;
            options.breakCollective = request.program.plan.collectives.empty() ? "" : "any";
            return engine::runOnCpu({ request.program, options, request.hooks, request.limits });
        };
        std::size_t found = 0;
        for (const Case& which : casesFor(wrong, { .seed = 1, .devices = 0, .filter = "reshard" })) {
            const CaseResult result = runCase(which, wrong, usual());
            found += !result.passed && !result.message.empty();
        }
        QVERIFY2(found > 20, std::to_string(found).c_str());

        Backend deaf = engine::cpuBackend();
        deaf.run = [](const engine::RunRequest&) { return engine::RunOutcome { RunResult {} }; };
        const auto cases = casesFor(deaf, { .seed = 1, .devices = 0, .filter = "op: matmul" });
        QVERIFY(!cases.empty() && !runCase(cases.front(), deaf, usual()).passed);
    }

    void meshesOfAGivenSize()
    {
        const Options two { .seed = 3, .devices = 2, .filter = "matmul" };
        const Backend cpu = engine::cpuBackend();
        for (const Case& which : casesFor(cpu, two)) {
            const CaseResult result = runCase(which, cpu, two);
            QVERIFY2(result.passed, result.message.c_str());
        }
    }
};

SHARDBOARD_TEST(TestConformance)
#include "tst_conformance.moc"
