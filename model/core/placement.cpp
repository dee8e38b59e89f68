// SPDX-License-Identifier: Apache-2.0
#include "model/core/placement.h"

#include "model/text/text.h"

#include <array>

namespace shardboard {

namespace {

constexpr std::array<const char*, 4> kPartialCodes { "P", "Pavg", "Pmin", "Pmax" }; // in the order of PartialReduce
constexpr std::int64_t kMostDims = 1000;

} // namespace

std::string Placement::code() const
{
    switch (kind) {
    case Kind::Replicated:
        return "R";
    case Kind::Sharded:
        return "S" + std::to_string(dim);
    case Kind::Partial:
        return kPartialCodes[static_cast<std::size_t>(reduce)];
    case Kind::Unknown:
        return "U";
    }
    return {};
}

std::optional<Placement> Placement::parse(std::string_view code)
{
    if (code == "R")
        return replicatedPlacement();
    if (code == "U")
        return unknownPlacement();
    for (std::size_t i = 0; i < kPartialCodes.size(); ++i)
        if (code == kPartialCodes[i])
            return partialPlacement(static_cast<PartialReduce>(i));
    if (code.size() < 2 || code[0] != 'S' || code[1] < '0' || code[1] > '9')
        return std::nullopt;
    const auto dim = parseInteger(code.substr(1));
    if (!dim || *dim > kMostDims)
        return std::nullopt;
    return shardedPlacement(static_cast<int>(*dim));
}

} // namespace shardboard
