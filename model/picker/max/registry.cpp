// SPDX-License-Identifier: Apache-2.0
#include "model/picker/max/registry.h"

#include "model/ops/shardingrule.h"

#include <algorithm>
#include <map>

namespace shardboard {

namespace {

/// A family whose texts have been read.
struct ReadFamily {
    ShardingRule rule;
    std::vector<Expression> checks;
    std::vector<Expression> extents; ///< of the attributes
    std::string problem;
};

ReadFamily readFamily(const OpFamily& family)
{
    ReadFamily out;
    const auto value = [&](auto read) {
        if (!read.ok() && out.problem.empty())
            out.problem = std::string(family.name) + ": " + read.error().text();
        return read.ok() ? std::move(read).value() : decltype(std::move(read).value()) {};
    };
    for (const AttributeSpec& spec : family.attributes)
        out.extents.push_back(value(Expression::parse(spec.extent, { family.attributes, {} })));
    for (const CheckText& check : family.checks)
        out.checks.push_back(value(Expression::parse(check.holds, { family.attributes, {} })));
    if (*family.rule != '\0') // else its rows are code
        out.rule = value(ShardingRule::parse(family.rule, {}, family.attributes, family.reasons.size()));
    return out;
}

const ReadFamily& readOf(const OpFamily& family)
{
    static const std::map<const OpFamily*, ReadFamily> all = [] {
        std::map<const OpFamily*, ReadFamily> out;
        for (const OpFamily* each : allFamilies())
            out.emplace(each, readFamily(*each));
        return out;
    }();
    return all.at(&family);
}

bool ofWholeNumbers(DType type)
{
    constexpr DType kWhole[] = { DType::U8, DType::I8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64 };
    return std::ranges::find(kWhole, type) != std::end(kWhole);
}

/// Counts a dim from the front, or tells that there is none.
std::optional<Refusal> normalise(std::int64_t& dim, std::int64_t extent, const char* name)
{
    if (dim < -extent || dim >= extent) {
        const std::string key = std::string("attrs.") + name;
        if (extent == 0)
            return Refusal { UpstreamError::ValueError, key, "there is no dim " + std::to_string(dim) + ": the tensor has none",
                             "leave it out, or give a tensor with dims" };
        return Refusal { UpstreamError::ValueError, key, "there is no dim " + std::to_string(dim),
                         "use " + std::to_string(-extent) + " to " + std::to_string(extent - 1) };
    }
    if (dim < 0)
        dim += extent;
    return std::nullopt;
}

} // namespace

const std::vector<const OpFamily*>& allFamilies()
{
    static const std::vector<const OpFamily*> all = [] {
        std::vector<const OpFamily*> out;
        for (const auto table :
             { contractionFamilies(), convolutionFamilies(), elementwiseFamilies(), normFamilies(), reductionFamilies(),
               shapeFamilies(), joinFamilies(), indexFamilies(), reshapeFamilies(), poolFamilies(), miscellaneousFamilies() })
            for (const OpFamily& family : table)
                out.push_back(&family);
        return out;
    }();
    return all;
}

const OpFamily* findFamily(std::string_view name)
{
    static const std::map<std::string_view, const OpFamily*> byName = [] {
        std::map<std::string_view, const OpFamily*> out;
        for (const OpFamily* family : allFamilies())
            out.emplace(family->name, family);
        for (const OpFamily* family : allFamilies())
            for (const char* alias : family->aliases)
                out.emplace(alias, family);
        return out;
    }();
    const auto found = byName.find(name);
    return found == byName.end() ? nullptr : found->second;
}

std::string registryProblem()
{
    for (const OpFamily* family : allFamilies())
        if (const std::string& problem = readOf(*family).problem; !problem.empty())
            return problem;
    return {};
}

std::variant<Menu, Refusal> expandMenu(const OpFamily& family, const std::vector<PickOperand>& operands,
                                       std::vector<AttributeValue> attributes, const Mesh& mesh, PickerProfile profile)
{
    const ReadFamily& read = readOf(family);
    attributes.resize(family.attributes.size());
    PatternScope scope { .profile = profile, .attributes = &attributes, .reasons = family.reasons };
    for (const PickOperand& operand : operands)
        scope.shapes.push_back(&operand.shape);
    for (const MeshAxis& axis : mesh.axes())
        scope.largestMeshAxis = std::max(scope.largestMeshAxis, axis.size);

    for (std::size_t i = 0; i < attributes.size(); ++i) {
        const AttributeSpec& spec = family.attributes[i];
        const bool dim = spec.kind == AttributeKind::Axis;
        if (attributes[i].none || (!dim && spec.kind != AttributeKind::Axes))
            continue;
        const std::int64_t extent = read.extents[i].value(scope);
        if (dim)
            if (const auto refusal = normalise(attributes[i].number, extent, spec.name))
                return *refusal;
        if (!dim)
            for (std::int64_t& each : attributes[i].list)
                if (const auto refusal = normalise(each, extent, spec.name))
                    return *refusal;
    }
    for (std::size_t i = 0; i < family.checks.size(); ++i) {
        const CheckText& check = family.checks[i];
        if (read.checks[i].value(scope) == 0)
            return Refusal { check.error, check.key, check.reason, check.fix };
    }

    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (ofWholeNumbers(operands[i].dtype))
            scope.integral |= std::uint32_t { 1 } << i;
        if (!isReleased(profile))
            continue;
        scope.cut.push_back(0);
        for (const Placement& placement : operands[i].placements)
            if (placement.sharded())
                scope.cut.back() |= std::uint64_t { 1 } << placement.dim;
    }

    Menu menu;
    read.rule.expand(scope, menu.rows);
    if (family.code)
        if (const auto refusal = family.code({ profile, operands, attributes, mesh }, menu))
            return *refusal;
    return menu;
}

} // namespace shardboard
