// SPDX-License-Identifier: Apache-2.0
// The processes that run one program. All of them walk through it, and each works for the logical devices of its rank
// (engine/devices/deviceranks.h). Processes of one host see each other's memory: what a device needs of another one is read where
// it lies, after a barrier. From other hosts it is brought by messages.
#pragma once

#include "engine/devices/context.h"
#include "engine/devices/sharded.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardboard::engine {

/// A region of a tensor that one rank sends to another. Every rank knows all deliveries.
struct Delivery {
    int from = 0;
    int to = 0;
    Box region;
    Box sourceBox; ///< what the row-major buffer at `source` holds; the region lies inside
    const float* source = nullptr; ///< as seen from `from`
    Box targetBox;
    float* target = nullptr; ///< as seen from `to`
};

/// All functions are called by all processes, in the same order, and throw Stopped when one of them has failed or the run has
/// been cancelled, and Failure when a process is lost.
class Team {
public:
    virtual ~Team() = default;

    /// Of this process.
    virtual int rank() const = 0;
    virtual int rankCount() const = 0;
    /// Whether the values of the run are to be shown: only rank 0 has the hook, but every rank takes part.
    virtual bool showsValues() const = 0;
    /// Of the processes on this host.
    virtual void hostBarrier() = 0;
    /// Of the processes on all hosts.
    virtual void barrier() { hostBarrier(); }
    /// Whether some of the processes are on other hosts, or are treated as if they were.
    virtual bool spansHosts() const = 0;
    virtual bool sameHost(int a, int b) const = 0;
    /// The ranks that divide the work on the unsharded reference, which lies at rank 0: those of its host.
    virtual const std::vector<int>& referenceRanks() const = 0;
    /// The index of this process among them; -1: it is not one of them.
    virtual int referenceRank() const = 0;
    /// Memory of so many bytes for each rank. Ranks on other hosts are mirrored by room of the same size, into which shards are
    /// brought.
    virtual std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>& bytes) = 0;
    /// Carries out the deliveries between hosts; those within a host are ignored. Returns whether this rank had part in any.
    virtual bool deliver(const std::vector<Delivery>& deliveries) = 0;
    /// What was brought from other hosts is no longer needed.
    virtual void forgetBrought() = 0;
    /// The values of every rank, by rank; each gives as many.
    virtual std::vector<std::vector<double>> allGather(const std::vector<double>& said) = 0;
    /// The same at rank 0 alone, empty elsewhere.
    virtual std::vector<std::vector<double>> gather(const std::vector<double>& said) = 0;
    /// By how many seconds now() is ahead of that of rank 0, by rank; empty but at rank 0. Every host has a clock of its own.
    virtual std::vector<double> clocks() = 0;
    /// Of a planned program: the most bytes that deliveries take at a rank.
    virtual std::int64_t mostBrought(int) const { return 0; }
};

/// Memory that a delivery takes where it arrives, in bytes, counted in whole pages.
std::int64_t broughtBytes(const Delivery& delivery);
/// Bytes of what was brought that may stay in memory.
inline constexpr std::int64_t kKeptBrought = std::int64_t { 64 } << 20;

/// For planning a program: moves nothing, and counts what would be brought to every rank.
class PlanningTeam : public Team {
public:
    explicit PlanningTeam(const Team& team)
        : m_team(team)
        , m_most(static_cast<std::size_t>(team.rankCount()), 0)
    {
    }
    int rank() const override { return m_team.rank(); }
    int rankCount() const override { return m_team.rankCount(); }
    bool showsValues() const override { return m_team.showsValues(); }
    void hostBarrier() override { }
    bool spansHosts() const override { return m_team.spansHosts(); }
    bool sameHost(int a, int b) const override { return m_team.sameHost(a, b); }
    const std::vector<int>& referenceRanks() const override { return m_team.referenceRanks(); }
    int referenceRank() const override { return m_team.referenceRank(); }
    std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>&) override { return {}; }
    bool deliver(const std::vector<Delivery>& deliveries) override;
    void forgetBrought() override { }
    std::vector<std::vector<double>> allGather(const std::vector<double>&) override { return {}; }
    std::vector<std::vector<double>> gather(const std::vector<double>&) override { return {}; }
    std::vector<double> clocks() override { return {}; }
    std::int64_t mostBrought(int rank) const override;

private:
    const Team& m_team;
    std::vector<std::int64_t> m_most;
};

/// Adds the delivery of a region of the shard at a mesh position to a rank whose devices need it. Once brought it is in
/// data(position) there. Adds nothing where the rank sees that memory anyway.
void need(std::vector<Delivery>& deliveries, const Context& context, const Sharded& tensor, std::int64_t position,
          const Box& region, int rank);
/// The same of some elements of it, counted in its row-major order.
void needElements(std::vector<Delivery>& deliveries, const Context& context, const Sharded& tensor, std::int64_t position,
                  const Range& elements, int rank);
/// The same of other memory of a device: all of it.
void needFloats(std::vector<Delivery>& deliveries, const Context& context, const Mesh& mesh, std::int64_t position,
                std::span<float> values, int rank);
/// Between these two, devices may read the shards of others: all on this host are written, and what is needed from other hosts has
/// arrived. Both do nothing in a process that is alone. The first returns the span of time that this process spent on messages,
/// empty when it had none.
Timing::Span beginReading(Context& context, const std::vector<Delivery>& deliveries);
void endReading(Context& context);
/// Between them, for what can only then be sent to other hosts. Returns the same.
Timing::Span bring(Context& context, const std::vector<Delivery>& deliveries);
/// Whether the devices at two mesh positions belong to ranks of one host.
bool sameHost(const Context& context, const Mesh& mesh, std::int64_t a, std::int64_t b);
/// For a reader of all shards at rank 0.
std::vector<Delivery> allToFirst(const Context& context, const Sharded& tensor);

} // namespace shardboard::engine
