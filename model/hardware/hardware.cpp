// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/hardware.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace shardboard {

namespace {

constexpr std::array<const char*, 5> kFabrics { "switch", "fat-tree", "torus", "dcn", "shared-memory" };
constexpr std::array<const char*, 2> kLibraries { "nccl", "any" };

template <class Enum, std::size_t Count>
std::optional<Enum> named(const std::array<const char*, Count>& names, std::string_view name)
{
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? std::nullopt : std::optional(static_cast<Enum>(found - names.begin()));
}

const LinkSpec& noLink()
{
    static const LinkSpec link;
    return link;
}

} // namespace

std::string fabricName(Fabric fabric) { return kFabrics[static_cast<std::size_t>(fabric)]; }
std::optional<Fabric> fabricFromName(std::string_view name) { return named<Fabric>(kFabrics, name); }
std::string libraryName(CollectiveLibrary library) { return kLibraries[static_cast<std::size_t>(library)]; }
std::optional<CollectiveLibrary> libraryFromName(std::string_view name) { return named<CollectiveLibrary>(kLibraries, name); }

std::int64_t Hardware::devicesPerNode() const
{
    if (levels.empty())
        return 1;
    return levels.front().size > 0 ? levels.front().size : std::numeric_limits<std::int64_t>::max();
}

const LinkSpec& Hardware::innerLink() const { return levels.empty() ? noLink() : levels.front().link; }
const LinkSpec& Hardware::outerLink() const { return levels.empty() ? noLink() : levels.back().link; }

Hardware twoLevelHardware(std::int64_t perNode, LinkSpec inner, LinkSpec outer)
{
    Hardware out;
    Level node;
    node.size = perNode;
    node.link = std::move(inner);
    Level network;
    network.fabric = Fabric::FatTree;
    network.link = std::move(outer);
    out.levels = { std::move(node), std::move(network) };
    return out;
}

Result<Hardware> findHardware(const std::string& id, const std::string& where)
{
    static const std::pair<const char*, const char*> kEarlier[] { { "tpu-v5p", "tpu-v5p-4x4x4" }, { "cpu", "cpu-virtual" } };
    std::string wanted = id;
    for (const auto& [before, now] : kEarlier)
        if (id == before)
            wanted = now;
    std::string known;
    for (const Hardware& preset : hardwarePresets()) {
        if (preset.id == wanted)
            return preset;
        known += (known.empty() ? "" : ", ") + preset.id;
    }
    // An option of a command is wrong usage; the same word in a file is input that cannot be used.
    const std::string what = "there is no hardware preset '" + id + "'";
    return where.starts_with("--") ? usageError(where, what, "known are " + known) : inputError(where, what, "known are " + known);
}

} // namespace shardboard
