// SPDX-License-Identifier: Apache-2.0
#include "engine/mpi/mpiteam.h"

#include "engine/machine/failure.h"
#include "engine/machine/index.h"
#include "engine/machine/machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace shardboard::engine::mpi {

namespace {

constexpr std::int64_t kChunkFloats = 1 << 18; ///< of a message: 1 MiB
constexpr std::size_t kAtOnce = 16; ///< messages on their way in each direction

} // namespace

/// Messages of this process, in an order on which all agree: those between two processes are sent and received in the same
/// order, and of all messages that are not through the first one is always on its way at both ends, so that nobody waits for ever.
class MpiTeam::Traffic {
public:
    Traffic(MpiTeam& team)
        : m_team(team)
        , m_world(team.m_world)
    {
    }
    ~Traffic()
    {
        // Only when the run was stopped is anything left. Nobody will ask for its tag again.
        for (Open& open : m_open)
            m_world.abandon(open.request, std::move(open.buffer));
    }
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;

    struct Message {
        bool sends = false;
        int other = 0;
        std::int64_t floats = 0;
        std::function<void(float* buffer)> pack; ///< of one that is sent: just before
        std::function<void(const float* buffer)> unpack; ///< of one that is received
    };
    void add(Message message) { m_waiting[message.sends ? 0 : 1].push_back(std::move(message)); }

    void run()
    {
        int idle = 0;
        auto looked = std::chrono::steady_clock::now();
        const auto began = looked;
        while (!m_open.empty() || !m_waiting[0].empty() || !m_waiting[1].empty()) {
            if (m_team.m_ready && m_team.stopped())
                throw Stopped {};
            start(0);
            start(1);
            if (finishSome()) {
                idle = 0;
                continue;
            }
            if (++idle > 50)
                std::this_thread::sleep_for(std::chrono::microseconds(50));
            else
                std::this_thread::yield();
            if (const auto time = std::chrono::steady_clock::now(); time - looked > std::chrono::milliseconds(500)) {
                looked = time;
                m_team.lookForLost();
                if (!m_team.m_ready && time - began > std::chrono::seconds(30))
                    throw Failure { "lost", "the processes of the run do not find each other", "" };
            }
        }
    }

private:
    struct Open {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<float> buffer;
        Message message;
    };

    void start(std::size_t direction)
    {
        while (m_running[direction] < kAtOnce && !m_waiting[direction].empty()) {
            Open open;
            open.message = std::move(m_waiting[direction].front());
            m_waiting[direction].pop_front();
            if (!m_free.empty()) {
                open.buffer = std::move(m_free.back());
                m_free.pop_back();
            }
            open.buffer.resize(at(open.message.floats));
            const int count = static_cast<int>(open.message.floats);
            if (open.message.sends)
                open.message.pack(open.buffer.data());
            const std::lock_guard guard(m_world.lock());
            m_world.check(open.message.sends ? MPI_Isend(open.buffer.data(), count, MPI_FLOAT, open.message.other, m_team.m_tag,
                                                         m_world.data(), &open.request)
                                             : MPI_Irecv(open.buffer.data(), count, MPI_FLOAT, open.message.other, m_team.m_tag,
                                                         m_world.data(), &open.request));
            ++m_running[direction];
            m_open.push_back(std::move(open));
        }
    }

    bool finishSome()
    {
        bool any = false;
        for (auto open = m_open.begin(); open != m_open.end();) {
            int done = 0;
            {
                const std::lock_guard guard(m_world.lock());
                m_world.check(MPI_Test(&open->request, &done, MPI_STATUS_IGNORE));
            }
            if (done == 0) {
                ++open;
                continue;
            }
            any = true;
            if (!open->message.sends)
                open->message.unpack(open->buffer.data());
            --m_running[open->message.sends ? 0 : 1];
            m_free.push_back(std::move(open->buffer));
            open = m_open.erase(open);
        }
        return any;
    }

    MpiTeam& m_team;
    World& m_world;
    std::deque<Message> m_waiting[2]; ///< to be sent, to be received
    std::size_t m_running[2] = { 0, 0 };
    std::deque<Open> m_open;
    std::vector<std::vector<float>> m_free;
};

