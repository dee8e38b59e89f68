// SPDX-License-Identifier: Apache-2.0
#include "model/notation/placementlist.h"

#include "model/notation/scanner.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

namespace shardboard {

namespace {

/// `dim=0`, `'sum'`, `ReduceOp.SUM`, `-1`
Result<PlacementCall::Argument> readArgument(Scanner& scanner)
{
    PlacementCall::Argument argument;
    const auto value = [&]() -> bool {
        if (const auto quoted = scanner.quoted()) {
            argument.value = *quoted;
        } else if (const auto number = scanner.integer()) {
            argument.value = std::to_string(*number);
        } else {
            argument.value = scanner.word();
            while (scanner.take("."))
                argument.value = scanner.word(); // ReduceOp.SUM means SUM
        }
        return !argument.value.empty();
    };
    if (!value())
        return scanner.fail("an argument of a placement is missing");
    if (scanner.take("=")) {
        argument.name = argument.value;
        argument.value.clear();
        if (!value())
            return scanner.fail("the value of " + shortened(argument.name, 40) + " is missing");
    }
    return argument;
}

Result<PlacementCall> readCall(Scanner& scanner)
{
    PlacementCall call;
    call.word = scanner.word();
    if (call.word.empty())
        return scanner.fail("a placement is missing");
    if (!scanner.take("("))
        return call;
    while (!scanner.take(")")) {
        if (!call.arguments.empty() && !scanner.take(","))
            return scanner.fail("a comma or ) is missing in the placement");
        auto argument = readArgument(scanner);
        if (!argument.ok())
            return argument.error();
        call.arguments.push_back(std::move(argument).value());
    }
    return call;
}

/// torch runs short codes together: RS(0) is R, S(0). Splits off the letters that stand alone.
void addCall(PlacementCall call, std::vector<PlacementCall>& out)
{
    const bool codes = call.word.size() > 1 && call.word.find_first_not_of("RSP") == std::string::npos;
    for (std::size_t i = 0; codes && i + 1 < call.word.size(); ++i)
        out.push_back({ call.word.substr(i, 1), {} });
    if (codes)
        call.word.erase(0, call.word.size() - 1);
    out.push_back(std::move(call));
}

} // namespace

Result<std::vector<PlacementCall>> readPlacements(std::string_view text, const Mesh& mesh, const std::string& where,
                                                  const std::string& form)
{
    Scanner scanner(text, where, form);
    std::vector<PlacementCall> calls;
    const std::string close = scanner.take("[") ? "]" : scanner.take("(") ? ")" : "";
    bool comma = false;
    while (close.empty() ? !scanner.atEnd() : !scanner.take(close)) {
        auto call = readCall(scanner);
        if (!call.ok())
            return call.error();
        addCall(std::move(call).value(), calls);
        comma = scanner.take(",");
        const bool more = !scanner.atEnd() && (close.empty() || scanner.peek() != close.front());
        if (more && !comma && calls.back().arguments.empty())
            return scanner.fail("a comma is missing between placements");
    }
    if (!scanner.atEnd())
        return scanner.fail("there is text after the placements");
    if (comma && close.empty())
        return scanner.fail("a placement is missing after the last comma");
    if (static_cast<int>(calls.size()) != mesh.axisCount())
        return inputError(
            where,
            "there " + (calls.size() == 1 ? std::string("is 1 placement") : "are " + std::to_string(calls.size()) + " placements")
                + ", but the mesh has " + std::to_string(mesh.axisCount()) + (mesh.axisCount() == 1 ? " axis, " : " axes, ")
                + mesh.text(),
            "give one placement per mesh axis, in this order");
    return calls;
}

Result<int> placementDim(const PlacementCall& call, std::size_t rank, bool fromEnd, const std::string& where)
{
    const std::string fix = rank == 0 ? "a tensor without dims cannot be cut" : "use a dim from 0 to " + std::to_string(rank - 1);
    const auto& argument = call.arguments.front();
    const auto dim = parseInteger(argument.value);
    if (!dim || !(argument.name.empty() || argument.name == "dim" || argument.name == "axis"))
        return placementError(call, "does not name a tensor dim by its number", where, fix);
    const auto count = static_cast<std::int64_t>(rank);
    if (*dim < 0 && !fromEnd)
        return placementError(call, "has a negative dim, which this notation does not know", where, fix);
    if (*dim >= count || *dim < -count)
        return placementError(call, "cuts a dim that the tensor of " + std::to_string(rank) + " dims does not have", where, fix);
    return static_cast<int>(*dim < 0 ? *dim + count : *dim);
}

std::string placementText(const PlacementCall& call)
{
    if (call.arguments.empty())
        return call.word;
    std::vector<std::string> arguments;
    for (const auto& argument : call.arguments)
        arguments.push_back(argument.name.empty() ? argument.value : argument.name + "=" + argument.value);
    return call.word + "(" + joined(arguments) + ")";
}

Error placementError(const PlacementCall& call, const std::string& what, const std::string& where, const std::string& fix)
{
    return inputError(where, "placement " + shortened(placementText(call), 80) + " " + what, fix);
}

std::string placementListText(const std::vector<std::string>& placements) { return placements.empty() ? "[]" : joined(placements); }

} // namespace shardboard
