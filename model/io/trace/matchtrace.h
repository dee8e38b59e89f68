// SPDX-License-Identifier: Apache-2.0
// Which collective of a plan a collective of a trace is.
#pragma once

#include "model/io/trace/trace.h"
#include "model/plan/plan.h"

#include <map>
#include <string>
#include <vector>

namespace shardboard {

struct TraceMatch {
    /// By index into Trace::collectives: what it is in the plan, or nothing.
    std::vector<CollectiveId> planned;
    /// Why the others are none, in words: how often, by reason.
    std::map<std::string, std::int64_t> unmatched;
    std::int64_t matched = 0;
    /// Those of them of which the trace tells no size, so that of several that are alike otherwise each was taken in turn.
    std::int64_t inTurn = 0;
    /// What the plan has apart and the program moves in one call, as FSDP does with the weights of a block: all of it, by the
    /// first, which is the one that `planned` has.
    std::map<CollectiveId, std::vector<CollectiveId>> together;
    /// Predicted seconds of one call of it.
    double secondsOf(const Plan& plan, CollectiveId id) const;
    /// For people: how much of the match is by turns.
    std::vector<std::string> notes() const;
    /// Calls of the plan that the trace does not have.
    std::vector<CollectiveId> unseen;
    /// How long those took that are it, in order of time.
    std::map<CollectiveId, std::vector<std::int64_t>> nanoseconds;
};

/// Kind, and as far as the trace tells them size, device group, and its size have to be those of the plan; where several of its
/// collectives are alike (one for each layer), they are taken in turn, each as often as the plan has it. Ranks are positions in
/// the mesh. A call of the size of all weights (or gradients) of a layer together is one of all of those. Elements count before
/// bytes: what ran may have had another dtype than was planned, and a collective of twice the bytes an element is not one of twice
/// the elements.
TraceMatch matchTrace(const Trace& trace, const Graph& graph, const Plan& plan);

} // namespace shardboard
