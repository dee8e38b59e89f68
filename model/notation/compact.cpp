// SPDX-License-Identifier: Apache-2.0
#include "model/notation/compact.h"

#include "model/notation/canonical.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

/// `XY` for one-letter names, else `data` or `(data,model)`.
std::string axesText(const std::vector<AxisRef>& refs, const Mesh& mesh, bool letters)
{
    std::vector<std::string> names;
    for (const AxisRef& ref : refs)
        names.push_back(axisText(ref, mesh));
    const bool joinedLetters = letters && std::ranges::all_of(names, [](const std::string& name) { return name.size() == 1; });
    if (names.size() == 1 || joinedLetters)
        return joined(names, "");
    return "(" + joined(names, ",") + ")";
}

std::string operatorText(ReduceOp op) { return op == ReduceOp::Sum ? "" : op == ReduceOp::Max ? "max:" : "min:"; }

/// I, J, K, …, Z, then D18, D19, …
std::string dimLetter(std::size_t dim)
{
    constexpr std::size_t kLetters = 'Z' - 'I' + 1;
    return dim < kLetters ? std::string(1, static_cast<char>('I' + dim)) : "D" + std::to_string(dim);
}

} // namespace

std::string compactText(const Layout& layout, const Mesh& mesh, const std::string& name)
{
    const Layout canonical = canonicalLayout(layout, mesh);
    std::vector<std::string> dims;
    for (std::size_t dim = 0; dim < canonical.dims.size(); ++dim) {
        const auto& refs = canonical.dims[dim];
        dims.push_back(dimLetter(dim) + (refs.empty() ? "" : "_" + axesText(refs, mesh, true)));
    }
    std::string out = name + "[" + joined(dims) + "]";
    if (!canonical.partial.empty())
        out += "{U_" + operatorText(canonical.op) + axesText(canonical.partial, mesh, true) + "}";
    return out;
}

std::string typeText(const Shape& shape, DType dtype, const Layout& layout, const Mesh& mesh)
{
    const Layout canonical = canonicalLayout(layout, mesh);
    std::vector<std::string> dims;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        const auto& refs = canonical.dims[dim];
        dims.push_back(std::to_string(shape[dim]) + (refs.empty() ? "" : "@" + axesText(refs, mesh, false)));
    }
    std::string out = dtypeName(dtype) + "[" + joined(dims, ",") + "]";
    if (!canonical.partial.empty())
        out += "{U:" + operatorText(canonical.op) + axesText(canonical.partial, mesh, false) + "}";
    return out;
}

} // namespace shardboard
