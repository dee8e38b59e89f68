// SPDX-License-Identifier: Apache-2.0
#include "model/ops/precision.h"

#include "model/ops/workload.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <vector>

namespace shardboard {

namespace {

constexpr std::array kWide { DType::BF16, DType::F16, DType::F32 };
constexpr std::array kStored { DType::BF16, DType::F16, DType::F32, DType::F8E4M3, DType::F8E5M2 };
constexpr std::array kCached { DType::BF16, DType::F16, DType::F32, DType::F8E4M3, DType::F8E5M2, DType::I8 };
constexpr std::array kMoments { DType::F32, DType::BF16, DType::F16, DType::F8E4M3, DType::U8 }; // 8-bit Adam: arXiv 2110.02861

} // namespace

std::span<const PrecisionMember> precisionMembers()
{
    static constexpr std::array kMembers {
        PrecisionMember { "weights", "weights", &Precision::weights, kStored, false },
        PrecisionMember { "activations", "activations", &Precision::activations, kWide, false },
        PrecisionMember { "cache", "KV cache", &Precision::cache, kCached, false },
        PrecisionMember { "gradients", "gradients", &Precision::gradients, kWide, true },
        PrecisionMember { "optimizer", "optimizer states", &Precision::optimizer, kMoments, true },
        PrecisionMember { "master", "optimizer's copy of the weights", &Precision::master, kWide, true },
        PrecisionMember { "reductions", "gradient reductions", &Precision::reductions, kWide, true },
    };
    return kMembers;
}

std::string typeList(const PrecisionMember& member)
{
    std::vector<std::string> names;
    for (const DType type : member.types)
        names.push_back(dtypeName(type));
    return joined(names, ", ");
}

Status readPrecision(std::string_view text, Precision& precision, const std::string& where)
{
    std::vector<std::string> named;
    for (const std::string_view part : split(text, ',')) {
        const auto equals = part.find('=');
        const std::string_view key = part.substr(0, equals);
        const auto members = precisionMembers();
        const auto member = std::ranges::find_if(members, [&](const PrecisionMember& m) { return key == m.key; });
        if (member == members.end() || equals == std::string_view::npos) {
            std::vector<std::string> keys;
            for (const PrecisionMember& m : members)
                keys.emplace_back(m.key);
            return usageError(where, "'" + std::string(part) + "' does not say what is held in what",
                              "use KIND=TYPE with " + joined(keys, ", "));
        }
        const auto type = dtypeFromName(part.substr(equals + 1));
        if (!type)
            return usageError(where, "there is no dtype '" + std::string(part.substr(equals + 1)) + "'",
                              "use " + typeList(*member));
        if (std::ranges::count(named, member->key) > 0)
            return usageError(where, std::string(member->key) + " is said twice", "say it once");
        named.emplace_back(member->key);
        precision.*(member->type) = *type;
    }
    return done();
}

std::string precisionText(const Precision& precision)
{
    std::vector<std::string> parts;
    for (const PrecisionMember& member : precisionMembers())
        if (const auto& type = precision.*(member.type))
            parts.push_back(std::string(member.key) + "=" + dtypeName(*type));
    return joined(parts, ",");
}

Status verifyPrecision(const Precision& precision, const std::string& where)
{
    for (const PrecisionMember& member : precisionMembers())
        if (const auto& type = precision.*(member.type); type && std::ranges::find(member.types, *type) == member.types.end())
            return inputError(where, std::string(member.name) + " cannot be held in " + dtypeName(*type),
                              "use " + typeList(member));
    return done();
}

HeldTypes heldTypes(const Workload& workload, const Precision& usual)
{
    const Precision& own = workload.precision;
    const DType stored = storageType(workload);
    const auto chosen = [&](std::optional<DType> Precision::*member, DType otherwise) {
        return (own.*member).value_or((usual.*member).value_or(otherwise));
    };
    HeldTypes out;
    out.weights = chosen(&Precision::weights, stored);
    out.gradients = chosen(&Precision::gradients, effective(workload).microBatches > 1 ? DType::F32 : stored);
    out.optimizer = chosen(&Precision::optimizer, DType::F32);
    out.master = chosen(&Precision::master, DType::F32);
    out.reductions = chosen(&Precision::reductions, stored);
    out.gathered = bitsOf(out.weights) < bitsOf(stored) ? out.weights : stored;
    return out;
}

} // namespace shardboard
