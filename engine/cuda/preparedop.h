// SPDX-License-Identifier: Apache-2.0
// An operation whose tables and memory are there: what is left is to start it. On one GPU for all devices at once, or on the GPU of
// every device, where what comes from other devices arrives between rounds. How it arrives is the executor's business.
#pragma once

#include "engine/cuda/launches.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace shardboard::engine::cuda {

/// What a device has to have of others before a round begins.
struct Arrival {
    std::int64_t hop = 0; ///< the parts of the member of its ring that is so many hops away
    std::vector<std::size_t> operands; ///< none: nothing has to arrive
    bool states = false; ///< of the softmax, too, with the queries among the operands
    bool counted = false; ///< is part of the operation's collectives; else every device would have kept it
};

class PreparedOp {
public:
    /// What belongs to a device, or arrives there, of an operand or of the states.
    struct Values {
        std::byte* address = nullptr;
        std::int64_t count = 0; ///< elements
        Element element = Element::F32;
    };

    virtual ~PreparedOp() = default;
    virtual std::size_t rounds() const { return 1; }
    virtual Arrival arrival(std::size_t) const { return {}; }
    /// What is done in a round, valid until the next one.
    virtual Launches& round(std::size_t) = 0;
    /// Of the one device of a GPU: its own part, and the room for parts that arrive there.
    virtual Values own(std::size_t) const { return {}; }
    virtual Values room(std::size_t) const { return {}; }
    virtual std::vector<Values> ownStates() const { return {}; }
    virtual std::vector<Values> stateRooms() const { return {}; }
    /// With all devices on one GPU: copies what arrives before a round from where it lies.
    virtual void bringHere(std::size_t) { }
};

/// One round, without anything from others.
class SinglePrepared : public PreparedOp {
public:
    SinglePrepared(Runtime& runtime, Context& context, int rank)
        : m_launches(runtime, context, rank)
    {
    }
    Launches& round(std::size_t) override { return m_launches; }

private:
    Launches m_launches;
};

/// Whose part of an operation on several devices it is, where each device has a GPU.
struct PartOf {
    const OpCall& all; ///< operands with the shards of all devices
    std::int64_t device = 0; ///< mesh position
};

/// Attention or a gradient of it with parts that go around a ring. `part`: null for all devices on one GPU, whose copies are then
/// told in the call's rings.
std::unique_ptr<PreparedOp> prepareRingAttention(Runtime& runtime, Context& context, int rank, const OpCall& call, Sharded& result,
                                                 const PartOf* part);

} // namespace shardboard::engine::cuda
