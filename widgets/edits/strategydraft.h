// SPDX-License-Identifier: Apache-2.0
// A strategy while it is written: what an editor changes, what it would mean for a weight, and the edit that makes it
// so. Pure functions over value types.
#pragma once

#include "widgets/edits/weightedits.h"

#include <optional>
#include <string>
#include <vector>

namespace shardboard {

/// The parameters of all kinds side by side, so that going from one kind to another and back loses nothing that was
/// typed.
struct StrategyDraft {
    Strategy strategy; ///< `spec` in any notation
    std::optional<CutRule> cut; ///< nothing: the strategy's own rule
    friend bool operator==(const StrategyDraft&, const StrategyDraft&) = default;

    /// What the parameters of the kind say; the other ones at their defaults, as a design stores them.
    Strategy stored() const;
};

/// Kinds of weights, in the order of an editor's list; those of modules are not among them.
const std::vector<StrategyKind>& weightKinds();
/// MAX's word with the dim: `rowwise (dim 0)`, `gate-up (dim 1)`; `written spec` for a spec. `rank` tells gate-up's
/// dim, -1 where no dim is to be named yet.
QString kindTitle(StrategyKind kind, int dim);
/// The field's word for it on this weight: `column-parallel`, `vocabulary-parallel`, `fused Q, K and V`.
QString kindDetail(StrategyKind kind, const TensorSpec& spec);

/// What decides the layout of a weight now.
StrategyDraft draftOf(const Document& document, int weight);
/// The draft as another kind: parameters that the kind needs and that were never given come from the weight and the
/// model.
StrategyDraft asKind(StrategyDraft draft, StrategyKind kind, const Document& document, int weight);

/// The draft for a weight, its spec read in whatever notation it is written and told in ours. Errors: the spec's.
Result<Strategy> resolved(const StrategyDraft& draft, const Mesh& mesh, std::size_t rank, const std::string& where);
/// The weight as it would be: layout, shards and bytes. Errors: what refuses the draft. The rest of the design has no
/// say here.
Result<WeightLayout> drafted(const StrategyDraft& draft, const WeightLayout& weight, const Mesh& mesh);

/// Which layers a draft is for. A weight outside layers has only `Row`.
enum class DraftScope {
    Row, ///< the layers that the weight's row stands for
    AllLayers, ///< every layer, exceptions included
    OneLayer ///< one of them
};
/// The design with the draft for these weights, as one step. Errors: a spec that one of them cannot have.
Result<WeightEdit> draftEdit(const Document& document, const std::vector<int>& weights, const StrategyDraft& draft,
                             DraftScope scope, std::int64_t layer);

} // namespace shardboard
