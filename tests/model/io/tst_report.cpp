// SPDX-License-Identifier: Apache-2.0
// The report of a design: one page that needs nothing else, is well formed, and says what the plan says.
#include "model/io/report/report.h"
#include "model/text/figures.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QRegularExpression>
#include <QTest>
#include <QXmlStreamReader>

using namespace shardboard;

namespace {

ReportInput inputOf(const Design& design)
{
    ReportInput input;
    input.design = { "a.shardboard", design, evaluated(design) };
    input.hardware = sure(hardwareOf(design));
    input.made = "2026-01-02T03:04:05Z";
    input.program = "test";
    return input;
}

Design trained(const char* mesh, const char* preset, std::int64_t microBatches = 1)
{
    return designOn(mesh, llama3Model(), { WorkloadKind::Train, 32, 2048, DType::BF16, microBatches }, preset);
}

/// Tags that are opened are closed, in order; of HTML's own empty ones only meta is used.
QString firstFault(const std::string& html)
{
    QString text = QString::fromStdString(html);
    text.remove(QStringLiteral("<!DOCTYPE html>"));
    text.replace(QRegularExpression(QStringLiteral("<meta([^>]*)>")), QStringLiteral("<meta\\1/>"));
    text.replace(QRegularExpression(QStringLiteral("<style>.*</style>"), QRegularExpression::DotMatchesEverythingOption),
                 QString());
    QXmlStreamReader reader(text);
    while (!reader.atEnd())
        reader.readNext();
    return reader.hasError() ? reader.errorString() + QStringLiteral(" at line %1").arg(reader.lineNumber()) : QString();
}

} // namespace

class TestReport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void pagesAreWholeAndAlone()
    {
        for (const Design& design : { trained("fsdp=4,model=2", "tp+fsdp"), trained("pipe=4,model=2", "pp-1f1b", 8) }) {
            const std::string page = reportHtml(inputOf(design));
            QCOMPARE(firstFault(page), QString());
            for (const char* reference : { "http://", "https://", "<script", "<link", "<img", "url(", "@import" })
                QVERIFY2(page.find(reference) == std::string::npos, reference);
            QVERIFY(page.size() < 4'000'000);
        }
    }

    void itSaysWhatThePlanSays()
    {
        ReportInput input = inputOf(trained("fsdp=4,model=2", "tp+fsdp"));
        const Evaluation& evaluation = *input.design.evaluation;
        input.others.push_back({ "other.shardboard", trained("fsdp=8", "fsdp"), evaluated(trained("fsdp=8", "fsdp")) });
        const std::string page = reportHtml(input);
        const auto says = [&](const std::string& what) { return page.find(htmlText(what)) != std::string::npos; };
        QVERIFY(says(figures::seconds(evaluation.plan.seconds())));
        QVERIFY(says(figures::bytes(evaluation.plan.memory.peak)));
        QVERIFY(says("other.shardboard"));
        for (const WeightLayout& weight : evaluation.weights)
            QVERIFY2(says(weight.spec.name) && says(specText(weight.layout, evaluation.plan.mesh)), weight.spec.name.c_str());
        for (const DesignFinding& finding : evaluation.findings)
            QVERIFY2(says(finding.message), finding.message.c_str());
        for (const char* section :
             { "Mesh", "Findings", "Time of a step", "Timeline", "Collectives", "Memory of a device", "Layouts" })
            QVERIFY2(says(section), section);
        QVERIFY(!says("Run "));
    }

    /// A run of it, with its lanes and its errors, which add up.
    void runsStandBesideIt()
    {
        ReportInput input = inputOf(trained("fsdp=4,model=2", "tp+fsdp"));
        ReportedRun run;
        run.name = "first";
        run.result.backend = "cpu";
        run.result.devices = 8;
        run.result.steps = 1;
        run.result.operations = { { "block/self_attn.o_proj", "matmul", 0.5, 0.25, 0, 2, -1 } };
        run.result.stepMedian = 1;
        run.result.predictedStepSeconds = 0.5;
        input.run = run;
        const std::string page = reportHtml(input);
        QCOMPARE(firstFault(page), QString());
        QVERIFY(page.find("Run first") != std::string::npos);
        QVERIFY(page.find("+100.0 %") != std::string::npos);
        QVERIFY(page.find("Not compared") != std::string::npos);
    }

    /// Names come from files of others.
    void namesAreNoMarkup()
    {
        ReportInput input = inputOf(trained("fsdp=4,model=2", "tp+fsdp"));
        input.design.name = "<script>alert(\"1\")</script> & \x1b[31m";
        input.design.design.model.name = "</title></h1><b>";
        const std::string page = reportHtml(input);
        QCOMPARE(firstFault(page), QString());
        QVERIFY(page.find("<script") == std::string::npos && page.find("<b>") != std::string::npos);
        QVERIFY(page.find("<h1>&lt;/title&gt;") != std::string::npos);
        QVERIFY(page.find('\x1b') == std::string::npos);
        QCOMPARE(htmlText("a<b>&\"c"), std::string("a&lt;b&gt;&amp;&quot;c"));
    }
};

SHARDBOARD_TEST(TestReport)
#include "tst_report.moc"
