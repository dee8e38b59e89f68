// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/axishues.h"

#include "widgets/look/hues.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace shardboard {

namespace {

// Those that often stand side by side are far apart, for the colour-blind as well.
constexpr std::array<unsigned, kHueCount> kAxisHues { 0xE69F00, 0x56B4E9, 0x009E73, 0xCC79A7, 0xD55E00, 0x0072B2, 0xF0E442 };

constexpr std::array<std::pair<std::string_view, int>, 30> kKnown { {
    { "data", 0 },    { "dp", 0 },       { "batch", 0 },    { "replica", 0 },  { "replicas", 0 }, //
    { "model", 1 },   { "tensor", 1 },   { "tp", 1 },       { "mp", 1 },       { "mlp", 1 }, //
    { "fsdp", 2 },    { "zero", 2 },     { "shard", 2 },    { "dp_shard", 2 }, //
    { "pipe", 3 },    { "pipeline", 3 }, { "stage", 3 },    { "pp", 3 }, //
    { "expert", 4 },  { "experts", 4 },  { "ep", 4 }, //
    { "pod", 5 },     { "slice", 5 },    { "dcn", 5 },      { "node", 5 }, //
    { "context", 6 }, { "seq", 6 },      { "sequence", 6 }, { "cp", 6 },       { "sp", 6 }, //
} };

std::string lower(const std::string& name)
{
    std::string out = name;
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

/// -1: a name that nobody knows.
int knownHue(const std::string& name)
{
    const auto* found = std::find_if(kKnown.begin(), kKnown.end(), [&](const auto& known) { return known.first == name; });
    return found == kKnown.end() ? -1 : found->second;
}

/// FNV-1a, which is the same everywhere and always.
int hueByLetters(const std::string& name)
{
    unsigned hash = 2166136261u;
    for (const char c : name)
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return static_cast<int>(hash % static_cast<unsigned>(kHueCount));
}

} // namespace

AxisHues::AxisHues(const Mesh& mesh)
    : AxisHues(mesh.axes())
{
}

AxisHues::AxisHues(const std::vector<MeshAxis>& axes)
    : m_hues(axes.size())
{
    std::vector<std::string> names;
    for (const MeshAxis& axis : axes)
        names.push_back(lower(axis.name));
    std::vector<std::size_t> order(axes.size());
    std::iota(order.begin(), order.end(), std::size_t { 0 });
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const auto rank = [&](std::size_t i) { return std::make_tuple(knownHue(names[i]) < 0, names[i], axes[i].name); };
        return rank(a) < rank(b);
    });
    std::array<bool, kHueCount> taken {};
    for (const std::size_t i : order) {
        const int known = knownHue(names[i]);
        const int wanted = known >= 0 ? known : hueByLetters(names[i]);
        int hue = wanted;
        for (int step = 0; step < kHueCount && taken[static_cast<std::size_t>(hue)]; ++step)
            hue = (wanted + step + 1) % kHueCount;
        m_hues[i] = hue; // more axes than hues: the one that it wants, shared
        taken[static_cast<std::size_t>(hue)] = true;
    }
}

int AxisHues::hueOf(int axis) const
{
    return axis >= 0 && static_cast<std::size_t>(axis) < m_hues.size() ? m_hues[static_cast<std::size_t>(axis)] : 0;
}

QColor AxisHues::colorOf(int axis) const { return hueColor(hueOf(axis)); }

QColor plainHue(int hue) { return QColor(QRgb(kAxisHues[static_cast<std::size_t>(std::max(hue, 0) % kHueCount)] | 0xff000000u)); }

QColor hueColor(int hue)
{
    if (partStyle() != PartStyle::Patterns)
        return plainHue(hue);
    // Axes lie on light and on dark backgrounds: greys between, told apart by their names.
    constexpr std::array<unsigned, kHueCount> greys { 0x8A8A8A, 0x6A6A6A, 0x9C9C9C, 0x767676, 0xA8A8A8, 0x5E5E5E, 0x808080 };
    return QColor(QRgb(greys[static_cast<std::size_t>(std::max(hue, 0) % kHueCount)] | 0xff000000u));
}

QColor axisColor(const Mesh& mesh, int axis) { return AxisHues(mesh).colorOf(axis); }

} // namespace shardboard
