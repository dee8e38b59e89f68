// SPDX-License-Identifier: Apache-2.0
// The file of `shardctl run --trace T.json`: a profile in the trace-event format that Perfetto and chrome://tracing open.
//
// One process for each logical device, named by its id and mesh coordinates; in it a thread `compute`, a thread `collectives`
// (and `collectives 2`, … where a device was at several at once, because the slices of a thread must not cross) and the
// counter `memory`. Every execution is a complete slice (X) in microseconds since the run began; making up data may lie within
// it, so that `args.seconds` says what the work took. A flow (s, t, f) joins the slices of the members of a device group.
// Collectives carry the argument names of PyTorch's traces: Collective name, In msg nelems, Out msg nelems, Group size, dtype,
// Process Group Ranks.
#pragma once

#include "model/io/wire/profile.h"

namespace shardboard {

nlohmann::json traceDocument(const RunProfile& profile);

} // namespace shardboard
