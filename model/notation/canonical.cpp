// SPDX-License-Identifier: Apache-2.0
#include "model/notation/canonical.h"

#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

AxisSpan spanOf(const AxisRef& ref, const Mesh& mesh)
{
    if (ref.whole())
        return { 1, mesh.axis(ref.axis).size };
    return { ref.pre, ref.pre * ref.size };
}

AxisRef refOf(int axis, AxisSpan span, const Mesh& mesh)
{
    if (span.begin == 1 && span.end == mesh.axis(axis).size)
        return AxisRef { axis };
    return AxisRef { axis, span.begin, span.end / span.begin };
}

bool mergeable(const AxisRef& major, const AxisRef& minor, const Mesh& mesh)
{
    return major.axis == minor.axis && spanOf(major, mesh).end == spanOf(minor, mesh).begin;
}

namespace {

std::vector<AxisRef> merged(const std::vector<AxisRef>& refs, const Mesh& mesh)
{
    std::vector<AxisRef> out;
    for (const AxisRef& ref : refs) {
        if (!out.empty() && mergeable(out.back(), ref, mesh))
            out.back() = refOf(ref.axis, { spanOf(out.back(), mesh).begin, spanOf(ref, mesh).end }, mesh);
        else
            out.push_back(refOf(ref.axis, spanOf(ref, mesh), mesh));
    }
    return out;
}

} // namespace

Layout canonicalLayout(const Layout& layout, const Mesh& mesh)
{
    Layout out = layout;
    for (auto& dim : out.dims)
        dim = merged(dim, mesh);
    std::ranges::sort(out.partial,
                      [](const AxisRef& a, const AxisRef& b) { return a.axis < b.axis || (a.axis == b.axis && a.pre < b.pre); });
    out.partial = merged(out.partial, mesh);
    if (out.partial.empty())
        out.op = ReduceOp::Sum;
    return out;
}

Layout withoutSizeOneAxes(const Layout& layout, const Mesh& mesh)
{
    Layout out = layout;
    const auto cutsNothing = [&](const AxisRef& ref) { return sizeOf(ref, mesh) == 1; };
    for (auto& dim : out.dims)
        std::erase_if(dim, cutsNothing);
    std::erase_if(out.partial, cutsNothing);
    return canonicalLayout(out, mesh);
}

bool sameLayout(const Layout& a, const Layout& b, const Mesh& mesh)
{
    return withoutSizeOneAxes(a, mesh) == withoutSizeOneAxes(b, mesh);
}

std::string axisText(const AxisRef& ref, const Mesh& mesh)
{
    const std::string& name = mesh.axis(ref.axis).name;
    return ref.whole() ? name : name + ":(" + std::to_string(ref.pre) + ")" + std::to_string(ref.size);
}

const AxisRef* firstSubAxis(const Layout& layout)
{
    const auto subAxis = [](const AxisRef& ref) { return !ref.whole(); };
    const auto in = [&](const std::vector<AxisRef>& refs) -> const AxisRef* {
        const auto found = std::ranges::find_if(refs, subAxis);
        return found == refs.end() ? nullptr : &*found;
    };
    for (const auto& dim : layout.dims)
        if (const AxisRef* found = in(dim))
            return found;
    return in(layout.partial);
}

Error subAxisError(const std::string& notation, const AxisRef& ref, const Mesh& mesh)
{
    const MeshAxis& axis = mesh.axis(ref.axis);
    std::vector<std::string> sizes;
    for (const std::int64_t size : { ref.pre, ref.size, axis.size / (ref.pre * ref.size) })
        if (size > 1)
            sizes.push_back(std::to_string(size));
    return inputError(notation, "it has no sub-axes, and " + axisText(ref, mesh) + " is a part of mesh axis '" + axis.name + "'",
                      "split the mesh axis into axes of " + joined(sizes));
}

} // namespace shardboard
