// SPDX-License-Identifier: Apache-2.0
// What the finders (model/design/findings/finders.h) share.
#pragma once

#include "model/design/evaluation.h"
#include "model/hardware/hardware.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardboard {

/// Gathers findings. Of one kind only the first kMostOfAKind are kept and the rest is told in one sentence, so that a
/// checkpoint of 100,000 weights does not make as many.
class FindingList {
public:
    static constexpr std::int64_t kMostOfAKind = 200;

    /// Whether a finding of this kind would only be counted: then it needs neither text nor repair.
    bool full(const std::string& kind) const;
    void add(Finding finding, std::optional<Repair> fix = std::nullopt);
    /// Worst first: by severity, then by cost.
    std::vector<DesignFinding> sorted() const;

private:
    struct Rest {
        std::int64_t count = 0;
        std::int64_t bytes = 0;
        Severity severity = Severity::Note;
    };
    std::vector<DesignFinding> m_findings;
    std::map<std::string, std::int64_t> m_counts;
    std::map<std::string, Rest> m_rest;
};

class FinderInput {
public:
    FinderInput(const Design& design, const Evaluation& evaluation, const Hardware& hardware);

    const Design& design;
    const Evaluation& evaluation;
    const Hardware& hardware;

    const Mesh& mesh() const { return design.mesh; }
    /// Indices into Evaluation::weights of those that an entry decides.
    const std::vector<std::size_t>& decidedBy(int entry) const;
    /// Names that strategies can give to exactly this weight: with `*` for all layers, or one for each layer where
    /// layers of that name are laid out differently.
    std::vector<std::string> patternsOf(const WeightLayout& weight) const;
    /// Whether the entry decides this weight and nothing else, in how many blocks of layers that may be.
    bool decidesOnly(int entry, const WeightLayout& weight) const;
    /// Indices of the entries that have this pattern.
    std::vector<int> entriesOf(const std::string& pattern) const;

    /// Of a weight that takes `bytes` on a device in each layer: in all layers that lie on the device. Saturates.
    std::int64_t inLayers(const WeightLayout& weight, std::int64_t bytes) const;
    /// Bytes of weights with what a training step keeps beside them, as the plan counts it: f32 copies, states of the optimizer,
    /// gradients.
    std::int64_t withTraining(std::int64_t bytes) const;
    /// inLayers() and withTraining(): what a finding about so many bytes of a weight costs.
    std::int64_t cost(const WeightLayout& weight, std::int64_t bytes) const;
    /// Whether some weight is cut over a mesh axis.
    bool cutsWeights(int axis) const { return m_cutsWeights[static_cast<std::size_t>(axis)]; }
    bool cutsInputs(int axis) const { return m_cutsInputs[static_cast<std::size_t>(axis)]; }
    /// Devices that could share a weight: of a pipeline those of one stage.
    std::int64_t sharingDevices() const;
    /// inLayers() on the device that holds the most.
    std::int64_t held(const WeightLayout& weight) const { return inLayers(weight, weight.bytesPerDevice); }

private:
    std::vector<std::vector<std::size_t>> m_decided; ///< by entry
    struct Named {
        std::size_t first = 0;
        bool alike = true; ///< one entry decides all weights of the name, and in the same way
    };
    std::unordered_map<std::string, Named> m_named; ///< layers may be told apart because of other weights
    std::vector<bool> m_cutsWeights; ///< by mesh axis
    std::vector<bool> m_cutsInputs;
    mutable std::unordered_multimap<std::string_view, int> m_byPattern; ///< made when first asked for
};

/// Bytes from which on it matters that a weight is whole on every device.
inline constexpr std::int64_t kLargeWeight = std::int64_t { 1 } << 20;

/// A strategy for a weight that was tried: it can be applied.
struct Proposal {
    Strategy strategy;
    std::optional<CutRule> cut;
    std::int64_t bytesPerDevice = 0;
};
/// Nothing when the strategy cannot be applied to the weight.
std::optional<Proposal> propose(const FinderInput& input, const WeightLayout& weight, Strategy strategy,
                                std::optional<CutRule> cut = std::nullopt);
/// The same for a layout, in MAX's words where they can say it.
std::optional<Proposal> propose(const FinderInput& input, const WeightLayout& weight, const Layout& layout);

/// The edit that gives this weight, and no other, a strategy, in all layers where it is laid out alike. The entry that decides it
/// is changed where it decides nothing else.
Repair giveStrategy(const FinderInput& input, const WeightLayout& weight, const Proposal& proposal);
std::optional<Repair> giveStrategy(const FinderInput& input, const WeightLayout& weight, const std::optional<Proposal>& proposal);

/// Into how many parts a dim may be cut so that it divides, in whole grains.
bool dividesInGrains(const WeightLayout& weight, std::size_t dim, std::int64_t parts);
/// As many of the axes, from the first, as divide the dim in whole grains; those that do not are skipped.
std::vector<AxisRef> dividingAxes(const WeightLayout& weight, std::size_t dim, const std::vector<AxisRef>& axes, const Mesh& mesh);
/// Cuts of a replicated weight that divide, best first: over the largest mesh axis that can, on the largest dim; rather over axes
/// that cut other weights, which the design means for that, and never over that of stages or one that cuts inputs alone (what works
/// on the batch would be moved for it). At most kMostCuts.
inline constexpr std::size_t kMostCuts = 4;
std::vector<Proposal> evenCuts(const FinderInput& input, const WeightLayout& weight);

/// `model` or `data, model`
std::string axesText(const std::vector<AxisRef>& axes, const Mesh& mesh);
/// `lm_head.weight` of `model.lm_head.weight`: the last two words, for buttons.
std::string shortWeightName(const std::string& name);
/// `rule 43 (base.yml:606)`; people count rules from 1.
std::string ruleText(const DesignRules& rules, int rule);

} // namespace shardboard
