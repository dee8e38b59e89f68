// SPDX-License-Identifier: Apache-2.0
#include "model/design/presets/presetparts.h"

#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

namespace shardboard {

namespace {

const std::vector<PresetFacts> kFacts {
    { .name = "megatron-tp",
      .what = "tensor parallel: heads, MLP width and vocabulary cut; the residual stream whole",
      .tensor = Wish::Needs },
    { .name = "tp-sp",
      .what = "tensor and sequence parallel: between the cut parts the sequence is cut instead",
      .tensor = Wish::Needs,
      .sequence = true },
    { .name = "fsdp", .what = "fully sharded data parallel: weights are gathered where they are used", .fsdp = Wish::Needs },
    { .name = "hsdp", .what = "fully sharded inside groups, with replicas of the groups", .fsdp = Wish::Needs, .replicas = true },
    { .name = "tp+fsdp",
      .what = "tensor parallel, with the weights' other dim fully sharded",
      .tensor = Wish::Needs,
      .fsdp = Wish::Needs },
    { .name = "tp-sp+fsdp",
      .what = "tensor and sequence parallel, with the weights' other dim fully sharded",
      .tensor = Wish::Needs,
      .sequence = true,
      .fsdp = Wish::Needs },
    { .name = "ep",
      .what = "expert parallel: every device has some experts; the rest fully sharded where there is such an axis",
      .fsdp = Wish::Uses,
      .experts = Wish::Needs },
    { .name = "ep+tp", .what = "expert and tensor parallel", .tensor = Wish::Needs, .fsdp = Wish::Uses, .experts = Wish::Needs },
    { .name = "cp-ring",
      .what = "context parallel: the sequence cut, keys and values travel around a ring",
      .tensor = Wish::Uses,
      .fsdp = Wish::Uses,
      .context = Wish::Needs,
      .form = ContextForm::Ring },
    { .name = "cp-all-gather",
      .what = "context parallel: the sequence cut, keys and values gathered",
      .tensor = Wish::Uses,
      .fsdp = Wish::Uses,
      .context = Wish::Needs,
      .form = ContextForm::AllGather },
    { .name = "cp-ulysses",
      .what = "context parallel: the sequence cut, but heads instead inside attention",
      .tensor = Wish::Uses,
      .fsdp = Wish::Uses,
      .context = Wish::Needs,
      .form = ContextForm::Ulysses },
    { .name = "pp-1f1b",
      .what = "pipeline stages, one forward one backward; the rest tensor parallel and fully sharded where there are such axes",
      .tensor = Wish::Uses,
      .fsdp = Wish::Uses,
      .chunks = 1 },
    { .name = "pp-interleaved",
      .what = "pipeline stages with two runs of layers on each, for a smaller bubble",
      .tensor = Wish::Uses,
      .fsdp = Wish::Uses,
      .chunks = 2 },
};

constexpr const char* kPipeline = "pipeline";
constexpr const char* kExperts = "expert parallel";
constexpr const char* kExpertTensor = "experts cut by tensor parallel";
constexpr const char* kContext = "context parallel";
constexpr const char* kTensor = "tensor parallel";
constexpr const char* kSharded = "sharding weights";
constexpr const char* kData = "data parallel";

const std::vector<PresetPart> kParts {
    { "pp", kPipeline, "pipeline stages, one forward one backward" },
    { "pp-interleaved", kPipeline, "pipeline stages with two runs of layers on each, for a smaller bubble" },
    { "ep", kExperts,
      "every device has some experts; with tp they are cut like the rest, with tp-sp dealt out over the tensor axes as well" },
    { "etp", kExpertTensor, "with ep and tp-sp: each expert is cut over the tensor axes" },
    { "cp-ring", kContext, "the sequence cut, keys and values travel around a ring" },
    { "cp-all-gather", kContext, "the sequence cut, keys and values gathered" },
    { "cp-ulysses", kContext, "the sequence cut, but heads instead inside attention" },
    { "tp", kTensor, "heads, MLP width and vocabulary cut; the residual stream whole" },
    { "tp-sp", kTensor, "the same, and between the cut parts the sequence is cut over the tensor axes, too" },
    { "fsdp", kSharded,
      "weights are gathered where they are used; with ep experts over fsdp axes, the rest over expert axes, too" },
    { "fsdp-cp", kSharded, "the same over fsdp and context axes together" },
    { "hsdp", kSharded, "fsdp inside groups, with replicas of the groups over data axes" },
    { "hsdp-cp", kSharded, "hsdp whose groups have the context axes, too" },
    { "dp", kData, "the batch cut over data axes, which hold the same weights" },
};

const PresetPart* partNamed(std::string_view name)
{
    const auto found = std::ranges::find_if(kParts, [&](const PresetPart& part) { return part.name == name; });
    return found == kParts.end() ? nullptr : &*found;
}

/// Presets' own names for what a part is.
std::string_view partOf(std::string_view name) { return name == "megatron-tp" ? "tp" : name == "pp-1f1b" ? "pp" : name; }

/// The name that somebody may have meant.
std::string nearName(std::string_view asked)
{
    std::vector<std::string> names { "replicate" };
    for (const PresetFacts& facts : kFacts)
        names.push_back(facts.name);
    for (const PresetPart& part : kParts)
        names.emplace_back(part.name);
    const std::string low = lowered(asked);
    std::size_t best = std::max<std::size_t>(2, asked.size() / 3) + 1;
    std::string near;
    constexpr std::size_t kHalfAName = 3; // whose letters are enough to know it
    for (const std::string& name : names) {
        const bool starts = low.size() >= kHalfAName && name.starts_with(low);
        const std::size_t distance = starts ? 1 : editDistance(low, name);
        if (distance >= best || distance >= low.size())
            continue;
        best = distance;
        near = name;
    }
    return near;
}

std::vector<std::string> partNames()
{
    std::vector<std::string> names;
    for (const PresetPart& part : kParts)
        names.emplace_back(part.name);
    return names;
}

Error unknown(std::string_view part, std::string_view name)
{
    const bool alone = part == name;
    const std::string near = nearName(part);
    std::vector<std::string> names { "replicate" };
    for (const PresetFacts& facts : kFacts)
        names.push_back(facts.name);
    const std::string all = alone ? "presets are " + joined(names) + ", and parts joined by + (" + joined(partNames()) + ")"
                                  : "parts are " + joined(partNames());
    return usageError("--preset",
                      alone ? "there is no preset '" + std::string(name) + "'"
                            : "preset " + std::string(name) + " has a part '" + std::string(part) + "', which there is not",
                      near.empty() ? all : "did you mean '" + near + "'? " + all);
}

/// The parts of a name, in their order, and what contradicts itself in it.
class Combination {
public:
    explicit Combination(std::string_view name)
        : m_name(name)
    {
    }

