// SPDX-License-Identifier: Apache-2.0
// From parallelism options to the sizes of the mesh axes.
#include "model/core/checked.h"
#include "model/rules/rulesetup.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

namespace {

constexpr std::int64_t kMostDevices = std::int64_t { 1 } << 30; // Mesh has a smaller limit; this one keeps products in range

std::string upper(std::string_view kind) { return kind == "ici" ? "ICI" : "DCN"; }

/// `ici_fsdp_parallelism 4 x ici_expert_parallelism 2`, without those that are 1.
std::string productText(const RuleSetup& setup, std::string_view kind)
{
    std::vector<std::string> parts;
    for (const std::string& axis : setup.meshAxes)
        if (const auto value = parallelism(setup, kind, axis); value != 1)
            parts.push_back(parallelismOption(kind, axis) + " " + std::to_string(value));
    return parts.empty() ? "all " + std::string(kind) + " options of these mesh axes are 1" : joined(parts, " x ");
}

/// One size per mesh axis, with the -1 filled so that the product is the target.
Result<std::vector<std::int64_t>> filled(const RuleSetup& setup, std::string_view kind, std::int64_t target)
{
    const std::string what = kind == "ici" ? "devices per slice" : "slices";
    std::vector<std::int64_t> values;
    std::int64_t product = 1;
    int open = -1;
    for (const std::string& axis : setup.meshAxes) {
        const std::int64_t value = parallelism(setup, kind, axis);
        const std::string option = parallelismOption(kind, axis);
        if (value == -1 && open >= 0)
            return inputError(setup.name,
                              "more than one " + upper(kind) + " option is -1: "
                                  + parallelismOption(kind, setup.meshAxes[static_cast<std::size_t>(open)]) + " and " + option,
                              "at most one mesh axis can be left to be filled");
        if (value < 1 && value != -1)
            return inputError(setup.name, option + " is " + std::to_string(value), "use a number of at least 1, or -1 to fill");
        if (value == -1)
            open = static_cast<int>(values.size());
        values.push_back(value);
        const auto next = checkedMultiply(product, value == -1 ? 1 : value);
        if (!next || *next > kMostDevices)
            return inputError(setup.name, "the product of the " + upper(kind) + " options is too large at " + option,
                              "use smaller sizes");
        product = *next;
    }
    if (open >= 0) {
        const std::string option = parallelismOption(kind, setup.meshAxes[static_cast<std::size_t>(open)]);
        if (target % product != 0)
            return inputError(setup.name,
                              option + " is -1 and cannot be filled: " + std::to_string(target) + " " + what
                                  + " are not a multiple of " + std::to_string(product) + ", the product of the others",
                              "change " + productText(setup, kind));
        values[static_cast<std::size_t>(open)] = target / product;
        product = target;
    }
    if (product != target)
        return inputError(setup.name,
                          "the number of " + what + ", " + std::to_string(target) + ", does not match the product of the "
                              + upper(kind) + " parallelism, " + std::to_string(product),
                          productText(setup, kind) + "; set one of them, or set it to -1");
    return values;
}

Status checkOneSlice(const RuleSetup& setup)
{
    for (const auto& [option, value] : setup.options)
        if (option.starts_with("dcn_") && value != 1 && value != -1)
            return inputError(setup.name, option + " is " + std::to_string(value) + " but there is only one slice",
                              "give the number of slices, or leave the dcn options out");
    return done();
}

} // namespace

std::string parallelismOption(std::string_view kind, const std::string& axis)
{
    const std::string word = axis == "stage" ? "pipeline" : axis == "model" ? "tensor" : axis;
    return std::string(kind) + "_" + word + "_parallelism";
}

std::int64_t defaultParallelism(const std::string& option)
{
    return option == "ici_fsdp_parallelism" || option == "dcn_data_parallelism" ? -1 : 1;
}

std::int64_t parallelism(const RuleSetup& setup, std::string_view kind, const std::string& axis)
{
    const std::string option = parallelismOption(kind, axis);
    const auto found = setup.options.find(option);
    return found == setup.options.end() ? defaultParallelism(option) : found->second;
}

Result<Mesh> meshOf(const RuleSetup& setup, std::int64_t devicesPerSlice, std::int64_t slices)
{
    if (devicesPerSlice < 1 || slices < 1)
        return inputError(setup.name, "a mesh needs at least one device and one slice", "give numbers of at least 1");
    auto sizes = filled(setup, "ici", devicesPerSlice);
    if (!sizes.ok())
        return sizes.error();
    if (slices == 1) {
        if (auto status = checkOneSlice(setup); !status.ok())
            return status.error();
    } else {
        const auto dcn = filled(setup, "dcn", slices);
        if (!dcn.ok())
            return dcn.error();
        for (std::size_t i = 0; i < dcn.value().size(); ++i)
            sizes.value()[i] *= dcn.value()[i]; // each at most 2^30; Mesh refuses what is too large
    }
    std::vector<MeshAxis> axes;
    for (std::size_t i = 0; i < setup.meshAxes.size(); ++i)
        axes.push_back({ setup.meshAxes[i], sizes.value()[i] });
    return Mesh::make(std::move(axes), {}, setup.name);
}

Result<std::int64_t> devicesPerSlice(const std::string& topology, const std::string& where)
{
    const std::string form = "use tpu7x-N, v6e-N, v5e-N, v5p-N, v4-N or a3, or give the number of devices per slice";
    if (topology == "a3")
        return std::int64_t { 8 };
    const auto dash = topology.rfind('-');
    const std::string family = topology.substr(0, dash);
    const bool cores = family == "v4" || family == "v5p"; // their names count cores, two to a chip that is one device
    if (dash == std::string::npos || (!cores && family != "tpu7x" && family != "v6e" && family != "v5e"))
        return inputError(where, "there is no accelerator '" + topology + "'", form);
    const auto count = parseInteger(std::string_view(topology).substr(dash + 1));
    if (!count || *count < 1 || *count > kMaxDevices || (cores && *count % 2 != 0))
        return inputError(where, "'" + topology + "' is not a size of a " + family, form);
    return cores ? *count / 2 : *count;
}

} // namespace shardboard
