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
    /// Calls of the plan that the trace does not have.
    std::vector<CollectiveId> unseen;
    /// How long those took that are it, in order of time.
    std::map<CollectiveId, std::vector<std::int64_t>> nanoseconds;
};

/// Kind, and as far as the trace tells them size, device group, and its size have to be those of the plan; where several of its
/// collectives are alike (one for each layer), they are taken in turn, each as often as the plan has it. Ranks are positions in
/// the mesh. Elements count before bytes: what ran may have had another dtype than was planned, and a collective of twice the bytes
/// an element is not one of twice the elements.
TraceMatch matchTrace(const Trace& trace, const Graph& graph, const Plan& plan);

} // namespace shardboard
