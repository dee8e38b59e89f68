// SPDX-License-Identifier: Apache-2.0
// The processes that run one program together. All of them walk through it; each works for the logical devices that are at its
// place (engine/devices/placement.h). Those of one host see each other's memory, so that what a device needs of another one is read
// where it lies, after all have come to the point where it is there; from other hosts it is brought.
#pragma once

#include "engine/devices/context.h"
#include "engine/devices/sharded.h"

#include <cstdint>
#include <vector>

namespace shardboard::engine {

/// A region of a tensor that one place hands to another one. Everybody knows all of them.
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

    /// Which of the places is this process.
    virtual int place() const = 0;
    virtual int places() const = 0;
    /// Whether somebody wants to see the values of the run: place 0 has the hook, and all have to know.
    virtual bool showsValues() const = 0;
    /// Waits until all processes on this host are here.
    virtual void meet() = 0;
    /// Waits until all processes on all hosts are here.
    virtual void meetAll() { meet(); }
    /// Whether some of them are on other hosts, or are treated as if they were.
    virtual bool spansHosts() const = 0;
    virtual bool sameHost(int a, int b) const = 0;
    /// The places that share the work on the unsharded reference, which is at place 0: those of its host.
    virtual const std::vector<int>& helpers() const = 0;
    /// Which of them this process is; -1: none.
    virtual int helper() const = 0;
    /// Memory for all places, of so many bytes each. For places on other hosts there is as much room to bring things to.
    virtual std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>& bytes) = 0;
    /// Hands over what is on its way from one host to another; deliveries within a host are ignored. Whether any of them
    /// was of this place.
    virtual bool deliver(const std::vector<Delivery>& deliveries) = 0;
    /// The memory into which shards of other hosts were brought may be used for others.
    virtual void forgetBrought() = 0;
    /// What every place says, by place; the same count everywhere.
    virtual std::vector<std::vector<double>> tellAll(const std::vector<double>& said) = 0;
    /// The same at place 0 alone, empty elsewhere.
    virtual std::vector<std::vector<double>> gather(const std::vector<double>& said) = 0;
    /// By how many seconds now() is ahead of that of place 0, by place; empty but at place 0. Every host has a clock of its own.
    virtual std::vector<double> clocks() = 0;
};

/// Memory that a delivery takes where it arrives, in bytes, whole pages counted.
std::int64_t broughtBytes(const Delivery& delivery);
/// So much of what was brought may stay in memory until it is in the way.
inline constexpr std::int64_t kKeptBrought = std::int64_t { 64 } << 20;

/// For the walk through a program that computes nothing: does nothing but count what is brought to every place.
class PlanningTeam : public Team {
public:
    explicit PlanningTeam(const Team& team)
        : m_team(team)
        , m_most(static_cast<std::size_t>(team.places()), 0)
    {
    }
    int place() const override { return m_team.place(); }
    int places() const override { return m_team.places(); }
    bool showsValues() const override { return m_team.showsValues(); }
    void meet() override { }
    bool spansHosts() const override { return m_team.spansHosts(); }
    bool sameHost(int a, int b) const override { return m_team.sameHost(a, b); }
    const std::vector<int>& helpers() const override { return m_team.helpers(); }
    int helper() const override { return m_team.helper(); }
    std::vector<Arena::Segment> reserve(const std::vector<std::int64_t>&) override { return {}; }
    bool deliver(const std::vector<Delivery>& deliveries) override;
    void forgetBrought() override { }
    std::vector<std::vector<double>> tellAll(const std::vector<double>&) override { return {}; }
    std::vector<std::vector<double>> gather(const std::vector<double>&) override { return {}; }
    std::vector<double> clocks() override { return {}; }

    /// Most bytes that things brought take at a place.
    std::int64_t mostBrought(int place) const;

private:
    const Team& m_team;
    std::vector<std::int64_t> m_most;
};

/// What the devices at a place need of the shard of the device at a mesh position. Once it was brought it is in data(position)
/// there. Does nothing where the place sees that memory anyway.
void need(std::vector<Delivery>& deliveries, const Context& context, const Sharded& tensor, std::int64_t position,
          const Box& region, int place);
/// The same of some elements of it, counted in its row-major order.
void needElements(std::vector<Delivery>& deliveries, const Context& context, const Sharded& tensor, std::int64_t position,
                  const Range& elements, int place);
/// Of other memory of a device, of `count` floats: all of it.
void needFloats(std::vector<Delivery>& deliveries, const Context& context, const Mesh& mesh, std::int64_t position, float* values,
                std::int64_t count, int place);
/// Between these two, devices may read what others have: all on this host have written it, and what is needed from other hosts
/// has come. Do nothing for a process that is alone. The first one returns when that was on its way; it has not worked where
/// nothing of it was this process's.
Timing::Span beginReading(Context& context, const std::vector<Delivery>& deliveries);
void endReading(Context& context);
/// Between them, for what only then can be sent to other hosts. Returns the same.
Timing::Span bring(Context& context, const std::vector<Delivery>& deliveries);
/// Whether the devices at two mesh positions are at places of one host.
bool sameHost(const Context& context, const Mesh& mesh, std::int64_t a, std::int64_t b);
/// For somebody who reads all shards at place 0.
std::vector<Delivery> allToFirst(const Context& context, const Sharded& tensor);

} // namespace shardboard::engine