MpiTeam::MpiTeam(World& world, std::int64_t number, bool showsValues)
    : m_world(world)
    , m_tag(static_cast<int>(number % 30000))
    , m_showsValues(showsValues)
{
    for (int other = 0; other < rankCount(); ++other) {
        m_spansHosts = m_spansHosts || !sameHost(other, 0);
        if (sameHost(other, 0)) {
            if (other == rank())
                m_referenceRank = static_cast<int>(m_referenceRanks.size());
            m_referenceRanks.push_back(other);
        }
    }
    // The first process of a host makes the memory of their barrier.
    int first = 0;
    std::uint32_t processes = 0;
    std::int64_t cores = 1;
    for (int other = rankCount() - 1; other >= 0; --other)
        if (sameHost(other, rank())) {
            first = other;
            ++processes;
            cores = std::max(cores, m_world.members()[at(other)].cores);
        }
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(Barrier::Shared));
    if (first == rank())
        m_control = SharedSegment::make(kBytes);
    const auto told = allGather({ m_control ? static_cast<double>(m_control->descriptor()) : -1.0 });
    if (first != rank())
        m_control = SharedSegment::of(m_world.members()[at(first)].process, static_cast<int>(told[at(first)][0]), kBytes);
    if (!m_control)
        throw Failure { "memory", "the system gives no memory that processes share", "" };
    const int spins = static_cast<std::int64_t>(processes) > cores ? 0 : 2000;
    m_barrier.emplace(*reinterpret_cast<Barrier::Shared*>(m_control->memory()), processes, spins);
    allGather({}); // until all have mapped it; one that is quick may have failed by then
    m_ready = true;
}

void MpiTeam::lookForLost() const
{
    if (const int lost = m_world.lostNeighbour(); lost >= 0)
        throw Failure { "lost", m_world.nameOf(lost) + " has ended, and the run with it; start the worker again", "" };
}

void MpiTeam::hostBarrier()
{
    m_barrier->wait([this] { lookForLost(); });
}

void MpiTeam::barrier()
{
    if (m_spansHosts)
        (void)allGather({});
    else
        hostBarrier();
}

std::vector<std::vector<double>> MpiTeam::allGather(const std::vector<double>& said)
{
    // Doubles as pairs of floats: the bits are what counts. Sizes are the same everywhere.
    std::vector<std::vector<double>> all(at(rankCount()), said);
    Traffic traffic(*this);
    const auto floats = static_cast<std::int64_t>(std::max<std::size_t>(1, said.size()) * 2);
    for (int other = 0; other < rankCount(); ++other) {
        if (other == rank())
            continue;
        traffic.add(
            { true, other, floats, [&](float* buffer) { std::memcpy(buffer, said.data(), said.size() * sizeof(double)); }, {} });
        traffic.add({ false, other, floats, {}, [&all, &said, other](const float* buffer) {
                         std::memcpy(all[at(other)].data(), buffer, said.size() * sizeof(double));
                     } });
    }
    traffic.run();
    return all;
}

std::vector<std::vector<double>> MpiTeam::gather(const std::vector<double>& said)
{
    std::vector<std::vector<double>> all;
    if (rank() == 0)
        all.assign(at(rankCount()), said);
    Traffic traffic(*this);
    constexpr std::size_t kDoubles = kChunkFloats / 2;
    for (int other = 1; other < rankCount(); ++other)
        for (std::size_t first = 0; first < said.size(); first += kDoubles) {
            const std::size_t count = std::min(kDoubles, said.size() - first);
            const auto floats = static_cast<std::int64_t>(2 * count);
            if (rank() == other)
                traffic.add(
                    { true,
                      0,
                      floats,
                      [&said, first, count](float* buffer) { std::memcpy(buffer, said.data() + first, count * sizeof(double)); },
                      {} });
            else if (rank() == 0)
                traffic.add({ false, other, floats, {}, [&all, other, first, count](const float* buffer) {
                                 std::memcpy(all[at(other)].data() + first, buffer, count * sizeof(double));
                             } });
        }
    traffic.run();
    return all;
}

std::vector<Arena::Segment> MpiTeam::reserve(const std::vector<std::int64_t>& bytes)
{
    m_segments.clear();
    m_segments.resize(at(rankCount()));
    auto& own = m_segments[at(rank())];
    own = SharedSegment::make(bytes[at(rank())]);
    const auto told = allGather({ own ? static_cast<double>(own->descriptor()) : -1.0 });
    std::vector<Arena::Segment> out;
    for (int other = 0; other < rankCount(); ++other) {
        auto& segment = m_segments[at(other)];
        const std::int64_t size = bytes[at(other)];
        if (other != rank())
            segment = sameHost(other, rank())
                ? SharedSegment::of(m_world.members()[at(other)].process, static_cast<int>(told[at(other)][0]), size)
                : SharedSegment::own(size);
        if (!segment)
            throw Failure { "memory", "the system gives no room for " + std::to_string(size) + " bytes that processes share", "" };
        out.push_back({ segment->memory(), size });
    }
    allGather({});
    return out;
}

