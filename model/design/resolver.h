// SPDX-License-Identifier: Apache-2.0
// From a design's strategies and rules to the layout of one weight: the last entry that matches its name decides; where
// none does, the logical axis rules by the names of its dims; else it is replicated.
#pragma once

#include "model/design/entryindex.h"
#include "model/design/weightlayout.h"

#include <map>
#include <string>
#include <vector>

namespace shardboard {

/// What a strategy makes of a weight; with a misfit neither layout nor shards.
struct AppliedStrategy {
    std::optional<Misfit> misfit;
    Layout layout;
    ShardMap shards;
};

/// Applies a strategy to a weight of which `spec` and `tensor` count. `where` is for the text of a misfit.
AppliedStrategy applyStrategy(const Strategy& strategy, CutRule cut, const WeightLayout& weight, const Mesh& mesh,
                              const std::string& where);

class Resolver {
public:
    /// Keeps a reference to the design.
    explicit Resolver(const Design& design);

    const EntryIndex& entries() const { return m_entries; }

    /// Lays out a weight of which `spec`, `unknownShape`, `tensor` and `copies` are given, by the entry that decides `name`
    /// (its name with the layer number in it). What cannot be applied becomes a misfit and the weight is replicated.
    void layOut(WeightLayout& weight, const std::string& name);

private:
    struct Resolved {
        Result<std::shared_ptr<const Resolution>> resolution;
        Layout layout; ///< without the axes that the mesh lacks
        std::string spec; ///< of the layout
        bool axisTwice = false; ///< which no layout may
    };

    void byEntry(WeightLayout& weight);
    void byRules(WeightLayout& weight);
    const Resolved& resolved(const std::vector<std::string>& names, const std::string& where);
    void replicate(WeightLayout& weight) const;

    const Design& m_design;
    EntryIndex m_entries;
    std::map<std::vector<std::string>, Resolved> m_resolved; ///< tensors of equal names are resolved once
};

} // namespace shardboard
