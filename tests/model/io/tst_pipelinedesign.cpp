// SPDX-License-Identifier: Apache-2.0
// The pipeline of a design file: written and read again, and what cannot be is told where it is.
#include "model/io/design/designfile.h"
#include "model/io/wire/planjson.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <nlohmann/json.hpp>

#include <QtTest>

using namespace shardboard;

namespace {

Design staged(const PipelineSpec& spec)
{
    Design design =
        designOn("stage=2,data=2", denseModel(1024, 256, 512, 6, 8, 4, 32), { WorkloadKind::Train, 16, 128, DType::BF16, 4 }, "pp");
    design.pipeline = spec;
    return design;
}

} // namespace

class TestPipelineDesign : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void readAsWritten()
    {
        PipelineSpec all { "stage", 2, PipelineSchedule::OneForwardOneBackward, { 1, 2, 3, 0 } };
        PipelineSpec counted { "stage", 1, PipelineSchedule::ZeroBubble };
        counted.countEmbedding = counted.countLoss = true;
        for (const PipelineSpec& spec :
             { PipelineSpec { "stage" }, all, counted, PipelineSpec { "stage", 1, PipelineSchedule::DualPipe } }) {
            const Design design = staged(spec);
            const auto read = designFromText(designText(design), "d");
            QVERIFY2(read.ok(), read.ok() ? "" : read.error().text().c_str());
            QVERIFY(read.value().pipeline == spec);
            const auto evaluation = evaluated(design);
            const auto program = planFromJson(planToJson(evaluation->graph, evaluation->plan));
            QVERIFY2(program.ok(), program.ok() ? "" : program.error().text().c_str());
            const PlannedPipeline& there = *program.value().plan.pipeline;
            QVERIFY(there.runEnds == evaluation->plan.pipeline->runEnds && there.schedule == spec.schedule);
            QCOMPARE(there.busiestStage, evaluation->plan.pipeline->busiestStage);
        }
        // What nobody asked for is not written: files are as they were.
        const auto plain = nlohmann::json::parse(designText(staged({ "stage" })));
        QCOMPARE(plain["pipeline"].dump(), std::string(R"({"axis":"stage","chunks":1})"));
    }

    void hostileValues_data()
    {
        QTest::addColumn<QString>("pipeline");
        const auto row = [](const char* text) { QTest::newRow(text) << text; };
        row(R"({"axis":"stage","layers":[-1,7]})");
        row(R"({"axis":"stage","layers":[70000]})");
        row(R"({"axis":"stage","layers":"3,3"})");
        row(R"({"axis":"stage","layers":[1.5,4.5]})");
        row(R"({"axis":"stage","layers":[[3],[3]]})");
        row(R"({"axis":"stage","schedule":"gpope"})");
        row(R"({"axis":"stage","schedule":3})");
        row(R"({"axis":"stage","count_loss":"yes"})");
        row(R"({"axis":"stage","chunks":0})");
        row(R"({"axis":"stage","chunks":1e30})");
    }
    void hostileValues()
    {
        QFETCH(QString, pipeline);
        auto text = nlohmann::json::parse(designText(staged({ "stage" })));
        text["pipeline"] = nlohmann::json::parse(pipeline.toStdString());
        const auto read = designFromText(text.dump(), "d");
        QVERIFY(!read.ok());
        QVERIFY2(read.error().text().find("pipeline") != std::string::npos, read.error().text().c_str());
    }

    /// Runs of a plan that a file or another program wrote.
    void hostilePlans()
    {
        const auto evaluation = evaluated(staged({ "stage", 1, PipelineSchedule::OneForwardOneBackward, { 2, 4 } }));
        const auto good = planToJson(evaluation->graph, evaluation->plan);
        QVERIFY(planFromJson(good).ok());
        for (const char* ends : { "[2]", "[4,2]", "[2,7]", "[-1,6]", "[2,6,6]", "[9,6]" }) {
            auto bad = good;
            bad["pipeline"]["run_ends"] = nlohmann::json::parse(ends);
            QVERIFY2(!planFromJson(bad).ok(), ends);
        }
        auto bad = good;
        bad["pipeline"]["busiest_stage"] = 2;
        QVERIFY(!planFromJson(bad).ok());
    }
};

SHARDBOARD_TEST(TestPipelineDesign)
#include "tst_pipelinedesign.moc"
