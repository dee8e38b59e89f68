// SPDX-License-Identifier: Apache-2.0
// Operands that go around a ring of devices while an operation runs: hop by hop every device gets the part of the next
// member of its device group. It never has more than two parts of an operand, its own and the one it works on.
#pragma once

#include "engine/devices/context.h"
#include "engine/devices/deviceparts.h"
#include "engine/devices/team.h"
#include "engine/ops/attention/attentionwork.h"

#include <cstdint>
#include <vector>

namespace shardboard::engine {

class RingExchange {
public:
    enum class Reading {
        Copied, ///< into memory of the device, as sent to it; timed
        InPlace, ///< where they lie: of values that every device would have, had they been kept
    };

    /// The operands travel over the axes of the call's rings; those that an operation before shares are read in place. Takes
    /// the memory for what is received.
    RingExchange(Context& context, const OpCall& call, std::vector<std::size_t> operands, Reading reading);

    /// How often a part is worked on: the members of a ring.
    std::int64_t hops() const { return m_hops; }
    /// Brings the parts of hop `hop` (of the first one every device has its own), and `more` from other hosts.
    void go(std::int64_t hop, std::vector<Delivery> more = {});
    /// After the work of the last hop.
    void finish();
    /// What the device has now.
    AttentionPart part(std::int64_t device, std::size_t operand) const;
    /// Whose part that is.
    std::int64_t owner(std::int64_t device) const { return memberAt(device, m_hop); }
    std::int64_t memberAt(std::int64_t device, std::int64_t hop) const;
    /// All members that the device gets parts from, itself first.
    const std::vector<std::int64_t>& ring(std::int64_t device) const { return m_rings[static_cast<std::size_t>(device)]; }

private:
    struct Room { ///< what is received of an operand
        std::size_t operand = 0;
        bool inPlace = false;
        DeviceParts parts;
    };
    void addNeeds(std::vector<Delivery>& deliveries) const;
    void receive(Room& room);
    void recordBrought(const Timing::Span& span);
    RingTransfer* transferOf(std::size_t operand) const;

    Context& m_context;
    const OpCall& m_call;
    Reading m_reading;
    std::vector<Room> m_rooms;
    std::vector<std::vector<std::int64_t>> m_rings; ///< by device
    std::int64_t m_hops = 1;
    std::int64_t m_hop = 0;
    bool m_open = false; ///< between beginReading and endReading
};

} // namespace shardboard::engine
