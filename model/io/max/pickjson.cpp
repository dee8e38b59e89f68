// SPDX-License-Identifier: Apache-2.0
#include "model/io/max/pickrequest.h"

#include "model/picker/menu/executed.h"
#include "model/text/names.h"
#include "model/text/text.h"

#include <cmath>

namespace shardboard {

using nlohmann::ordered_json;

namespace {

/// Whole numbers as such; nothing for an infinite one.
ordered_json number(double value)
{
    constexpr double kExact = 9007199254740992.0; // 2^53
    if (std::isinf(value))
        return nullptr;
    if (value == std::floor(value) && std::abs(value) <= kExact)
        return static_cast<std::int64_t>(value);
    return value;
}

ordered_json codes(std::span<const Placement> placements)
{
    ordered_json out = ordered_json::array();
    for (const Placement& p : placements)
        out.push_back(p.code());
    return out;
}

ordered_json moves(const PickQuestion& question, const std::vector<PickedMove>& list, bool withAxis)
{
    ordered_json out = ordered_json::array();
    for (const PickedMove& move : list) {
        ordered_json one { { "input", move.operand } };
        if (withAxis)
            one["mesh_axis"] = question.mesh.axis(move.meshAxis).name;
        one["from"] = move.from.code();
        one["to"] = move.to.code();
        one["collective"] = move.collective;
        one["message_bytes"] = number(move.bytes);
        one["cost"] = number(move.cost);
        out.push_back(std::move(one));
    }
    return out;
}

const char* statusName(RowVerdict::Status status)
{
    constexpr std::array kNames { "picked", "allowed", "refused", "infeasible" };
    return nameIn(kNames, status);
}

ordered_json candidates(const PickQuestion& question, const PickAnswer& answer)
{
    ordered_json out = ordered_json::array();
    for (const PickCandidate& candidate : answer.candidates) {
        ordered_json one { { "mesh_axis", question.mesh.axis(candidate.meshAxis).name },
                           { "inputs", codes(candidate.inputs) },
                           { "output", candidate.output.code() },
                           { "cost", number(candidate.cost) },
                           { "status", statusName(candidate.status) } };
        if (!candidate.why.empty())
            one["refusal"] = candidate.why;
        one["sound"] = candidate.sound ? ordered_json(*candidate.sound) : ordered_json(nullptr);
        if (candidate.unsoundBecause)
            one["unsound_because"] = candidate.unsoundBecause;
        if (candidate.fallback)
            one["appended"] = true;
        one["collectives"] = moves(question, candidate.collectives, false);
        out.push_back(std::move(one));
    }
    return out;
}

/// What the generation runs to bring the operands there, which is not what it prices.
ordered_json executed(const PickQuestion& question, const PickAnswer& answer)
{
    ordered_json out = ordered_json::array();
    for (std::size_t i = 0; i < question.operands.size(); ++i) {
        const auto steps =
            executedSteps(question.options.profile, question.operands[i].placements, answer.action.input(i), question.mesh);
        if (const auto* refusal = std::get_if<Refusal>(&steps)) {
            out.push_back({ { "input", i }, { "error", upstreamErrorName(refusal->error) }, { "reason", refusal->reason } });
            continue;
        }
        for (const ExecutedStep& step : std::get<std::vector<ExecutedStep>>(steps)) {
            ordered_json axes = ordered_json::array();
            for (const int axis : step.meshAxes)
                axes.push_back(question.mesh.axis(axis).name);
            out.push_back({ { "input", i },
                            { "op", step.op },
                            { "mesh_axes", std::move(axes) },
                            { "tensor_axis", step.dim ? ordered_json(*step.dim) : ordered_json(nullptr) } });
        }
    }
    return out;
}

} // namespace

ordered_json pickAnswerJson(const PickQuestion& question, const PickAnswer& answer)
{
    ordered_json out = ordered_json::object();
    if (answer.refusal) {
        out["error"] = upstreamErrorName(answer.refusal->error);
        out["reason"] = answer.refusal->reason;
    } else {
        out["inputs"] = ordered_json::array();
        for (std::size_t i = 0; i < question.operands.size(); ++i)
            out["inputs"].push_back(codes(answer.action.input(i)));
        out["output"] = codes(answer.action.output);
        out["cost"] = number(answer.action.cost);
        out["collectives"] = moves(question, answer.collectives, true);
        out["executed"] = executed(question, answer);
    }
    if (!answer.notes.empty())
        out["notes"] = answer.notes;
    out["candidates"] = candidates(question, answer);
    return out;
}

std::string pickHelp()
{
    std::string out =
        "REQUEST is a file or - with {\"profile\": \"G1\", \"op\": \"matmul\", \"mesh\": {\"shape\": [4], \"axes\": [\"tp\"]},\n"
        "\"inputs\": [{\"global_shape\": [4, 8], \"placements\": [\"P\"], \"dtype\": \"float32\"}, …]}; also \"picker\" "
        "(GreedyReshard,\n"
        "NoReshard, PartialsOnly, auto_reshard), \"attrs\", \"rows\" (of your own operation), \"fallback_row_added\" (G0 to G2 and "
        "max-26.6),\n"
        "\"call_site\", and \"policy\": of GreedyReshard allow_partial_to_sharded, on_reshard, and in G0 budget_bytes_per_device; "
        "of\n"
        "auto_reshard allowed_transitions and mode. Sizes may be names. Profiles are shardboard, G0 to G3 (generations of MAX as\n"
        "documented), max-26.6 and max-26.7 (as released; in 26.7 the mode is raise unless it is given).\n"
        "A refused request exits with 3 and one line; with --json the refusal and its candidates are printed, too.\n"
        "Operations and their attributes:\n";
    for (const OpFamily* family : allFamilies()) {
        std::string line = "  " + std::string(family->name);
        std::vector<std::string> attributes;
        for (const AttributeSpec& spec : family->attributes)
            attributes.push_back(spec.name + (spec.fallback ? std::string(" (") + spec.fallback + ")" : std::string()));
        if (!attributes.empty())
            line += ": " + joined(attributes);
        if (!family->aliases.empty())
            line += "  = " + joined({ family->aliases.begin(), family->aliases.end() });
        out += line + "\n";
    }
    return out + "  custom: rows [[[\"S0\", \"R\"], \"S0\"], …]\n";
}

} // namespace shardboard
