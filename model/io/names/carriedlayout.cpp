// SPDX-License-Identifier: Apache-2.0
#include "model/io/names/carriedlayout.h"

#include "model/core/result.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace shardboard {

namespace {

using Axes = std::vector<AxisRef>;

class LayoutCarrier {
public:
    LayoutCarrier(const NamedParameter& parameter, const Mesh& mesh)
        : m_parameter(parameter)
        , m_mesh(mesh)
        , m_axes(parameter.factors.size())
    {
    }

    Result<CarriedLayout> carry(const std::vector<Layout>& layouts)
    {
        for (std::size_t source = 0; source < layouts.size(); ++source)
            if (auto status = readSource(source, layouts[source]); !status.ok())
                return status.error();
        for (std::size_t f = 0; f < m_axes.size(); ++f)
            if (m_parameter.factors[f].taken != NameFactor::kAll && parts(m_axes[f]) > 1)
                return wrong(takenProblem(f), "cut another dim");
        CarriedLayout out;
        out.layout.partial = layouts.front().partial;
        out.layout.op = layouts.front().op;
        for (std::size_t dim = 0; dim < m_parameter.dims.size(); ++dim)
            if (auto status = writeDim(dim, out); !status.ok())
                return status.error();
        return out;
    }

private:
    Error wrong(const std::string& what, const std::string& fix) const { return inputError(m_parameter.name, what, fix); }

    std::int64_t parts(const Axes& axes) const { return partsOf(axes, m_mesh); }

    std::string axesText(const Axes& axes) const
    {
        std::string out;
        for (const AxisRef& ref : axes)
            out += (out.empty() ? "" : ", ") + m_mesh.axis(ref.axis).name;
        return out.empty() ? "nothing" : out;
    }

    std::string takenProblem(std::size_t factor) const
    {
        const NameFactor& taken = m_parameter.factors[factor];
        if (taken.taken == NameFactor::kNumbered)
            return "the " + taken.label + " are parameters each, which lie on a part of the devices where they are cut over "
                + axesText(m_axes[factor]);
        return "it holds only a part of what is cut over " + axesText(m_axes[factor]);
    }

    /// Elements of a factor in a source.
    std::int64_t sizeIn(std::size_t source, int factor) const
    {
        return factor == m_parameter.joined ? m_parameter.parts[source]
                                            : m_parameter.factors[static_cast<std::size_t>(factor)].size;
    }

    Status readSource(std::size_t source, const Layout& layout)
    {
        std::vector<Axes> axes(m_axes.size());
        const std::size_t shift = m_parameter.stacked ? 1 : 0;
        for (std::size_t dim = 0; dim < layout.dims.size(); ++dim)
            if (auto status = dealOut(source, layout, dim, m_parameter.from[dim + shift], axes); !status.ok())
                return status;
        if (source == 0) {
            m_axes = std::move(axes);
            return done();
        }
        for (std::size_t f = 0; f < m_axes.size(); ++f)
            if (m_axes[f] != axes[f])
                return wrong("it is made of " + m_parameter.sources.front() + " and " + m_parameter.sources[source]
                                 + ", which are cut over " + axesText(m_axes[f]) + " and " + axesText(axes[f]),
                             "cut both in the same way");
        return done();
    }

    /// The axes of a dim go to its factors, major first.
    Status dealOut(std::size_t source, const Layout& layout, std::size_t dim, const std::vector<int>& factors,
                   std::vector<Axes>& out)
    {
        const std::string& name = m_parameter.sources[source];
        const auto factorAt = [&](std::size_t i) { return static_cast<std::size_t>(factors[i]); };
        if (factors.size() == 1) { // as in the source, be it uneven
            out[factorAt(0)] = layout.dims[dim];
            if (layout.cuttingOf(dim) != Cutting {})
                m_cutting = { factors[0], layout.cuttingOf(dim) };
            return done();
        }
        std::size_t at = 0;
        std::int64_t left = sizeIn(source, factors[0]);
        for (const AxisRef& ref : layout.dims[dim]) {
            const std::int64_t size = sizeOf(ref, m_mesh);
            while (size > 1 && left == 1 && at + 1 < factors.size())
                left = sizeIn(source, factors[++at]);
            if (left % size != 0)
                return wrong("dim " + std::to_string(dim) + " of " + name + " is cut over " + axesText(layout.dims[dim])
                                 + ", which does not divide its " + std::to_string(sizeIn(source, factors[at])) + " "
                                 + m_parameter.factors[factorAt(at)].label,
                             "cut it over mesh axes that do, or another dim");
            left /= size;
            out[factorAt(at)].push_back(ref);
        }
        return done();
    }