    Result<PresetFacts> facts()
    {
        for (const std::string_view part : split(m_name, '+'))
            if (auto status = add(part); !status.ok())
                return status.error();
        if (auto status = verify(); !status.ok())
            return status.error();
        if (has("etp") && has("tp")) // which cuts them anyhow
            std::erase_if(m_parts, [](const PresetPart* part) { return std::string_view(part->name) == "etp"; });
        std::ranges::sort(m_parts); // they lie in one array
        const std::string name = nameOfParts();
        for (const PresetFacts& own : kFacts)
            if (own.name == name || (own.name == "megatron-tp" && name == "tp"))
                return own;
        return combined(name);
    }

private:
    bool has(std::string_view name) const
    {
        return std::ranges::any_of(m_parts, [&](const PresetPart* part) { return part->name == name; });
    }
    const PresetPart* formOf(const char* group) const
    {
        const auto found =
            std::ranges::find_if(m_parts, [&](const PresetPart* part) { return std::string_view(part->group) == group; });
        return found == m_parts.end() ? nullptr : *found;
    }
    Error wrong(const std::string& what, const std::string& fix) const
    {
        return usageError("--preset", "preset " + m_name + ": " + what, fix);
    }

    Status add(std::string_view asked)
    {
        const PresetPart* part = partNamed(partOf(asked));
        if (asked == "replicate")
            return wrong("replicate leaves all weights whole, and is no part", "use dp for the axes that cut only the batch");
        if (asked.empty())
            return wrong("a part is missing beside a '+'", "name one, or leave the '+' out");
        if (part == nullptr)
            return unknown(asked, m_name);
        if (contains(m_parts, part))
            return wrong("part " + std::string(part->name) + " is there twice", "name it once");
        if (const PresetPart* other = formOf(part->group); other != nullptr)
            return wrong(std::string(other->name) + " and " + part->name + " are two forms of " + part->group, "keep one of them");
        m_parts.push_back(part);
        return done();
    }

