// SPDX-License-Identifier: Apache-2.0
// shardctl export: a design as another framework's configuration, what each target can say of it, and the framework's own word.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "app/ctl/terminal.h"
#include "app/worker/proofrun.h"
#include "model/io/exports/proofs.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/targets/targets.h"
#include "model/text/numbers.h"
#include "model/text/text.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace shardboard {

namespace {

using nlohmann::ordered_json;

std::vector<std::string> linesOf(const std::string& text)
{
    std::vector<std::string> out;
    for (const std::string_view line : split(text, '\n'))
        out.emplace_back(line);
    while (!out.empty() && out.back().empty())
        out.pop_back();
    return out;
}

ordered_json proofsJson(const ExportTarget& target)
{
    ordered_json out = ordered_json::array();
    for (const ProjectProof& proof : projectProofsOf(target.id))
        out.push_back(
            { { "peer", proof.peer }, { "date", proof.date }, { "exports", proof.exports }, { "tensors", proof.tensors } });
    return out;
}

ordered_json refusalsJson(const std::vector<ExportRefusal>& refusals)
{
    ordered_json out = ordered_json::array();
    for (const ExportRefusal& refusal : refusals)
        out.push_back({ { "where", refusal.error.where },
                        { "what", refusal.error.what },
                        { "fix", refusal.error.fix },
                        { "tensors", refusal.tensors } });
    return out;
}

ordered_json targetJson(const ExportTarget& target, const OpenDesign& opened, const std::vector<ExportRefusal>& refusals)
{
    ordered_json out { { "id", target.id },
                       { "title", target.title },
                       { "summary", target.summary },
                       { "exact", refusals.empty() },
                       { "refused_tensors", refusedTensors(refusals) },
                       { "refusals", refusalsJson(refusals) },
                       { "left_out", target.leftOut(opened.design, *opened.evaluation) } };
    if (refusals.empty()) // else there are no files to use
        out["usage"] = linesOf(target.usage(opened.design, *opened.evaluation));
    out["check"] = target.check;
    out["proofs"] = proofsJson(target);
    return out;
}

/// `exact`, `3 tensors cannot be said`, or why none of it can.
std::string stateText(const std::vector<ExportRefusal>& refusals)
{
    const std::int64_t tensors = refusedTensors(refusals);
    if (refusals.empty())
        return "exact";
    return tensors == 0 ? "refused as a whole" : countText(tensors) + (tensors == 1 ? " tensor" : " tensors") + " cannot be said";
}

void printTarget(const ExportTarget& target, const OpenDesign& opened, const std::vector<ExportRefusal>& refusals)
{
    constexpr std::size_t kMostShown = 3; // the rest is in --json
    std::cout << target.id << "  " << target.title << ": " << stateText(refusals) << "\n";
    std::cout << "  " << target.summary << "\n";
    for (std::size_t i = 0; i < refusals.size() && i < kMostShown; ++i)
        std::cout << "  refused: " << refusals[i].error.text() << "\n";
    if (refusals.size() > kMostShown)
        std::cout << "  refused: " << refusals.size() - kMostShown << " more\n";
    for (const std::string& line : target.leftOut(opened.design, *opened.evaluation))
        std::cout << "  left out: " << line << "\n";
    const std::vector<std::string> usage =
        refusals.empty() ? linesOf(target.usage(opened.design, *opened.evaluation)) : std::vector<std::string> {};
    for (const std::string& line : usage)
        std::cout << "  usage: " << line << "\n";
    for (const ProjectProof& proof : projectProofsOf(target.id))
        std::cout << "  " << projectProofText(proof) << "\n";
}

int showTargets(const OpenDesign& opened, bool json)
{
    ordered_json all = ordered_json::array();
    for (const ExportTarget& target : exportTargets()) {
        const auto refusals = target.refusals(opened.design, *opened.evaluation, {});
        if (!refusals.ok())
            return report(refusals.error());
        if (json)
            all.push_back(targetJson(target, opened, refusals.value()));
        else
            printTarget(target, opened, refusals.value());
    }
    if (json)
        std::cout << jsonText(ordered_json { { "format", "shardboard-targets" }, { "version", 1 }, { "targets", std::move(all) } },
                              1)
                  << "\n";
    return kDone;
}

int codeOf(ProofAnswer::Outcome outcome)
{
    using Outcome = ProofAnswer::Outcome;
    return outcome == Outcome::Equal                                    ? kDone
        : outcome == Outcome::Differ                                    ? kFindings
        : outcome == Outcome::TimedOut || outcome == Outcome::Cancelled ? kCancelled
                                                                        : kInput;
}

ProofAnswer proven(const Arguments& arguments, const ExportTarget& target)
{
    ProofRequest request;
    request.folder = arguments.text("-o");
    request.check = target.check;
    request.python = arguments.text("--prove", request.python);
    const InterruptGuard guard;
    std::cerr << "has " << request.python << " check " << request.folder << "/" << request.check << " …" << std::endl;
    return runProof(request, [] { return InterruptGuard::flag().load(); });
}

int reportProof(const Arguments& arguments, const ExportTarget& target, const ProofAnswer& proof)
{
    if (proof.outcome == ProofAnswer::Outcome::Equal)
        return kDone;
    const bool skipped = proof.outcome == ProofAnswer::Outcome::Skipped;
    const std::string fix = skipped ? "name a Python that has the framework: --prove PYTHON, or run the file there"
        : proof.text.starts_with("there is no program")
        ? "name a Python that is there: --prove PYTHON"
        : "see what it prints: " + arguments.text("--prove", ProofRequest {}.python) + " " + target.check;
    std::cerr << "shardctl: "
              << inputError(arguments.text("-o") + "/" + target.check, (skipped ? "was not proven: " : "") + proof.text, fix).text()
              << "\n";
    return codeOf(proof.outcome);
}

} // namespace

