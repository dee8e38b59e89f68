// SPDX-License-Identifier: Apache-2.0
#include "model/io/maxtext/maxtextresolve.h"

#include "model/core/checked.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <map>

namespace shardboard {

namespace {

std::int64_t sizeOfAxis(const Mesh& mesh, const std::string& name)
{
    const int axis = mesh.find(name);
    return axis < 0 ? 1 : mesh.axis(axis).size;
}

constexpr std::int64_t kTooMany = std::int64_t { 1 } << 62;

std::int64_t parts(const std::vector<std::string>& axes, const Mesh& mesh)
{
    std::int64_t out = 1;
    for (const std::string& axis : axes)
        out = checkedMultiply(out, sizeOfAxis(mesh, axis)).value_or(kTooMany); // a wrong rule may name an axis again and again
    return out;
}

/// `logical_shardings.json:.params/…`
std::string placeOf(const std::string& file, const std::string& entry) { return file.empty() ? entry : file + ":" + entry; }

/// `rule 'embed' (base.yml:606)`
std::string ruleText(const RuleSetup& setup, int rule)
{
    const LogicalRule& r = setup.rules[static_cast<std::size_t>(rule)];
    return "the rule '" + r.name + "'" + (r.place.empty() ? "" : " (" + r.place + ")");
}

/// Resolves lists of names, each distinct one once; complaints are told once for each list.
class WeightResolver {
public:
    WeightResolver(const std::string& file, const RuleSetup& setup, const Mesh& mesh, std::vector<std::string>& warnings)
        : m_file(file)
        , m_setup(setup)
        , m_mesh(mesh)
        , m_warnings(warnings)
    {
    }

    Result<DumpSpec> specOf(const LogicalEntry& entry)
    {
        auto known = m_resolved.find(entry.names);
        if (known == m_resolved.end()) {
            auto resolution = fresh(entry);
            if (!resolution.ok())
                return resolution.error();
            known = m_resolved.emplace(entry.names, std::move(resolution).value()).first;
        }
        DumpSpec spec = known->second.spec;
        if (m_setup.optimizerOverData && entry.name.starts_with(".opt_state"))
            cutOverData(entry, spec);
        checkDivisible(entry, known->second);
        return spec;
    }

    void finish()
    {
        constexpr std::size_t kMostTold = 8;
        for (std::size_t i = 0; i < std::min(m_indivisible.size(), kMostTold); ++i)
            m_warnings.push_back(m_indivisible[i]);
        if (m_indivisible.size() > kMostTold)
            m_warnings.push_back(std::to_string(m_indivisible.size() - kMostTold) + " more dims are not divided by their axes");
    }

private:
    Result<Resolution> fresh(const LogicalEntry& entry)
    {
        const std::string place = placeOf(m_file, entry.name);
        auto resolution = resolveNames(entry.names, m_setup.rules, place);
        if (!resolution.ok())
            return resolution.error();
        for (std::size_t dim = 0; dim < entry.names.size(); ++dim) {
            auto& axes = resolution.value().spec[dim];
            const int rule = resolution.value().decidedBy[dim];
            for (std::size_t i = 0; i < axes.size(); ++i)
                if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) - axes.begin()
                    != static_cast<std::ptrdiff_t>(i))
                    return inputError(place,
                                      ruleText(m_setup, rule) + " cuts dim " + std::to_string(dim) + " over " + axes[i] + " twice",
                                      "name each mesh axis once in a rule");
            for (const std::string& axis : axes)
                if (m_mesh.find(axis) < 0)
                    return inputError(m_setup.rules[static_cast<std::size_t>(rule)].place,
                                      "the rule '" + m_setup.rules[static_cast<std::size_t>(rule)].name + "' cuts dim "
                                          + std::to_string(dim) + " of " + entry.name + " over '" + axis
                                          + "', which the mesh lacks",
                                      "its axes are " + m_mesh.text());
        }
        return resolution;
    }