bool MpiTeam::deliver(const std::vector<Delivery>& deliveries)
{
    Traffic traffic(*this);
    bool any = false;
    for (const Delivery& delivery : deliveries) {
        const bool sends = delivery.from == rank();
        if ((!sends && delivery.to != rank()) || sameHost(delivery.from, delivery.to))
            continue;
        any = true;
        if (!sends) {
            const std::int64_t elements = volumeOf(delivery.targetBox);
            m_brought.push_back(
                { reinterpret_cast<std::byte*>(delivery.target), elements * static_cast<std::int64_t>(sizeof(float)) });
            m_broughtBytes += broughtBytes(delivery);
        }
        for (Box& piece : piecesOf(delivery.region, kChunkFloats)) {
            const std::int64_t floats = volumeOf(piece);
            if (sends)
                traffic.add(
                    { true,
                      delivery.to,
                      floats,
                      [&delivery, piece](float* buffer) { copyRegion(piece, delivery.sourceBox, delivery.source, piece, buffer); },
                      {} });
            else
                traffic.add({ false, delivery.from, floats, {}, [&delivery, piece](const float* buffer) {
                                 copyRegion(piece, piece, buffer, delivery.targetBox, delivery.target);
                             } });
        }
    }
    traffic.run();
    return any;
}

/// Of a message to and fro each time, whose way takes as long in both directions where nothing is in its way: the quickest of a
/// few.
std::vector<double> MpiTeam::clocks()
{
    constexpr int kRounds = 8;
    constexpr std::int64_t kFloats = sizeof(double) / sizeof(float);
    std::vector<double> seemsBehind(at(rankCount()), 0.0); // by rank: from its clock when it sent to ours when that came; at rank 0
    std::vector<double> seemsAhead { 0.0 }; // the same of rank 0's messages; at the others
    for (int round = 0; round < kRounds && m_spansHosts; ++round) {
        Traffic traffic(*this);
        const auto exchange = [&](int other, double& least) {
            const auto tell = [](float* buffer) {
                const double time = now();
                std::memcpy(buffer, &time, sizeof time);
            };
            traffic.add({ true, other, kFloats, tell, {} });
            traffic.add({ false, other, kFloats, {}, [&least, round](const float* buffer) {
                             double sent = 0;
                             std::memcpy(&sent, buffer, sizeof sent);
                             least = round == 0 ? now() - sent : std::min(least, now() - sent);
                         } });
        };
        for (int other = 1; other < rankCount() && rank() == 0; ++other)
            if (!sameHost(other, 0))
                exchange(other, seemsBehind[at(other)]);
        if (!sameHost(rank(), 0))
            exchange(0, seemsAhead[0]);
        traffic.run();
    }
    std::vector<double> out;
    if (m_spansHosts)
        for (const auto& said : gather(seemsAhead))
            out.push_back((said[0] - seemsBehind[out.size()]) / 2);
    else if (rank() == 0)
        out.assign(at(rankCount()), 0.0);
    return out;
}

void MpiTeam::forgetBrought()
{
    if (m_broughtBytes <= kKeptBrought)
        return;
    // Only what lies in the stand-ins for the memory of other hosts: results are delivered into our own.
    constexpr std::uintptr_t kPage = 4096;
    for (const Brought& brought : m_brought)
        for (int other = 0; other < rankCount(); ++other) {
            const auto& segment = m_segments[at(other)];
            if (sameHost(other, rank()) || brought.memory < segment->memory()
                || brought.memory >= segment->memory() + segment->bytes())
                continue;
            const auto from = reinterpret_cast<std::uintptr_t>(brought.memory) / kPage * kPage;
            const auto to = (reinterpret_cast<std::uintptr_t>(brought.memory) + at(brought.bytes) + kPage - 1) / kPage * kPage;
            madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
        }
    m_brought.clear();
    m_broughtBytes = 0;
}

} // namespace shardboard::engine::mpi
