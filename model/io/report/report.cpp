// SPDX-License-Identifier: Apache-2.0
#include "model/io/report/report.h"

#include "model/design/compare.h"
#include "model/io/lanes/errortable.h"
#include "model/io/lanes/runlanes.h"
#include "model/io/report/reportpictures.h"
#include "model/io/runs/keptruns.h"
#include "model/plan/time/partcosts.h"
#include "model/plan/time/whytime.h"
#include "model/text/numbers.h"
#include "model/text/visibletext.h"
#include "model/timeline/boundby.h"
#include "model/timeline/predictedlanes.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

std::string htmlText(const std::string& text)
{
    std::string out;
    for (const char byte : visibleText(text))
        switch (byte) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += byte;
        }
    return out;
}

namespace {

constexpr const char* kStyle = R"(
:root{--bg:#fff;--text:#1f2328;--quiet:#667085;--line:#e1e4e8;--soft:#f6f7f9;--att:#b45309;--err:#b42318;--good:#067647}
@media(prefers-color-scheme:dark){:root{--bg:#14161a;--text:#e6e8eb;--quiet:#98a2b3;--line:#2b3038;--soft:#1b1e24;--att:#f5b94a;--err:#f97066;--good:#47cd89}}
body{background:var(--bg);color:var(--text);font:14px/1.45 system-ui,sans-serif;max-width:1120px;margin:24px auto;padding:0 16px}
h1{font-size:22px;margin:0}h2{font-size:16px;margin:28px 0 8px;border-top:1px solid var(--line);padding-top:16px}
p{margin:4px 0}.quiet{color:var(--quiet)}.mono,td.n{font-family:ui-monospace,monospace;font-size:12.5px}
table{border-collapse:collapse;width:100%}th{color:var(--quiet);font-weight:400;text-align:left;border-bottom:1px solid var(--line)}
th,td{padding:3px 12px 3px 0;vertical-align:middle}td.n,th.n{text-align:right;white-space:nowrap}.long{overflow-wrap:anywhere}tr.sum td{border-top:1px solid var(--line);font-weight:600}
.facts{width:auto;margin:14px 0}.facts td{padding-right:36px;vertical-align:top}.facts b{font-size:17px}.facts span{color:var(--quiet)}
.error{color:var(--err)}.warning{color:var(--att)}.good{color:var(--good)}
.b0{fill:#2563eb}
svg{max-width:100%;height:auto}svg .t{fill:var(--text);font-size:12px}svg .q{fill:var(--quiet);font-size:11px}
svg .grid{stroke:var(--line)}svg .o{stroke:var(--bg);stroke-width:1}svg .empty{fill:var(--soft);stroke:var(--line)}
svg .limit{stroke:var(--err);stroke-width:2;stroke-dasharray:4 3}
.p0{fill:#0072b2}.p1{fill:#56b4e9}.p2{fill:#009e73}.p3{fill:#e69f00}.p4{fill:#d55e00}.p5{fill:#f0e442}.p6{fill:#cc79a7}
.k0{fill:#0072b2}.k1{fill:#56b4e9}.k2{fill:#009e73}.k3{fill:#f0e442}.k4{fill:#e69f00}.k5{fill:#e69f0088}.k6{fill:var(--line)}.k7{fill:#98a2b3}
svg .predicted{fill-opacity:.55}
@media print{body{max-width:none}h2{break-after:avoid}tr{break-inside:avoid}}
)";

class Page {
public:
    explicit Page(const ReportInput& input)
        : m_input(input)
        , m_evaluation(*input.design.evaluation)
        , m_plan(m_evaluation.plan)
    {
    }

    std::string make()
    {
        head();
        mesh();
        findings();
        time();
        timeline();
        collectives();
        memory();
        layouts();
        others();
        run();
        m_out += "</body></html>\n";
        return std::move(m_out);
    }

private:
    void section(const std::string& title) { m_out += "<h2>" + htmlText(title) + "</h2>\n"; }
    void paragraph(const std::string& text, const char* style = "quiet")
    {
        m_out += std::string("<p class=\"") + style + "\">" + htmlText(text) + "</p>\n";
    }
    /// A heading that begins with '>' is of numbers.
    void open(const std::vector<std::string>& headings)
    {
        m_numbers.clear();
        m_out += "<table><tr>";
        for (const std::string& one : headings) {
            m_numbers.push_back(one.starts_with('>'));
            m_out += m_numbers.back() ? "<th class=\"n\">" + htmlText(one.substr(1)) : "<th>" + htmlText(one);
            m_out += "</th>";
        }
        m_out += "</tr>\n";
    }
    /// Names of operations and constants are long words, which may end a line anywhere.
    static std::string cell(const std::string& text)
    {
        constexpr std::size_t kLong = 20;
        std::size_t longest = 0;
        for (std::size_t from = 0; from < text.size();) {
            const std::size_t end = std::min(text.find(' ', from), text.size());
            longest = std::max(longest, end - from);
            from = end + 1;
        }
        return longest > kLong ? "<span class=\"long\">" + htmlText(text) + "</span>" : htmlText(text);
    }
    /// A constant of a link without the link's name, which stands before it.
    static std::string constantBeside(const ErrorRow& row)
    {
        const std::size_t dot = row.constant.find('.');
        const bool told = dot != std::string::npos && dot > 0 && row.boundBy.ends_with(row.constant.substr(0, dot));
        return told ? row.constant.substr(dot + 1) : row.constant;
    }
    /// Cells are HTML.
    void row(const std::vector<std::string>& cells, const char* style = "")
    {
        m_out += std::string("<tr class=\"") + style + "\">";
        for (std::size_t i = 0; i < cells.size(); ++i)
            m_out += (m_numbers[i] ? "<td class=\"n\">" : "<td>") + cells[i] + "</td>";
        m_out += "</tr>\n";
    }
    void close() { m_out += "</table>\n"; }

    void fact(const std::string& what, const std::string& value, const std::string& more = {})
    {
        m_out += "<td><span>" + htmlText(what) + "</span><br/><b>" + htmlText(value) + "</b><br/><span>" + htmlText(more)
            + "</span></td>";
    }

    void head()
    {
        const Design& design = m_input.design.design;
        const Workload& workload = design.workload;
        m_out += "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                 "content=\"width=device-width\"><title>"
            + htmlText(m_input.design.name) + "</title><style>" + kStyle + "</style></head><body>\n<h1>"
            + htmlText(design.model.name) + "</h1>\n";
        paragraph(m_input.design.name + " · " + workloadName(workload.kind) + " · batch " + countText(workload.batch)
                  + " · sequence " + countText(workload.sequence) + " · " + dtypeName(workload.dtype) + " · "
                  + m_input.hardware.name + " · " + countText(m_evaluation.parameters) + " parameters");
        m_out += "<table class=\"facts\"><tr>";
        const Performance& performance = m_plan.performance;
        fact("step", secondsText(m_plan.seconds()), "predicted");
        if (performance.tokensPerSecondPerDevice > 0)
            fact("tokens/s/device", figures::digits(performance.tokensPerSecondPerDevice));
        if (performance.mfu > 0)
            fact("MFU", figures::percent(performance.mfu));
        const auto limit = static_cast<std::int64_t>(m_input.hardware.memoryBytes());
        fact("memory", bytesText(m_plan.memory.peak), "of " + bytesText(limit) + ", " + fitName(fitOf(m_plan.memory, limit)));
        fact("collectives", countText(m_plan.movingCollectives()), bytesText(m_plan.collectiveBytes()) + " in a step");
        fact("findings", countText(static_cast<std::int64_t>(m_evaluation.findings.size())));
        if (m_input.run)
            fact("measured", secondsText(m_input.run->result.stepMedian), "on " + m_input.run->result.backend);
        m_out += "</tr></table>\n";
    }

    void mesh()
    {
        section("Mesh");
        std::string text = counted(m_plan.mesh.deviceCount(), "device");
        for (const MeshAxis& axis : m_plan.mesh.axes())
            text += " · " + axis.name + " = " + std::to_string(axis.size);
        if (m_plan.pipeline)
            text += " · " + counted(m_plan.pipeline->stages, "stage") + " along " + m_plan.mesh.axis(m_plan.pipeline->axis).name;
        paragraph(text, "");
        m_out += meshPicture(m_plan.mesh) + "\n";
    }

    void findings()
    {
        section("Findings");
        if (m_evaluation.findings.empty())
            return paragraph("Nothing was found.", "good");
        open({ "", "where", "what", "repair" });
        for (const DesignFinding& finding : m_evaluation.findings)
            row({ "<span class=\"" + severityName(finding.severity) + "\">" + severityName(finding.severity) + "</span>",
                  cell(finding.where), cell(finding.message), cell(finding.repair) });
        close();
    }

    void time()
    {
        section("Time of a step");
        const double step = std::max(m_plan.seconds(), 1e-30);
        open({ "part", "", ">time", ">compute", ">collectives", ">exposed" });
        double sum = 0;
        for (const PartCost& part : partCosts(m_evaluation.graph, m_plan)) {
            const double compute = part.compute * part.device;
            const double exposed = part.exposed * part.device;
            sum += compute + exposed;
            std::string name = part.name + (part.layers > 1 ? " × " + std::to_string(part.layers) : std::string());
            if (part.plannedSegment.valid() && part.phase != Phase::Forward)
                name += ", " + phaseName(part.phase);
            row({ cell(name), barPicture(compute / step, exposed / step), secondsText(compute + exposed), secondsText(compute),
                  secondsText(part.collectives * part.device), secondsText(exposed) });
        }
        if (m_plan.device.bubble > 0) {
            row({ "bubble of the pipeline", "", secondsText(m_plan.device.bubble), "", "", "" });
            sum += m_plan.device.bubble;
        }
        row({ "step", "", secondsText(m_plan.seconds()), "", "", "" }, "sum");
        close();
        if (std::abs(sum - m_plan.seconds()) > 0.01 * step)
            paragraph("Embedding and head lie on different stages of the pipeline: the step has one of them.");
        m_out += "<p>What the seconds are made of:</p>\n";
        open({ "cause", ">seconds", ">share" });
        for (const TimeCause& cause : whyTime(m_evaluation.graph, m_plan, m_input.hardware))
            row({ cell(timeCauseName(cause.kind) + (cause.what.empty() ? "" : ": " + cause.what)), secondsText(cause.seconds),
                  figures::percent(cause.seconds / step) });
        close();
    }

    void timeline()
    {
        section("Timeline, predicted");
        PredictedLanesOptions options;
        options.mostIntervals = 400'000;
        const Timeline lanes = predictedLanes(m_evaluation.graph, m_plan, m_input.hardware, options);
        constexpr std::size_t kMost = 40;
        if (lanes.lanes.size() > kMost)
            paragraph("The first " + std::to_string(kMost) + " of " + std::to_string(lanes.lanes.size()) + " lanes.");
        m_out += lanesPicture(lanes, kMost) + "\n";
    }

    void collectives()
    {
        std::vector<const Collective*> all;
        for (const Collective& one : m_plan.collectives)
            if (one.kind != CollectiveKind::LocalSlice)
                all.push_back(&one);
        section("Collectives");
        if (all.empty())
            return paragraph("None.");
        const auto seconds = [](const Collective* one) { return one->seconds * static_cast<double>(one->count); };
        std::ranges::stable_sort(all, [&](const auto* a, const auto* b) { return seconds(a) > seconds(b); });
        constexpr std::size_t kMost = 40;
        if (all.size() > kMost) {
            paragraph("The " + std::to_string(kMost) + " that take the most time, of " + std::to_string(all.size()) + ".");
            all.resize(kMost);
        }
        open({ "collective", "over", ">bytes", ">count", ">each", ">all", "bound by", "because of" });
        for (const Collective* one : all) {
            std::string axes;
            for (const int axis : one->axes)
                axes += (axes.empty() ? "" : ", ") + m_plan.mesh.axis(axis).name;
            row({ cell(collectiveName(one->kind)), cell(axes), bytesText(one->bytes), countText(one->count),
                  secondsText(one->seconds), secondsText(seconds(one)), cell(boundBy(*one, m_plan.mesh, m_input.hardware).what),
                  cell(one->cause) });
        }
        close();
    }

    void memory()
    {
        section("Memory of a device");
        paragraph("Peak " + bytesText(m_plan.memory.peak) + " of "
                  + bytesText(static_cast<std::int64_t>(m_input.hardware.memoryBytes())) + " at " + m_plan.memory.peakAt
                  + (m_plan.pipeline ? ", on the fullest stage (" + std::to_string(m_plan.pipeline->fullestStage) + ")" : ""));
        m_out += memoryPicture(m_plan.memory, static_cast<std::int64_t>(m_input.hardware.memoryBytes())) + "\n";
    }

    void layouts()
    {
        section("Layouts");
        open({ "weight", "", ">shape", "layout", ">shards", ">of each", ">on a device" });
        for (const WeightLayout& weight : m_evaluation.weights) {
            std::string shape;
            for (const std::int64_t extent : weight.spec.shape)
                shape += (shape.empty() ? "" : " × ") + std::to_string(extent);
            std::string name = cell(weight.spec.name);
            if (weight.copies > 1)
                name += " <span class=\"quiet\">× " + std::to_string(weight.copies) + "</span>";
            row({ name, shardPicture(weight), shape,
                  "<span class=\"mono\">" + cell(specText(weight.layout, m_plan.mesh)) + "</span>",
                  countText(weight.shards.distinctCount()), countText(weight.shards.replication()),
                  bytesText(weight.bytesPerDevice * weight.copies) });
        }
        close();
    }

    void others()
    {
        if (m_input.others.empty())
            return;
        section("Beside other designs");
        open({ "design", "mesh", ">step", ">MFU", ">memory", ">collectives", ">findings" });
        const auto add = [&](const ReportedDesign& one, const char* style) {
            const Plan& plan = one.evaluation->plan;
            const double change = plan.seconds() / std::max(m_plan.seconds(), 1e-30) - 1;
            std::string step = secondsText(plan.seconds());
            if (&one != &m_input.design)
                step += formatted(" (%+.1f %%)", 100 * change);
            row({ cell(one.name), cell(plan.mesh.text()), step, figures::percent(plan.performance.mfu), bytesText(plan.memory.peak),
                  bytesText(plan.collectiveBytes()), countText(static_cast<std::int64_t>(one.evaluation->findings.size())) },
                style);
        };
        add(m_input.design, "");
        for (const ReportedDesign& one : m_input.others)
            add(one, "");
        close();
        open({ "design", "what differs", "here", "there" });
        for (const ReportedDesign& one : m_input.others)
            differences(one);
        close();
    }

    /// From this design to another one.
    void differences(const ReportedDesign& other)
    {
        constexpr std::size_t kMost = 24;
        const DesignComparison comparison = compareDesigns(m_input.design.design, m_evaluation, other.design, *other.evaluation);
        if (comparison.same())
            row({ cell(other.name), "nothing", "", "" });
        for (std::size_t i = 0; i < comparison.changes.size(); ++i) {
            if (i == kMost) {
                row({ "", cell(std::to_string(comparison.changes.size() - kMost) + " more"), "", "" });
                break;
            }
            const DesignDifference& change = comparison.changes[i];
            std::string names;
            for (const std::string& name : change.names)
                names += (names.empty() ? "" : ", ") + name;
            row({ i == 0 ? cell(other.name) : "", cell(names.empty() ? changePartName(change.part) : names),
                  cell(shortened(change.before, 200)), cell(shortened(change.after, 200)) });
        }
    }

    void run()
    {
        if (!m_input.run)
            return;
        const ReportedRun& measured = *m_input.run;
        const RunResult& result = measured.result;
        section("Run " + measured.name);
        std::string text = measured.made.empty() ? std::string() : measured.made + " · ";
        text += result.backend + ", " + counted(result.devices, "device") + ", " + counted(result.layers, "layer") + ", "
            + counted(result.steps, "step");
        paragraph(text);
        if (!result.compared)
            paragraph("Not compared with the unsharded computation.");
        else if (result.verified)
            paragraph(formatted("Equal to the unsharded computation: largest relative error %.2g, allowed %.2g.",
                                result.maxRelativeError, result.tolerance),
                      "good");
        else
            paragraph("Not equal to the unsharded computation: first at " + result.firstDeviation, "error");
        const RunProfile* profile = measured.profile ? &*measured.profile : nullptr;
        const std::int64_t step = profile != nullptr ? typicalStep(*profile) : -1;
        const auto items = timelineItems(m_evaluation.graph, m_plan);
        const ErrorTable table = errorTable(result, profile, step, items, &m_plan, m_input.hardware);
        if (step >= 0)
            m_out += lanesPicture(runLanes(*profile, step, items), 32) + "\n";
        open({ "operation", ">count", ">predicted", ">measured", ">lost", ">error", "bound by", "constant" });
        for (const ErrorRow& one : table.rows) {
            const auto error = one.error();
            row({ cell(one.id), countText(one.count), secondsText(one.predicted), secondsText(one.measured),
                  (one.lost() < 0 ? "−" : "+") + secondsText(std::abs(one.lost())),
                  !error            ? std::string()
                      : *error < 10 ? formatted("%+.1f %%", 100 * *error)
                                    : "× " + figures::digits(*error + 1),
                  cell(one.boundBy), cell(constantBeside(one)) });
        }
        row({ "step", "", secondsText(table.predicted), secondsText(table.measured),
              (table.measured < table.predicted ? "−" : "+") + secondsText(std::abs(table.measured - table.predicted)), "", "",
              "" },
            "sum");
        close();
        paragraph("Predicted for " + m_input.hardware.name + "; a run on other hardware is off by factors.");
        if (m_input.otherRun)
            otherRun(measured, *m_input.otherRun);
    }

    void otherRun(const ReportedRun& a, const ReportedRun& b)
    {
        constexpr std::size_t kMost = 40;
        section("Runs " + a.name + " and " + b.name);
        open({ "operation", ">" + a.name, ">" + b.name, ">the other takes" });
        const auto differences = compareRuns(a.result, b.result);
        const auto ofAll = [](std::int64_t count, double seconds) {
            return count > 0 ? secondsText(static_cast<double>(count) * seconds) : std::string("–");
        };
        for (std::size_t i = 0; i < std::min(kMost, differences.size()); ++i) {
            const RunDifference& one = differences[i];
            row({ cell(one.id), ofAll(one.countA, one.a), ofAll(one.countB, one.b),
                  (one.lost() < 0 ? "−" : "+") + secondsText(std::abs(one.lost())) });
        }
        const double more = b.result.stepMedian - a.result.stepMedian;
        row({ "step", secondsText(a.result.stepMedian), secondsText(b.result.stepMedian),
              (more < 0 ? "−" : "+") + secondsText(std::abs(more)) },
            "sum");
        close();
        if (differences.size() > kMost)
            paragraph("The " + std::to_string(kMost) + " that differ the most, of " + std::to_string(differences.size()) + ".");
    }

    const ReportInput& m_input;
    const Evaluation& m_evaluation;
    const Plan& m_plan;
    std::string m_out;
    std::vector<bool> m_numbers; ///< of the columns of the table
};

} // namespace

std::string reportHtml(const ReportInput& input)
{
    std::string out = Page(input).make();
    const std::string end = "</body></html>\n";
    out.insert(out.size() - end.size(), "<p class=\"quiet\">" + htmlText("Made " + input.made + " by " + input.program) + "</p>\n");
    return out;
}

} // namespace shardboard
