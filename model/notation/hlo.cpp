// SPDX-License-Identifier: Apache-2.0
// XLA's HloSharding. A tile assignment is written from named axes as XLA does it: the parts of each dim, then the
// copies, then the terms of sums, each over its mesh axes in order. The numbers in it are device ids, so that an edited
// device order shows in the text; V2 can say it only where the ids are an iota. Mesh axes of size 1 leave no trace.
#include "model/notation/canonical.h"
#include "model/notation/hlonamed.h"
#include "model/notation/hlotiles.h"
#include "model/notation/notations.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

/// A layout as device groups: for each dim of the tile assignment the digits of the mesh positions along it.
struct Tiling {
    std::vector<std::int64_t> dims;
    std::vector<Digit> digits;
    std::string suffix;
    bool cuts = false; ///< some tensor dim is cut
    bool copies = false;
    bool terms = false;
};

void addDim(Tiling& tiling, const std::vector<AxisRef>& refs, const Mesh& mesh)
{
    tiling.dims.push_back(partsOf(refs, mesh));
    for (const AxisRef& ref : refs) {
        const std::int64_t rest = mesh.axis(ref.axis).size / spanOf(ref, mesh).end;
        tiling.digits.push_back({ sizeOf(ref, mesh), mesh.stride(ref.axis) * rest });
    }
}

/// The axes, or parts of them, that the layout does not use, in mesh order.
std::vector<AxisRef> unusedAxes(const Layout& layout, const Mesh& mesh)
{
    std::vector<AxisRef> unused;
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        std::vector<AxisSpan> used;
        const auto collect = [&](const std::vector<AxisRef>& refs) {
            for (const AxisRef& ref : refs)
                if (ref.axis == axis)
                    used.push_back(spanOf(ref, mesh));
        };
        for (const auto& dim : layout.dims)
            collect(dim);
        collect(layout.partial);
        std::ranges::sort(used, [](const AxisSpan& a, const AxisSpan& b) { return a.begin < b.begin; });
        used.push_back({ mesh.axis(axis).size, mesh.axis(axis).size });
        std::int64_t at = 1;
        for (const AxisSpan& span : used) {
            if (span.begin > at)
                unused.push_back(refOf(axis, { at, span.begin }, mesh));
            at = span.end;
        }
    }
    return unused;
}

Tiling tilingOf(const Layout& layout, const Mesh& mesh)
{
    Tiling tiling;
    for (const auto& dim : layout.dims) {
        addDim(tiling, dim, mesh);
        tiling.cuts = tiling.cuts || !dim.empty();
    }
    const std::vector<AxisRef> unused = unusedAxes(layout, mesh);
    tiling.copies = !unused.empty();
    tiling.terms = !layout.partial.empty();
    if (tiling.copies)
        addDim(tiling, unused, mesh);
    if (tiling.terms)
        addDim(tiling, layout.partial, mesh);
    if (tiling.terms)
        tiling.suffix = tiling.copies ? " last_tile_dims={replicated, unreduced}" : " last_tile_dims={unreduced}";
    else if (tiling.copies)
        tiling.suffix = " last_tile_dim_replicate";
    return tiling;
}

/// `{replicated}` and `{unreduced}`, which need no tile assignment, or nothing.
std::string withoutTiles(const Tiling& tiling)
{
    if (tiling.cuts || (tiling.copies && tiling.terms))
        return {};
    return tiling.terms ? "{unreduced}" : "{replicated}";
}

Status checkOperator(const Layout& layout, const std::string& notation)
{
    if (layout.op == ReduceOp::Sum)
        return done();
    return inputError(notation,
                      std::string("its unreduced values are sums, and this one is a partial ")
                          + (layout.op == ReduceOp::Max ? "maximum" : "minimum"),
                      "reduce it first, or use shardy");
}

std::vector<std::int64_t> deviceIds(const Tiling& tiling, const Mesh& mesh)
{
    std::vector<std::int64_t> ids = expandDigits(tiling.digits);
    for (std::int64_t& id : ids)
        id = mesh.deviceId(id);
    return ids;
}

std::string numbersText(const std::vector<std::int64_t>& numbers)
{
    std::string out;
    for (const std::int64_t number : numbers)
        out += (out.empty() ? "" : ",") + std::to_string(number);
    return out;
}

} // namespace

Result<std::string> writeHlo(const Layout& written, const Mesh& mesh)
{
    const Layout layout = withoutSizeOneAxes(written, mesh);
    if (auto status = checkOperator(layout, "HloSharding V2"); !status.ok())
        return status.error();
    const Tiling tiling = tilingOf(layout, mesh);
    if (std::string text = withoutTiles(tiling); !text.empty())
        return text;
    auto digits = std::optional(tiling.digits);
    if (!mesh.deviceIds().empty())
        digits = digitsOf(deviceIds(tiling, mesh));
    const auto iota = digits ? iotaOf(*digits) : std::nullopt;
    if (!iota)
        return inputError("HloSharding V2", "the device ids of the edited device order are not an iota",
                          "use hlo-v1, which lists them");
    return "{devices=[" + numbersText(tiling.dims) + "]<=" + iotaText(*iota) + tiling.suffix + "}";
}

Result<std::string> writeHloV1(const Layout& written, const Mesh& mesh)
{
    const Layout layout = withoutSizeOneAxes(written, mesh);
    if (auto status = checkOperator(layout, "HloSharding V1"); !status.ok())
        return status.error();
    const Tiling tiling = tilingOf(layout, mesh);
    if (std::string text = withoutTiles(tiling); !text.empty())
        return text;
    return "{devices=[" + numbersText(tiling.dims) + "]" + numbersText(deviceIds(tiling, mesh)) + tiling.suffix + "}";
}

Result<Layout> readHlo(std::string_view text, const Mesh& mesh, std::size_t rank, const std::string& where)
{
    Scanner scanner(text, where, "write it like {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate} or {replicated}");
    if (!scanner.take("{"))
        return scanner.fail("the sharding does not begin with {");
    if (scanner.peek() == '{')
        return scanner.fail("this is a tuple of shardings");
    Layout layout = Layout::replicated(rank);
    std::optional<HloTiles> tiles;
    if (scanner.takeWord("unreduced")) {
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            if (mesh.axis(axis).size > 1)
                layout.partial.push_back(AxisRef { axis });
    } else if (scanner.takeWord("manual")) {
        return inputError(where, "{manual} has no layout: inside it the program itself says what each device holds",
                          "take the sharding from outside the manual computation");
    } else if (scanner.takeWord("unknown")) {
        return inputError(where, "{unknown} says nothing about the layout", "give the sharding after propagation");
    } else if (scanner.takeWord("maximal") || scanner.takeWord("maximal_mesh")) {
        if (auto status = readMaximal(scanner, mesh); !status.ok())
            return status.error();
    } else if (!scanner.takeWord("replicated")) {
        if (isNamedHlo(scanner))
            return readNamedHlo(scanner, mesh, rank);
        auto parsed = parseHloTiles(scanner, mesh.deviceCount());
        if (!parsed.ok())
            return parsed.error();
        tiles = std::move(parsed).value();
    }
    if (!scanner.take("}"))
        return scanner.fail("the closing } is missing");
    if (!scanner.atEnd())
        return scanner.fail("there is text after the sharding");
    return tiles ? layoutOfTiles(*tiles, mesh, rank, where) : Result<Layout>(layout);
}

} // namespace shardboard
