// SPDX-License-Identifier: Apache-2.0
// Menus of MAX's families as one line of text, for tests: `R R>R  S0 R>S0  R S1>S1`; a row that is known to be unsound ends
// with `!`, one that must not move anything with `=`.
#pragma once

#include "model/io/max/pickrequest.h"
#include "model/text/text.h"

#include <string>
#include <vector>

namespace shardboard::test {

/// `4,8` or `batch,8`; each operand may say its placements: `4,8 S0` or `4,8 S0/R`. Replicated otherwise.
inline nlohmann::json pickRequest(const std::string& profile, const std::string& op, const std::string& mesh,
                                  const std::vector<std::string>& operands, const std::string& attributes = "{}")
{
    using nlohmann::json;
    const Mesh parsed = Mesh::parse(mesh).value();
    json shape = json::array();
    json names = json::array();
    for (const MeshAxis& axis : parsed.axes()) {
        shape.push_back(axis.size);
        names.push_back(axis.name);
    }
    json inputs = json::array();
    for (const std::string& operand : operands) {
        const auto space = operand.find(' ');
        json sizes = json::array();
        const std::string shapeText = operand.substr(0, space);
        if (!shapeText.empty() && shapeText != "-")
            for (const std::string_view size : split(std::string_view(shapeText), ',')) {
                const auto number = parseInteger(size);
                sizes.push_back(number ? json(*number) : json(size));
            }
        json placements = json::array();
        if (space == std::string::npos)
            for (int axis = 0; axis < parsed.axisCount(); ++axis)
                placements.push_back("R");
        else
            for (const std::string_view code : split(std::string_view(operand).substr(space + 1), '/'))
                placements.push_back(code);
        inputs.push_back({ { "global_shape", sizes }, { "placements", placements }, { "dtype", "float32" } });
    }
    return { { "profile", profile },
             { "op", op },
             { "mesh", { { "shape", shape }, { "axes", names } } },
             { "inputs", inputs },
             { "attrs", json::parse(attributes) } };
}

inline std::variant<Menu, Refusal> menuOf(const PickQuestion& question)
{
    return expandMenu(*question.family, question.operands, question.attributes, question.mesh, question.options.profile);
}

inline std::string shortText(const Row& row)
{
    std::string out;
    for (std::size_t i = 0; i < row.operands.size(); ++i)
        out += (i > 0 ? " " : "") + (row.keeps(i) ? std::string("=") : row.operands[i].code());
    out += ">" + (row.resultOf >= 0 ? "=" + std::to_string(row.resultOf) : row.result.code());
    return out + (row.unsound && !row.soundIfWhole ? "!" : "") + (row.stay ? "=" : "");
}

/// The menu, or the refusal as `ValueError: …`.
inline std::string menuText(const nlohmann::json& request)
{
    const auto question = readPickQuestion(request, "r");
    if (!question.ok())
        return question.error().text();
    const auto menu = menuOf(question.value());
    if (const auto* refusal = std::get_if<Refusal>(&menu))
        return std::string(upstreamErrorName(refusal->error)) + ": " + refusal->reason;
    std::string out;
    for (const Row& row : std::get<Menu>(menu).rows)
        out += (out.empty() ? "" : "  ") + shortText(row);
    return out;
}

/// `R S1 -> S1 @ 96`; several mesh axes as `S0/R`. A refusal as `ShardingError: …`.
inline std::string pickText(const nlohmann::json& request)
{
    const auto question = readPickQuestion(request, "r");
    if (!question.ok())
        return question.error().text();
    const PickAnswer answer = pickOperation(question.value());
    if (answer.refusal)
        return std::string(upstreamErrorName(answer.refusal->error)) + ": " + answer.refusal->reason;
    const auto text = [](std::span<const Placement> placements) {
        std::vector<std::string> codes;
        for (const Placement& p : placements)
            codes.push_back(p.code());
        return joined(codes, "/");
    };
    std::string out;
    for (std::size_t i = 0; i < question.value().operands.size(); ++i)
        out += text(answer.action.input(i)) + " ";
    out += "-> " + text(answer.action.output) + " @ ";
    const auto cost = pickAnswerJson(question.value(), answer)["cost"];
    return out + cost.dump();
}

} // namespace shardboard::test