    Status writeDim(std::size_t dim, CarriedLayout& out)
    {
        const std::vector<int>& factors = m_parameter.dims[dim];
        Axes axes;
        const NameFactor* whole = nullptr; // the first factor that is not cut to single elements
        for (const int f : factors) {
            const NameFactor& factor = m_parameter.factors[static_cast<std::size_t>(f)];
            const Axes& own = m_axes[static_cast<std::size_t>(f)];
            if (parts(own) > 1 && whole != nullptr)
                return wrong("its dim " + std::to_string(dim) + " would be cut over " + axesText(own) + " inside each of "
                                 + std::to_string(whole->size) + " " + whole->label + ", so that no device has one range of it",
                             "cut " + m_parameter.sources.front() + " over other mesh axes");
            if (f == m_parameter.joined && parts(own) > 1) {
                if (factors.size() > 1)
                    return wrong("its dim " + std::to_string(dim) + " has its sources in turn, and each is cut over "
                                     + axesText(own),
                                 "cut another dim");
                out.segmentedDim = static_cast<int>(dim);
                out.segments = m_parameter.parts;
            }
            if (factor.size > parts(own) && whole == nullptr)
                whole = &factor;
            axes.insert(axes.end(), own.begin(), own.end());
        }
        out.layout.dims.push_back(std::move(axes));
        if (m_cutting && m_cutting->first == factors.front()) {
            if (factors.size() > 1 || m_cutting->first == m_parameter.joined)
                return wrong("its dim " + std::to_string(dim) + " is cut into parts of different sizes", "cut it evenly");
            out.layout.setCutting(dim, m_cutting->second);
        }
        return done();
    }

    const NamedParameter& m_parameter;
    const Mesh& m_mesh;
    std::vector<Axes> m_axes; ///< of each factor
    std::optional<std::pair<int, Cutting>> m_cutting; ///< factor that is cut unevenly
};

/// The layouts of the sources in a layer; nothing where a weight has no usable one.
std::optional<std::vector<Layout>> layoutsIn(const NamedParameter& parameter, const Evaluation& evaluation, std::int64_t layer)
{
    std::vector<Layout> out;
    for (const std::string& source : parameter.sources) {
        const auto found = std::ranges::find_if(evaluation.weights, [&](const WeightLayout& weight) {
            return weight.spec.name == source && weight.spec.role == TensorRole::Weight
                && (layer < 0 || (weight.firstLayer <= layer && layer < weight.firstLayer + weight.copies));
        });
        if (found == evaluation.weights.end())
            return std::nullopt;
        out.push_back(found->layout);
    }
    return out;
}

Result<CarriedLayout> carriedIn(const NamedParameter& parameter, const std::optional<std::vector<Layout>>& layouts,
                                const Mesh& mesh)
{
    if (!layouts)
        return inputError(parameter.name, "the design does not have " + parameter.sources.front(),
                          "use the names of its own model");
    return carriedLayout(parameter, *layouts, mesh);
}

} // namespace

Result<CarriedLayout> carriedLayout(const NamedParameter& parameter, const std::vector<Layout>& layouts, const Mesh& mesh)
{
    return LayoutCarrier(parameter, mesh).carry(layouts);
}

std::vector<LaidOutParameter> laidOutParameters(const ParameterNames& names, const Evaluation& evaluation, const Mesh& mesh)
{
    std::vector<LaidOutParameter> out;
    for (const NamedParameter& parameter : names.parameters) {
        if (parameter.firstLayer < 0) {
            out.push_back({ &parameter, -1, 1, carriedIn(parameter, layoutsIn(parameter, evaluation, -1), mesh) });
            continue;
        }
        const std::int64_t end = parameter.firstLayer + parameter.layers;
        std::int64_t begin = parameter.firstLayer;
        auto first = layoutsIn(parameter, evaluation, begin);
        for (std::int64_t layer = begin + 1; layer <= end; ++layer) {
            auto here = layer < end ? layoutsIn(parameter, evaluation, layer) : std::nullopt;
            if (layer < end && here == first)
                continue;
            if (layer < end && parameter.stacked) {
                out.push_back(
                    { &parameter, begin, parameter.layers,
                      inputError(parameter.name,
                                 "layers are stacked in it, and layers " + std::to_string(begin) + " and " + std::to_string(layer)
                                     + " of " + parameter.sources.front() + " are laid out differently",
                                 "lay out all layers in the same way, or do not stack them") });
                break;
            }
            out.push_back({ &parameter, begin, layer - begin, carriedIn(parameter, first, mesh) });
            begin = layer;
            first = std::move(here);
        }
    }
    return out;
}

} // namespace shardboard