    /// ZeRO-1: `data` goes in front of the axes of the first dim that it divides.
    void cutOverData(const LogicalEntry& entry, DumpSpec& spec) const
    {
        const bool cutAlready = std::ranges::any_of(spec, [](const auto& axes) { return contains(axes, "data"); });
        if (cutAlready || !entry.shape || m_mesh.find("data") < 0)
            return;
        for (std::size_t dim = 0; dim < spec.size(); ++dim) {
            auto& axes = spec[dim];
            if (contains(axes, "tensor") || (*entry.shape)[dim] / parts(axes, m_mesh) % sizeOfAxis(m_mesh, "data") != 0)
                continue;
            axes.insert(axes.begin(), "data");
            return;
        }
    }

    void checkDivisible(const LogicalEntry& entry, const Resolution& resolution)
    {
        if (!entry.shape || entry.name.starts_with(".opt_state")) // the moments repeat the weights
            return;
        const DumpSpec& spec = resolution.spec;
        for (std::size_t dim = 0; dim < std::min(spec.size(), entry.shape->size()); ++dim)
            if (const auto count = parts(spec[dim], m_mesh); (*entry.shape)[dim] % count != 0)
                m_indivisible.push_back(entry.name + ": dim " + std::to_string(dim) + " (" + entry.names[dim] + ") of size "
                                        + std::to_string((*entry.shape)[dim]) + " is not divided by the " + std::to_string(count)
                                        + " parts of " + joined(withoutUselessAxes({ spec[dim] }, m_mesh).front(), " x ") + " by "
                                        + ruleText(m_setup, resolution.decidedBy[dim]) + "; JAX refuses that for a weight");
    }

    const std::string& m_file;
    const RuleSetup& m_setup;
    const Mesh& m_mesh;
    std::vector<std::string>& m_warnings;
    std::map<std::vector<std::string>, Resolution> m_resolved;
    std::vector<std::string> m_indivisible;
};

} // namespace

Result<NamedDump> resolveWeights(const LogicalDump& logical, const RuleSetup& setup, const Mesh& mesh,
                                 std::vector<std::string>& warnings)
{
    WeightResolver resolver(logical.file, setup, mesh, warnings);
    NamedDump out { mesh, {} };
    out.entries.reserve(logical.entries.size());
    for (const LogicalEntry& entry : logical.entries) {
        auto spec = resolver.specOf(entry);
        if (!spec.ok())
            return spec.error();
        out.entries.push_back({ entry.name, std::move(spec).value(), entry.shape });
    }
    resolver.finish();
    return out;
}

Result<ActivationDump> resolveActivations(const ActivationDump& dump, const RuleSetup& setup, const Mesh& mesh)
{
    ActivationDump out = dump;
    for (ActivationEntry& entry : out.entries) {
        if (!entry.names)
            continue;
        auto resolution = resolveNames(*entry.names, setup.rules, placeOf(dump.file, entry.name));
        if (!resolution.ok())
            return resolution.error();
        entry.spec = withoutUselessAxes(std::move(resolution.value().spec), mesh);
    }
    return out;
}

Result<DumpSpec> resolveInput(const RuleSetup& setup, const Mesh& mesh)
{
    std::vector<std::string> names = setup.inputNames;
    if (sizeOfAxis(mesh, "diloco") > 1)
        names.insert(names.begin(), "diloco");
    auto resolution = resolveNames(names, setup.rules, "input_data_sharding_logical_axes");
    if (!resolution.ok())
        return resolution.error();
    return withoutUselessAxes(std::move(resolution.value().spec), mesh);
}

std::vector<std::int64_t> localShape(const std::vector<std::int64_t>& shape, const DumpSpec& spec, const Mesh& mesh)
{
    std::vector<std::int64_t> out = shape;
    for (std::size_t dim = 0; dim < std::min(shape.size(), spec.size()); ++dim) {
        const std::int64_t count = parts(spec[dim], mesh);
        out[dim] = shape[dim] / count + (shape[dim] % count != 0 ? 1 : 0);
    }
    return out;
}

std::int64_t replicationOf(const DumpSpec& spec, const Mesh& mesh)
{
    std::int64_t used = 1;
    for (const auto& axes : spec)
        used = checkedMultiply(used, parts(axes, mesh)).value_or(kTooMany);
    return std::max<std::int64_t>(1, mesh.deviceCount() / used);
}

} // namespace shardboard
