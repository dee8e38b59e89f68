// SPDX-License-Identifier: Apache-2.0
// What the parts of a step's execution share: the program, how it is run, and the values of the pass that runs now.
#pragma once

#include "engine/devices/context.h"
#include "engine/run/schedule/runrequest.h"
#include "engine/run/schedule/schedule.h"
#include "engine/run/schedule/stages.h"
#include "engine/run/step/runvalues.h"

#include <map>
#include <string>

namespace shardboard::engine {

struct StepState {
    /// Both must outlive it.
    StepState(const RunRequest& request, Context& context);
    StepState(const StepState&) = delete; // tensors point at its meshes
    StepState& operator=(const StepState&) = delete;

    const Op& op(const PlannedOp& planned) const { return graph.op(planned.op); }
    const Mesh& mesh(const SegmentPass& pass) const { return stages.mesh(pass.virtualStage); }
    /// Whether the tensor is a weight or an input, which are made where they are used.
    bool isMade(TensorId tensor) const { return graph.tensor(tensor).role != TensorRole::Activation; }
    /// A tensor on the mesh of a pass, without memory.
    Sharded fresh(const SegmentPass& pass, TensorId tensor, const Layout& layout) const;
    /// The version of a tensor that stands for it now; null when it does not exist.
    Sharded* current(TensorId tensor);
    /// Whether this process calls the hooks and collects what the others measured.
    bool leads() const;
    /// Whether the test hook breaks this collective, of which it takes note.
    bool breaks(const Collective& collective);

    const Program& program;
    const Graph& graph;
    const RunOptions& options;
    const RunHooks& hooks;
    Context& context;
    const ValueMaker maker;
    const Stages stages;
    RunValues values;
    std::map<TensorId, Layout> layouts; ///< in which a tensor stands for itself now
    const bool showsValues; ///< every process has to know, and only the first one calls the hook
    bool broke = false; ///< the test hook has broken a collective

private:
    std::string m_brokenId;
};

} // namespace shardboard::engine
