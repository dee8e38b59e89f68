// SPDX-License-Identifier: Apache-2.0
// The CUDA backend without a GPU: its plans, tables and kernels on the stand-in, through the suite that every backend passes.
#include "app/engine/modelprograms.h"
#include "engine/cuda/cudaexecutor.h"
#include "engine/cuda/hostruntime.h"
#include "tests/engine/testprogram.h"
#include "tests/engine/testrun.h"
#include "tests/support/families.h"
#include "tests/support/runner.h"

#include <QTest>

using namespace shardboard;
using namespace shardboard::conformance;
using shardboard::engine::Backend;
using shardboard::engine::cuda::CudaExecutor;
using shardboard::engine::cuda::HostRuntime;

namespace {

constexpr std::int64_t kGiB = std::int64_t { 1 } << 30;

/// Never offered to users: it is no GPU.
const Backend& standIn()
{
    static const Backend backend = [] {
        Backend out;
        out.name = "cuda-on-cpu";
        out.onGpus = true;
        out.claims = { DType::F32, DType::BF16, DType::F16 };
        out.run = [](const engine::RunRequest& request) {
            HostRuntime runtime(4 * kGiB);
            CudaExecutor executor(runtime);
            return engine::runProgram(request, executor);
        };
        return out;
    }();
    return backend;
}

const Options& onHostOptions()
{
    static const Options options = withModels();
    return options;
}

const std::vector<Case>& cases()
{
    static const std::vector<Case> all = casesFor(standIn(), onHostOptions());
    return all;
}

} // namespace

class TestCudaOnHost : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void conforms_data()
    {
        QTest::addColumn<int>("number");
        int number = 0;
        for (const Case& which : cases())
            QTest::addRow("%s, %d", which.name.c_str(), static_cast<int>(which.dtype)) << number++;
    }
    void conforms()
    {
        QFETCH(int, number);
        const CaseResult result = runCase(cases()[static_cast<std::size_t>(number)], standIn(), onHostOptions());
        QVERIFY2(result.passed, result.message.c_str());
        QVERIFY(result.programs > 0);
    }

    /// The router's kernel has room for so many groups of experts; the CPU takes any number.
    void refusesMoreGroupsThanItHasRoomFor()
    {
        const auto program = [](std::int64_t groups) {
            shardboard::test::TestDesign design;
            design.model = familyModel("deepseek_v3");
            design.model.moe.experts = 2 * groups;
            design.model.moe.groups = groups;
            design.model.moe.chosenGroups = 4;
            return shardboard::test::programOf(design);
        };
        const Program most = program(32);
        const engine::RunOutcome ran = standIn().run({ most, shardboard::test::verifying() });
        QVERIFY(std::holds_alternative<RunResult>(ran));
        QVERIFY(std::get<RunResult>(ran).verified);

        const Program tooMany = program(33);
        const engine::RunOutcome refused = standIn().run({ tooMany, RunOptions {} });
        const auto* failure = std::get_if<engine::Failure>(&refused);
        QVERIFY(failure != nullptr);
        QCOMPARE(failure->code, std::string("backend"));
        QCOMPARE(failure->message, std::string("unusable: the CUDA router takes at most 32 groups of experts"));
        QVERIFY2(failure->where.ends_with("/mlp.top_k"), failure->where.c_str());
        QVERIFY(shardboard::test::resultOf(tooMany, shardboard::test::verifying()).verified);
    }

    /// It goes through all experts once for each that it chooses.
    void refusesToChooseFromTooMany()
    {
        for (const std::int64_t chosen : { 512, 513 }) {
            shardboard::test::TestDesign design;
            design.mesh = "data=2";
            design.preset = "replicate";
            design.workload = { WorkloadKind::Prefill, 2, 1, DType::BF16 };
            design.model.moe.experts = 2048;
            design.model.moe.chosen = chosen;
            design.model.moe.intermediateSize = 2;
            const Program program = shardboard::test::programOf(design);
            if (chosen == 512) {
                engine::cuda::checkForKernels(program);
                continue;
            }
            const RunOptions options;
            const engine::RunOutcome outcome = standIn().run({ program, options });
            const auto* failure = std::get_if<engine::Failure>(&outcome);
            QVERIFY(failure != nullptr);
            QCOMPARE(failure->code, std::string("backend"));
            QCOMPARE(failure->message,
                     std::string("unusable: the CUDA router goes through all 2048 experts for each of the 513 that a token "
                                 "chooses, and 2048 times 513 is more than 1048576; choose fewer experts, or run on the CPU"));
            QVERIFY(!failure->where.empty());
        }
    }
};

SHARDBOARD_TEST(TestCudaOnHost)
#include "tst_cudaonhost.moc"