    Status verify() const
    {
        if (has("etp") && !has("ep"))
            return wrong("etp cuts each expert, and no part says which device has which", "add ep, or leave etp out");
        if (has("etp") && formOf(kTensor) == nullptr)
            return wrong("etp cuts experts over the tensor axes, and no part uses those", "add tp-sp, or leave etp out");
        for (const auto& [part, plain] : { std::pair { "fsdp-cp", "fsdp" }, { "hsdp-cp", "hsdp" } })
            if (has(part) && formOf(kContext) == nullptr)
                return wrong(std::string(part) + " shards weights over the context axes, and no part uses those",
                             "add cp-ring, cp-all-gather or cp-ulysses, or use " + std::string(plain));
        return done();
    }

    std::string nameOfParts() const
    {
        std::vector<std::string> names;
        for (const PresetPart* part : m_parts)
            names.emplace_back(part->name);
        return joined(names, "+");
    }

    PresetFacts combined(std::string name) const
    {
        PresetFacts out;
        out.name = std::move(name);
        std::vector<std::string> whats;
        for (const PresetPart* part : m_parts)
            whats.push_back(std::string(part->name) + ": " + part->what);
        out.what = joined(whats, "; ");
        out.combined = true;
        const auto needs = [&](bool wanted) { return wanted ? Wish::Needs : Wish::No; };
        out.chunks = has("pp") ? 1 : has("pp-interleaved") ? 2 : 0;
        out.tensor = needs(formOf(kTensor) != nullptr);
        out.sequence = has("tp-sp");
        out.experts = needs(has("ep"));
        out.spreadsExperts = has("ep") && has("tp-sp") && !has("etp");
        out.context = needs(formOf(kContext) != nullptr);
        out.form = has("cp-ring")  ? ContextForm::Ring
            : has("cp-all-gather") ? ContextForm::AllGather
            : has("cp-ulysses")    ? ContextForm::Ulysses
                                   : ContextForm::None;
        out.fsdp = needs(formOf(kSharded) != nullptr);
        out.shardsContext = has("fsdp-cp") || has("hsdp-cp");
        out.shardsExperts = formOf(kSharded) != nullptr;
        out.replicas = has("hsdp") || has("hsdp-cp") || (has("dp") && formOf(kSharded) != nullptr);
        out.data = needs(has("dp"));
        return out;
    }

    std::string m_name;
    std::vector<const PresetPart*> m_parts;
};

} // namespace

const std::vector<PresetFacts>& presetFacts() { return kFacts; }
const std::vector<PresetPart>& presetParts() { return kParts; }

Result<PresetFacts> presetFactsOf(std::string_view name)
{
    for (const PresetFacts& own : kFacts)
        if (own.name == name)
            return own;
    constexpr std::size_t kLongest = 200; // of a name that can be meant
    if (name.size() > kLongest)
        return unknown(name.substr(0, kLongest), name.substr(0, kLongest));
    if (name.find('+') == std::string_view::npos && partNamed(partOf(name)) == nullptr)
        return unknown(name, name);
    return Combination(name).facts();
}

} // namespace shardboard
