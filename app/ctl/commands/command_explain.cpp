// SPDX-License-Identifier: Apache-2.0
// shardctl explain: why a collective, an operation or a tensor is as it is, what else there was and at what price.
#include "app/ctl/commands.h"
#include "app/ctl/commands/explaintext.h"
#include "model/io/documents/explainjson.h"
#include "model/io/json/jsonwriter.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace shardboard {

namespace {

constexpr std::size_t kMostExplained = 12; ///< of a glob as text; a script gets all
constexpr int kMostEffects = 64;

} // namespace

int explainCommand(const Arguments& arguments)
{
    const std::string& asked = arguments.positional()[1];
    const auto effects = arguments.integer("--what-if", 3, 0, kMostEffects);
    if (!effects.ok())
        return report(effects.error());
    auto opened = openDesign(arguments.positional().front(), Misfits::Replicate);
    if (!opened.ok())
        return report(opened.error());
    const Design& design = opened.value().design;
    const Evaluation& evaluation = *opened.value().evaluation;
    auto targets = explainTargets(evaluation, asked);
    if (!targets.ok()) {
        Error error = targets.error();
        error.where = arguments.positional().front();
        return report(error);
    }
    const bool json = arguments.has("--json");
    if (targets.value().size() > kMostExplained && !json) {
        std::cout << "'" << asked << "' means " << targets.value().size() << " things; name one of them:\n";
        for (const ExplainTarget& target : targets.value())
            std::cout << "  " << targetKindName(target.kind) << "  " << target.name << "\n";
        return kDone;
    }
    // What is left of a glob is told without evaluating the design for each.
    const ExplainOptions options { targets.value().size() > 1 && !arguments.has("--what-if") ? 0
                                                                                             : static_cast<int>(effects.value()) };
    nlohmann::json list = nlohmann::json::array();
    bool first = true;
    for (const ExplainTarget& target : targets.value()) {
        const Explanation explanation = explain(design, evaluation, target, options);
        if (json) {
            list.push_back(explanationJson(design, evaluation, explanation));
            continue;
        }
        std::cout << (first ? "" : "\n----\n\n") << explanationText(design, evaluation, explanation);
        first = false;
    }
    if (json)
        std::cout << jsonText(
            nlohmann::json { { "format", "shardboard-explain" }, { "version", 1 }, { "asked", asked }, { "explanations", list } },
            1) << "\n";
    return kDone;
}

} // namespace shardboard
