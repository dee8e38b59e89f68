// SPDX-License-Identifier: Apache-2.0
// The stages of a pipeline: each works on a mesh of its own devices alone, so that what a stage holds exists nowhere else, and
// what the next stage needs has to be sent there.
#pragma once

#include "engine/devices/collective.h"
#include "engine/devices/context.h"
#include "engine/devices/sharded.h"
#include "model/plan/program.h"

#include <cstdint>
#include <vector>

namespace shardboard::engine {

class Stages {
public:
    /// `program` must outlive it. Without a pipeline there is one stage, on the mesh of the plan.
    explicit Stages(const Program& program);

    /// Stages times chunks: virtual stage v, in the order in which a micro-batch goes through them, lies on stage v modulo the
    /// number of stages.
    static std::int64_t virtualStageCount(const Plan& plan);
    /// Of the stage of a virtual stage: the plan's mesh with one device along the axis of the stages, under the same device ids.
    const Mesh& mesh(std::int64_t virtualStage) const { return m_meshes[static_cast<std::size_t>(virtualStage) % m_meshes.size()]; }
    const std::vector<Mesh>& meshes() const { return m_meshes; }
    /// Whether it takes a value from one stage to another, and not around a ring of devices that all work on it.
    bool isSend(const Collective& collective) const;
    /// That of the residual stream, forward, or of its gradient, backward. Null when there is none.
    const Collective* streamSend(Phase phase) const;

private:
    const Program& m_program;
    std::vector<Mesh> m_meshes; ///< by stage; never changed, tensors point at them
};

/// The same shards on the devices of another stage. `broken` is the test hook: nothing arrives, and zeros stand there instead.
Resharded executeSend(Context& context, const Sharded& value, const Mesh& target, bool broken);

} // namespace shardboard::engine
