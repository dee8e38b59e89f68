// SPDX-License-Identifier: Apache-2.0
// shardctl notation: one layout in every notation.
#include "app/ctl/commands.h"
#include "app/ctl/table.h"
#include "model/core/tensor.h"
#include "model/io/json/jsonwriter.h"
#include "model/notation/compact.h"
#include "model/notation/notation.h"
#include "model/text/text.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace shardboard {

namespace {

constexpr std::size_t kLargestRank = 16;

/// The tensor's sizes, where they are given, or only how many there are; its type is only for show.
struct TensorDims {
    std::optional<Shape> shape;
    std::size_t rank = 2;
    DType dtype = DType::BF16;
};

Result<TensorDims> tensorDims(const Arguments& arguments)
{
    if (arguments.has("--shape") && arguments.has("--rank"))
        return usageError("--rank", "the shape gives the rank already", "give either --shape or --rank");
    const auto dtype = dtypeFromName(arguments.text("--dtype", "bf16"));
    if (!dtype)
        return usageError("--dtype", "there is no dtype '" + arguments.text("--dtype") + "'", "use bf16, f16, f32, …");
    if (arguments.has("--shape")) {
        auto shape = parseShape(arguments.text("--shape"));
        if (!shape.ok())
            return shape.error();
        return TensorDims { shape.value(), shape.value().size(), *dtype };
    }
    const auto rank = arguments.integer("--rank", 2, 0, static_cast<std::int64_t>(kLargestRank));
    if (!rank.ok())
        return rank.error();
    return TensorDims { std::nullopt, static_cast<std::size_t>(rank.value()), *dtype };
}

Result<Mesh> meshOf(const Arguments& arguments)
{
    if (!arguments.has("--mesh"))
        return usageError("shardctl notation", "--mesh is missing", "see shardctl notation --help");
    auto mesh = Mesh::parse(arguments.text("--mesh"));
    if (!mesh.ok() || !arguments.has("--device-ids"))
        return mesh;
    const std::string list = arguments.text("--device-ids");
    std::vector<std::int64_t> ids;
    for (const std::string_view word : split(list, ',')) {
        const auto id = parseInteger(word);
        if (!id)
            return inputError("--device-ids", "'" + std::string(word) + "' is not a device id", "write them like 0,2,1,3");
        ids.push_back(*id);
    }
    return Mesh::make(mesh.value().axes(), std::move(ids), "--device-ids");
}

/// The notation an option names, or nothing when it is not given.
Result<std::optional<Notation>> notationOption(const Arguments& arguments, const std::string& option)
{
    if (!arguments.has(option))
        return std::optional<Notation>();
    const auto notation = notationFromName(arguments.text(option));
    if (!notation)
        return usageError(option, "there is no notation '" + arguments.text(option) + "'",
                          "notations are jax, shardy, hlo, hlo-v1, dtensor and max");
    return notation;
}

std::string reasonOf(const Error& error) { return error.what + (error.fix.empty() ? "" : "; " + error.fix); }

nlohmann::json layoutJson(const Layout& layout, const Mesh& mesh, const TensorDims& tensor, Notation from)
{
    nlohmann::json notations = nlohmann::json::array();
    for (const Notation notation : kNotations) {
        const auto text = writeLayout(notation, layout, mesh);
        nlohmann::json entry { { "name", notationName(notation) },
                               { "text", text.ok() ? nlohmann::json(text.value()) : nlohmann::json(nullptr) } };
        if (!text.ok())
            entry["reason"] = reasonOf(text.error());
        notations.push_back(std::move(entry));
    }
    nlohmann::json out { { "mesh", mesh.text() },
                         { "rank", tensor.rank },
                         { "read_as", notationName(from) },
                         { "compact", compactText(layout, mesh) },
                         { "notations", notations } };
    if (tensor.shape) {
        out["shape"] = *tensor.shape;
        out["type"] = typeText(*tensor.shape, tensor.dtype, layout, mesh);
    }
    if (!mesh.deviceIds().empty())
        out["device_ids"] = mesh.deviceIds();
    return out;
}

/// A list of all device ids does not fit a terminal.
std::string forTerminal(const std::string& text)
{
    constexpr std::size_t kLongest = 160;
    return text.size() <= kLongest ? text : shortened(text, kLongest) + " (--to shows all)";
}

std::string layoutText(const Layout& layout, const Mesh& mesh, const TensorDims& tensor, Notation from)
{
    Table table({ "notation", "text, or why it cannot be expressed" });
    for (const Notation notation : kNotations) {
        const auto text = writeLayout(notation, layout, mesh);
        table.add({ notationTitle(notation), text.ok() ? forTerminal(text.value()) : "cannot: " + reasonOf(text.error()) });
    }
    std::string out = compactText(layout, mesh);
    if (tensor.shape)
        out += "  " + typeText(*tensor.shape, tensor.dtype, layout, mesh);
    return out + " on " + mesh.text() + ", read as " + notationTitle(from) + "\n" + table.text();
}

} // namespace

int notationCommand(const Arguments& arguments)
{
    const auto mesh = meshOf(arguments);
    if (!mesh.ok())
        return report(mesh.error());
    const auto tensor = tensorDims(arguments);
    if (!tensor.ok())
        return report(tensor.error());
    const auto from = notationOption(arguments, "--from");
    const auto to = notationOption(arguments, "--to");
    for (const auto* option : { &from, &to })
        if (!option->ok())
            return report(option->error());
    const std::string& text = arguments.positional().front();
    const auto layout = from.value() ? readLayout(*from.value(), text, mesh.value(), tensor.value().rank, "TEXT")
                                     : readAnyLayout(text, mesh.value(), tensor.value().rank, "TEXT");
    if (!layout.ok())
        return report(layout.error());
    if (to.value()) {
        const auto written = writeLayout(*to.value(), layout.value(), mesh.value());
        if (!written.ok())
            return report(written.error());
        std::cout << (arguments.has("--json")
                          ? jsonText(nlohmann::json { { "name", notationName(*to.value()) }, { "text", written.value() } })
                          : written.value())
                  << "\n";
        return kDone;
    }
    const Notation readAs = from.value() ? *from.value() : *detectNotation(text);
    if (arguments.has("--json"))
        std::cout << jsonText(layoutJson(layout.value(), mesh.value(), tensor.value(), readAs), 1) << "\n";
    else
        std::cout << layoutText(layout.value(), mesh.value(), tensor.value(), readAs);
    return kDone;
}

} // namespace shardboard
