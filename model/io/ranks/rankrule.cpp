// SPDX-License-Identifier: Apache-2.0
#include "model/io/ranks/rankrule.h"
#include "model/io/ranks/modelconfig.h"

#include "model/io/exports/exportrefusals.h"
#include "model/text/numbers.h"

#include <algorithm>

namespace shardboard {

namespace {

std::string rangeText(const Range& range)
{
    return range.size() <= 0 ? "nothing" : std::to_string(range.lo) + ":" + std::to_string(range.hi);
}

/// How the rule cuts a dim.
enum class DimRule { Whole, Vocabulary, Heads, KvHeads, Width, Experts, ExpertWidth };

DimRule ruleOf(const TensorSpec& spec, std::size_t dim, const ModelSpec& model)
{
    if (spec.name.ends_with(".sinks"))
        return DimRule::Heads;
    const std::string name = dim < spec.logicalNames.size() ? spec.logicalNames[dim] : std::string();
    if (name == "vocab")
        return DimRule::Vocabulary;
    if (name == "q_heads" || name == "heads")
        return DimRule::Heads;
    if (name == "kv_heads") // of a latent attention every head has its own keys
        return model.mla.present() ? DimRule::Heads : DimRule::KvHeads;
    if (name == "mlp")
        return DimRule::Width;
    if (name == "exp")
        return DimRule::Experts;
    return name == "mlp_moe" || name == "activation_mlp" ? DimRule::ExpertWidth : DimRule::Whole;
}

/// Part `index` of `parts` equal ones.
Range evenPart(std::int64_t size, std::int64_t parts, std::int64_t index)
{
    return { size / parts * index, size / parts * (index + 1) };
}

std::int64_t paddedTo(std::int64_t size, std::int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

/// What of a dim a rank has. The rule can be asked where it has no answer (see `reasonAgainst`).
Range rankPart(DimRule kind, std::int64_t size, const ModelSpec& model, const RankRule& rule, const RankPlace& place)
{
    switch (kind) {
    case DimRule::Whole:
        return { 0, size };
    case DimRule::Vocabulary: {
        const std::int64_t part = paddedTo(size, rule.vocabularyMultiple) / rule.tensor;
        return { std::min(part * place.tensor, size), std::min(part * (place.tensor + 1), size) };
    }
    case DimRule::Heads:
    case DimRule::Width:
        return evenPart(size, rule.tensor, place.tensor);
    case DimRule::KvHeads: {
        const std::int64_t parts = std::min(rule.tensor, model.kvHeads);
        return evenPart(size, parts, place.tensor / (rule.tensor / parts));
    }
    case DimRule::Experts:
        return balancedPart(size, rule.expert, place.expert);
    case DimRule::ExpertWidth:
        return evenPart(size, rule.expertTensor, place.expertTensor);
    }
    return { 0, size };
}

std::string notDivided(const RankRule& rule, const std::string& what, std::int64_t size, const std::string& ranks,
                       std::int64_t parts)
{
    return rule.framework + " cannot cut " + std::to_string(size) + " " + what + " over " + std::to_string(parts) + " " + ranks
        + " ranks";
}

/// Why the rule has no answer for a dim; empty where it has one.
std::string reasonAgainst(DimRule kind, std::int64_t size, const ModelSpec& model, const RankRule& rule)
{
    switch (kind) {
    case DimRule::Heads:
        if (model.heads % rule.tensor != 0)
            return notDivided(rule, "heads", model.heads, "tensor", rule.tensor);
        break;
    case DimRule::KvHeads:
        if (model.kvHeads % rule.tensor != 0 && (rule.tensor % model.kvHeads != 0 || !rule.sharesKvHeads))
            return notDivided(rule, "KV heads", model.kvHeads, "tensor", rule.tensor);
        break;
    case DimRule::Width:
        if (size % rule.tensor != 0)
            return notDivided(rule, "elements", size, "tensor", rule.tensor);
        break;
    case DimRule::ExpertWidth:
        if (size % rule.expertTensor != 0)
            return notDivided(rule, "elements of an expert", size, "tensor", rule.expertTensor);
        break;
    case DimRule::Experts:
        if (rule.evenExperts && size % rule.expert != 0)
            return notDivided(rule, "experts", size, "expert", rule.expert);
        break;
    case DimRule::Vocabulary:
        if (const std::int64_t padded = paddedTo(size, rule.vocabularyMultiple); padded % rule.tensor != 0)
            return notDivided(rule, "tokens of the padded vocabulary", padded, "tensor", rule.tensor);
        break;
    case DimRule::Whole:
        break;
    }
    return {};
}

/// What stands in the way of a weight, or nothing.
std::optional<Error> otherShards(const WeightLayout& weight, const Design& design, const RankRule& rule)
{
    const Mesh& mesh = design.mesh;
    const std::string& name = weight.spec.name;
    for (std::size_t dim = 0; dim < weight.spec.shape.size(); ++dim) {
        const std::int64_t size = weight.spec.shape[dim];
        const bool whole = rule.wholeEmbedding && name.ends_with("embed_tokens.weight");
        const DimRule kind = whole ? DimRule::Whole : ruleOf(weight.spec, dim, design.model);
        if (const std::string reason = reasonAgainst(kind, size, design.model, rule); !reason.empty())
            return inputError(name, reason, "use a tensor or expert axis that divides them");
        const DimCut& cut = weight.shards.cuts()[dim];
        for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
            const std::int64_t rank = mesh.deviceId(position);
            const Range there = rankPart(kind, size, design.model, rule, rule.place(rank));
            std::vector<Range> held = cut.part(partIndexOf(cut.axes(), mesh, position));
            std::erase_if(held, [](const Range& range) { return range.size() == 0; });
            const bool same = held.empty() ? there.size() == 0 : held.size() == 1 && held.front() == there;
            if (same)
                continue;
            std::string text;
            for (const Range& range : held)
                text += (text.empty() ? "" : " + ") + rangeText(range);
            return inputError(name,
                              "dim " + std::to_string(dim) + " on rank " + std::to_string(rank) + " is "
                                  + (text.empty() ? "nothing" : text) + ", in " + rule.framework + " " + rangeText(there),
                              "lay it out as " + rule.framework
                                  + " does, or export to a target that takes a layout for every weight");
        }
    }
    return std::nullopt;
}

} // namespace

Result<std::vector<ExportRefusal>> rankRefusals(const Design& design, const Evaluation& evaluation, const RankRule& rule,
                                                const std::function<bool()>& stopped)
{
    auto out = commonRefusals(design, evaluation, { .framework = rule.framework, .stages = true, .subAxes = true, .ownCuts = true },
                              stopped);
    if (!out.ok() || !out.value().empty())
        return out;
    if (!design.model.hasGraph() || design.model.kind != ModelKind::Decoder)
        return std::vector<ExportRefusal> { { inputError("model",
                                                         rule.framework
                                                             + " decides by what each weight is for, and of this model that is "
                                                               "not known",
                                                         "export a model whose architecture is understood") } };
    if (design.model.block.fusedQkv)
        return std::vector<ExportRefusal> { { inputError(
            "model", rule.framework + " takes the fused query, key and value projection of this family apart in its own way",
            "export to a target that takes a layout for every weight") } };
    if (!modelConfigSaysAll(design.model))
        return std::vector<ExportRefusal> { { inputError(
            "model", "what " + rule.framework + " makes of the weights of family " + design.model.family + " is not known yet",
            "export to a target that takes a layout for every weight") } };
    for (const WeightLayout& weight : evaluation.weights) {
        if (stopped && stopped())
            return Cancelled {};
        if (weight.spec.role != TensorRole::Weight)
            continue;
        if (auto error = otherShards(weight, design, rule))
            out.value().push_back({ std::move(*error), weight.copies });
    }
    return out;
}

} // namespace shardboard
