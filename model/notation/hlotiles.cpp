// SPDX-License-Identifier: Apache-2.0
// The grammar of a tile assignment.
#include "model/notation/hlotiles.h"

#include "model/core/checked.h"
#include "model/text/contains.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

struct GroupName {
    const char* name;
    HloGroup group;
};
constexpr std::array kGroupNames { GroupName { "replicated", HloGroup::Replicated }, GroupName { "manual", HloGroup::Manual },
                                   GroupName { "unreduced", HloGroup::Unreduced }, GroupName { "unknown", HloGroup::Unknown },
                                   GroupName { "maximal", HloGroup::Maximal } };

Result<HloGroup> groupOf(Scanner& scanner)
{
    for (const GroupName& candidate : kGroupNames)
        if (scanner.takeWord(candidate.name))
            return candidate.group;
    return scanner.fail("a kind of device group is missing (replicated, manual, unreduced)");
}

Result<std::vector<HloGroup>> groupsOf(Scanner& scanner)
{
    std::vector<HloGroup> groups;
    if (scanner.takeWord("last_tile_dim_replicate"))
        return std::vector { HloGroup::Replicated };
    if (!scanner.takeWord("last_tile_dims"))
        return groups;
    if (!scanner.take("=") || !scanner.take("{"))
        return scanner.fail("last_tile_dims wants ={kinds}");
    do {
        const auto group = groupOf(scanner);
        if (!group.ok())
            return group.error();
        if (contains(groups, group.value()))
            return scanner.fail("a kind of device group appears twice");
        groups.push_back(group.value());
    } while (scanner.take(","));
    if (!scanner.take("}"))
        return scanner.fail("a comma or } is missing in last_tile_dims");
    return groups;
}

std::string devicesText(std::int64_t count) { return std::to_string(count) + (count == 1 ? " device" : " devices"); }

/// The numbers must multiply to the number of devices, which also keeps what follows small.
Status checkProduct(Scanner& scanner, const std::vector<std::int64_t>& sizes, std::int64_t devices)
{
    const bool positive = std::ranges::all_of(sizes, [](std::int64_t size) { return size > 0; });
    const auto product = checkedProduct(sizes);
    if (!positive)
        return scanner.fail("a size in the brackets is not at least 1");
    if (!product || *product != devices)
        return scanner.fail("the brackets are for " + (product ? devicesText(*product) : std::string("far too many devices"))
                            + ", but the mesh has " + std::to_string(devices));
    return done();
}

} // namespace

Result<std::vector<std::int64_t>> parseIntegers(Scanner& scanner, std::string_view close)
{
    std::vector<std::int64_t> numbers;
    do {
        const auto number = scanner.integer();
        if (!number)
            return scanner.fail("a number is missing or too large");
        numbers.push_back(*number);
    } while (scanner.take(","));
    if (!scanner.take(close))
        return scanner.fail("a comma or " + std::string(close) + " is missing");
    return numbers;
}

Result<std::vector<std::int64_t>> parseIota(Scanner& scanner, std::int64_t devices)
{
    if (!scanner.take("["))
        return scanner.fail("a [ is missing");
    auto reshape = parseIntegers(scanner, "]");
    if (!reshape.ok())
        return reshape.error();
    if (auto status = checkProduct(scanner, reshape.value(), devices); !status.ok())
        return status.error();
    Iota iota { std::move(reshape).value(), {} };
    for (std::size_t i = 0; i < iota.reshape.size(); ++i)
        iota.perm.push_back(i);
    if (scanner.take("T")) {
        if (!scanner.take("("))
            return scanner.fail("a ( is missing after T");
        const auto perm = parseIntegers(scanner, ")");
        if (!perm.ok())
            return perm.error();
        auto sorted = perm.value();
        std::ranges::sort(sorted);
        bool permutes = sorted.size() == iota.reshape.size();
        for (std::size_t i = 0; permutes && i < sorted.size(); ++i)
            permutes = sorted[i] == static_cast<std::int64_t>(i);
        if (!permutes)
            return scanner.fail("T(…) does not list each of the " + std::to_string(iota.reshape.size()) + " dims once");
        std::ranges::transform(perm.value(), iota.perm.begin(),
                               [](std::int64_t source) { return static_cast<std::size_t>(source); });
    }
    return expandDigits(digitsOf(canonicalIota(iota)));
}

Result<HloTiles> parseHloTiles(Scanner& scanner, std::int64_t devices)
{
    HloTiles tiles;
    if (!scanner.takeWord("devices") || !scanner.take("=") || !scanner.take("["))
        return scanner.fail("devices=[…] is missing");
    auto dims = parseIntegers(scanner, "]");
    if (!dims.ok())
        return dims.error();
    tiles.dims = std::move(dims).value();
    if (auto status = checkProduct(scanner, tiles.dims, devices); !status.ok())
        return status.error();
    if (scanner.take("<=")) {
        auto ids = parseIota(scanner, devices);
        if (!ids.ok())
            return ids.error();
        tiles.ids = std::move(ids).value();
    } else {
        do {
            const auto id = scanner.integer();
            if (!id)
                return scanner.fail("a device id is missing");
            tiles.ids.push_back(*id);
        } while (scanner.take(","));
        if (static_cast<std::int64_t>(tiles.ids.size()) != devices)
            return scanner.fail("there are " + std::to_string(tiles.ids.size()) + " device ids for " + devicesText(devices));
    }
    auto groups = groupsOf(scanner);
    if (!groups.ok())
        return groups.error();
    tiles.groups = std::move(groups).value();
    return tiles;
}

} // namespace shardboard
