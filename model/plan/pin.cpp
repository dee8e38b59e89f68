// SPDX-License-Identifier: Apache-2.0
#include "model/plan/pin.h"

#include "model/core/placement.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

constexpr const char* kForms = "write 'NAMES:LABEL=AXES', say '*:batch=data,fsdp', or 'OPERATION@AXIS=ROW', say "
                               "'block/self_attn.attention@context=S1 R R -> S1'";

/// `S1  R R->S1` as `S1 R R -> S1`; empty when it is no row.
std::string rowText(std::string_view text)
{
    const auto arrow = text.find("->");
    if (arrow == std::string_view::npos)
        return {};
    std::vector<std::string> codes;
    for (const std::string_view part : split(trimmed(text.substr(0, arrow)), ' '))
        if (!part.empty())
            codes.emplace_back(part);
    if (codes.empty())
        return {};
    codes.emplace_back("->");
    codes.emplace_back(trimmed(text.substr(arrow + 2)));
    const bool known =
        std::ranges::all_of(codes, [](const std::string& code) { return code == "->" || Placement::parse(code).has_value(); });
    return known ? joined(codes, " ") : std::string();
}

Result<Pin> parseRow(std::string_view match, std::string_view rest, const std::string& where)
{
    const auto equals = rest.find('=');
    Pin pin;
    pin.match = match;
    pin.axis = trimmed(rest.substr(0, equals));
    if (equals == std::string_view::npos || pin.match.empty() || pin.axis.empty())
        return inputError(where, "a pin of a row names operations, a mesh axis and the row", kForms);
    pin.row = rowText(rest.substr(equals + 1));
    if (pin.row.empty())
        return inputError(where, "'" + std::string(trimmed(rest.substr(equals + 1))) + "' is not a row",
                          "give a placement (R, S0, S1, …, P) for each operand, an arrow and the result's: S1 R R -> S1");
    return pin;
}

} // namespace

std::string pinText(const Pin& pin)
{
    if (!pin.row.empty())
        return pin.match + "@" + pin.axis + "=" + pin.row;
    std::vector<std::string> parts;
    for (const Pin::Dim& dim : pin.dims)
        parts.push_back(dim.label + "=" + joined(dim.axes, ","));
    if (!pin.whole.empty())
        parts.push_back("whole=" + joined(pin.whole, ","));
    return pin.match + ":" + joined(parts, ";");
}

Result<Pin> parsePin(std::string_view text, const std::string& where)
{
    const auto equals = text.find('=');
    const std::string_view before = text.substr(0, equals);
    const auto at = before.rfind('@');
    const auto colon = before.rfind(':');
    if (at != std::string_view::npos && (colon == std::string_view::npos || colon < at))
        return parseRow(trimmed(text.substr(0, at)), text.substr(at + 1), where);
    if (equals == std::string_view::npos || colon == std::string_view::npos)
        return inputError(where, "'" + std::string(text) + "' is not a pin", kForms);
    Pin pin;
    pin.match = trimmed(text.substr(0, colon));
    if (pin.match.empty())
        return inputError(where, "the pin names no activation", kForms);
    for (const std::string_view part : split(text.substr(colon + 1), ';')) {
        const auto is = part.find('=');
        const std::string label(trimmed(part.substr(0, is)));
        std::vector<std::string> axes;
        if (is != std::string_view::npos)
            for (const std::string_view axis : split(part.substr(is + 1), ','))
                axes.emplace_back(axis);
        if (label.empty() || axes.empty() || std::ranges::any_of(axes, [](const auto& axis) { return axis.empty(); }))
            return inputError(where, "'" + std::string(part) + "' says no label and mesh axes", kForms);
        if (label == "whole")
            pin.whole.insert(pin.whole.end(), axes.begin(), axes.end());
        else
            pin.dims.push_back({ label, std::move(axes) });
    }
    return pin;
}

} // namespace shardboard
