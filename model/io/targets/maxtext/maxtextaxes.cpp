// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/maxtext/maxtextaxes.h"

#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace shardboard {

namespace {

/// Axes whose sizes are options of their own, in the order in which they are given to axes of unknown names.
constexpr std::array<std::string_view, 12> kNames { "data",
                                                    "fsdp",
                                                    "tensor",
                                                    "expert",
                                                    "context",
                                                    "fsdp_transpose",
                                                    "tensor_sequence",
                                                    "sequence",
                                                    "autoregressive",
                                                    "context_autoregressive",
                                                    "context_usp_ulysses",
                                                    "stage" };

constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kMeant { {
    { "dp", "data" },
    { "replica", "data" },
    { "pod", "data" },
    { "batch", "data" },
    { "sdp", "fsdp" },
    { "zero", "fsdp" },
    { "shard", "fsdp" },
    { "tp", "tensor" },
    { "model", "tensor" },
    { "mp", "tensor" },
    { "ep", "expert" },
    { "experts", "expert" },
    { "cp", "context" },
    { "seq", "context" },
    { "sp", "tensor_sequence" },
    { "pp", "stage" },
    { "pipe", "stage" },
} };

std::string meantName(const std::string& axis)
{
    const std::string name = lowered(axis);
    if (std::ranges::find(kNames, name) != kNames.end())
        return name;
    const auto found = std::ranges::find(kMeant, std::string_view(name), [](const auto& entry) { return entry.first; });
    return found == kMeant.end() ? std::string() : std::string(found->second);
}

} // namespace

Result<Mesh> maxtextMesh(const Mesh& mesh)
{
    std::vector<std::string> names(mesh.axes().size());
    const auto give = [&](std::size_t axis, const std::string& name) {
        if (names[axis].empty() && !name.empty() && !contains(names, name))
            names[axis] = name;
    };
    for (std::size_t i = 0; i < names.size(); ++i)
        if (meantName(mesh.axes()[i].name) == mesh.axes()[i].name)
            give(i, mesh.axes()[i].name);
    for (std::size_t i = 0; i < names.size(); ++i)
        give(i, meantName(mesh.axes()[i].name));
    for (std::size_t i = 0; i < names.size(); ++i)
        for (const std::string_view name : kNames)
            give(i, std::string(name));
    std::vector<MeshAxis> axes;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].empty())
            return inputError("mesh",
                              "has " + std::to_string(names.size()) + " axes, and MaxText has options for the sizes of "
                                  + std::to_string(kNames.size()),
                              "leave out axes of size 1, or make one of some");
        axes.push_back({ names[i], mesh.axes()[i].size });
    }
    return Mesh::make(std::move(axes));
}

} // namespace shardboard
