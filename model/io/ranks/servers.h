// SPDX-License-Identifier: Apache-2.0
// Which devices of a design are one server, for frameworks whose attention can be data-parallel within the group of ranks that
// experts are dealt over.
#pragma once

#include "model/io/ranks/servingsizes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

/// Where experts are cut over data axes, these lie within a server: its attention is data-parallel, and its tensor group is all
/// ranks of a stage. The other data axes hold copies of the model.
struct Servers {
    ServingSizes sizes;
    std::vector<int> attentionAxes {}; ///< data axes that experts are cut over
    std::vector<int> copyAxes {}; ///< the other ones
    std::int64_t attention = 1;
    std::int64_t copies = 1;
    std::int64_t copySize = 1; ///< devices of one copy
    std::int64_t nodeSize = 1; ///< devices of a node that the mesh has

    /// Ranks of a stage.
    std::int64_t group() const { return attention * sizes.tensor; }
    /// Mesh axes as these frameworks number ranks, the slowest first.
    std::vector<std::vector<int>> order() const { return { copyAxes, sizes.use.stage, attentionAxes, sizes.use.tensor }; }
};
Servers serversOf(const Design& design, const Evaluation& evaluation);

/// Lines that start all servers of a node, each of `joint` copies that lie on one: a line for each server, with a port of its own
/// where there are several.
std::string nodeCommands(const Servers& servers, std::int64_t joint, const std::string& command, int firstPort);

} // namespace shardboard
