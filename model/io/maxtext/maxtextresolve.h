// SPDX-License-Identifier: Apache-2.0
// A rule setup applied to a dump of logical names: what MaxText would write.
#pragma once

#include "model/io/maxtext/maxtextdump.h"
#include "model/rules/rulesetup.h"

#include <string>
#include <vector>

namespace shardboard {

/// The specs of all weights, size-one axes included; with shard_optimizer_over_data the optimizer state is cut over
/// `data` too. A dim that its axes do not divide is told in `warnings`. Errors: a name twice in one tensor, an
/// axis twice in one spec, a rule of a weight that names an axis which the mesh lacks (with the rule's file and line).
Result<NamedDump> resolveWeights(const LogicalDump& logical, const RuleSetup& setup, const Mesh& mesh,
                                 std::vector<std::string>& warnings);

/// The specs of all activations from their logical names, without size-one axes; those without names keep their spec.
Result<ActivationDump> resolveActivations(const ActivationDump& dump, const RuleSetup& setup, const Mesh& mesh);

/// The spec of the input batch, without size-one axes.
Result<DumpSpec> resolveInput(const RuleSetup& setup, const Mesh& mesh);

/// Sizes of a shard: each dim divided by its parts, rounded up.
std::vector<std::int64_t> localShape(const std::vector<std::int64_t>& shape, const DumpSpec& spec, const Mesh& mesh);
/// On how many devices each element lies.
std::int64_t replicationOf(const DumpSpec& spec, const Mesh& mesh);

} // namespace shardboard
