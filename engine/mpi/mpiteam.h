// SPDX-License-Identifier: Apache-2.0
// The processes of an MPI world that run one program together (engine/devices/team.h).
#pragma once

#include "engine/devices/team.h"
#include "engine/mpi/barrier.h"
#include "engine/mpi/sharedsegment.h"
#include "engine/mpi/world.h"

#include <atomic>
#include <optional>
#include <vector>

namespace shardboard::engine::mpi {

class MpiTeam : public Team {
public:
    /// All processes of the world make one, with the same number, which is another one for each run. Throws Failure.
    MpiTeam(World& world, std::int64_t number, bool showsValues);

    int rank() const override { return m_world.rank(); }
    int rankCount() const override { return m_world.size(); }
    bool showsValues() const override { return m_showsValues; }
    void hostBarrier() override;
    void barrier() override;
    bool spansHosts() const override { return m_spansHosts; }
    bool sameHost(int a, int b) const override { return m_world.sameGroup(a, b); }
    const std::vector<int>& referenceRanks() const override { return m_referenceRanks; }
    int referenceRank() const override { return m_referenceRank; }
    std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>& bytes) override;
    bool deliver(const std::vector<Delivery>& deliveries) override;
    void forgetBrought() override;
    std::vector<std::vector<double>> gather(const std::vector<double>& said) override;
    std::vector<double> clocks() override;

    std::vector<std::vector<double>> allGather(const std::vector<double>& said) override;

    /// Ends the run on this host. From any thread.
    void stop() { m_barrier->stop(); }
    const std::atomic<bool>& stopped() const { return m_barrier->stopped(); }

private:
    /// Sends and receives until all is done; throws Stopped when the run is stopped.
    class Traffic;
    void lookForLost() const;

    World& m_world;
    int m_tag;
    bool m_showsValues;
    bool m_spansHosts = false;
    std::vector<int> m_referenceRanks;
    int m_referenceRank = -1;
    std::optional<SharedSegment> m_control;
    std::optional<Barrier> m_barrier;
    bool m_ready = false; ///< made; before, nobody is let go who waits for the others
    std::vector<std::optional<SharedSegment>> m_segments; ///< by rank
    struct Brought {
        std::byte* memory;
        std::int64_t bytes;
    };
    std::vector<Brought> m_brought;
    std::int64_t m_broughtBytes = 0;
};

} // namespace shardboard::engine::mpi