int exportCommand(const Arguments& arguments)
{
    const std::string& path = arguments.positional().front();
    const bool list = arguments.has("--targets");
    for (const char* required : { "--to", "-o" }) {
        if (!list && !arguments.has(required))
            return report(usageError("shardctl export", std::string(required) + " is missing", "see shardctl export --help"));
        if (list && arguments.has(required))
            return report(usageError(required, "has no place beside --targets, which writes nothing", "leave one of them out"));
    }
    if (list && arguments.has("--prove"))
        return report(usageError("--prove", "has no place beside --targets, which writes nothing", "leave one of them out"));
    const auto opened = openDesign(path);
    if (!opened.ok())
        return report(opened.error());
    if (list)
        return showTargets(opened.value(), arguments.has("--json"));
    const Design& design = opened.value().design;
    const auto target = exportTargetNamed(arguments.text("--to"));
    if (!target.ok())
        return report(target.error());
    const auto files = exportDesign(*target.value(), design, opened.value().evaluation);
    if (!files.ok()) {
        if (const auto refusals = target.value()->refusals(design, *opened.value().evaluation, {});
            arguments.has("--json") && refusals.ok())
            std::cout << jsonText(ordered_json { { "format", "shardboard-export" },
                                                 { "version", 1 },
                                                 { "target", target.value()->id },
                                                 { "files", ordered_json::array() },
                                                 { "refusals", refusalsJson(refusals.value()) } },
                                  1)
                      << "\n";
        return report(ofFile(path, files.error()));
    }
    if (const auto status = writeExport(arguments.text("-o"), files.value()); !status.ok())
        return report(status.error());
    const std::vector<std::string> leftOut = target.value()->leftOut(design, *opened.value().evaluation);
    for (const std::string& line : leftOut)
        std::cerr << "note: not in the export: " << line << "\n";
    std::vector<std::string> names;
    for (const ExportedFile& file : files.value())
        names.push_back(arguments.text("-o") + "/" + file.name);
    const bool json = arguments.has("--json");
    for (const std::string& name : names)
        if (!json)
            std::cout << name << "\n";
    ordered_json document {
        { "format", "shardboard-export" }, { "version", 1 },
        { "target", target.value()->id },  { "files", names },
        { "left_out", leftOut },           { "usage", linesOf(target.value()->usage(design, *opened.value().evaluation)) }
    };
    int code = kDone;
    if (arguments.has("--prove")) {
        const ProofAnswer proof = proven(arguments, *target.value());
        code = reportProof(arguments, *target.value(), proof);
        if (!json && code == kDone)
            std::cout << proof.text << "\n";
        document["proof"] = { { "outcome", proofOutcomeName(proof.outcome) },
                              { "equal", proof.equal },
                              { "of", proof.of },
                              { "by", proof.peer },
                              { "text", proof.text },
                              { "seconds", proof.seconds } };
    }
    if (json)
        std::cout << jsonText(document, 1) << "\n";
    return code;
}

} // namespace shardboard
