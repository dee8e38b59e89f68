// SPDX-License-Identifier: Apache-2.0
#include "engine/mpi/world.h"

#include "engine/machine/failure.h"
#include "engine/machine/machine.h"
#include "engine/mpi/sharedsegment.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

namespace shardboard::engine::mpi {

namespace {

constexpr int kTextTag = 1;

bool startedByLauncher()
{
    for (const char* name : { "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK" })
        if (std::getenv(name) != nullptr)
            return true;
    return false;
}

/// What processes tell each other when they start.
struct Told {
    char host[256];
    std::int64_t process;
    std::int64_t cores;
    std::int64_t memoryBytes;
    std::int64_t group;
};

/// How many processes count as one host; 0: as many as there are on it. For trying out on one host what happens between several.
int pretendedHostSize()
{
    const char* text = std::getenv("SHARDBOARD_MPI_HOSTS");
    if (text == nullptr)
        return 0;
    return std::strcmp(text, "rank") == 0 ? 1 : std::atoi(text);
}

} // namespace

World* World::ofThisProcess()
{
    static World* const world = []() -> World* {
        if (!startedByLauncher())
            return nullptr;
        auto* made = new World; // as long as the process, whose threads use it until the end
        made->join();
        return made;
    }();
    return world;
}

void World::join()
{
    // Should the launcher on this host vanish, nobody would end us.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &m_control);
    MPI_Comm_dup(MPI_COMM_WORLD, &m_data);
    for (const MPI_Comm comm : { m_control, m_data })
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);

    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, m_rank, MPI_INFO_NULL, &node);
    int onNode = 0;
    MPI_Comm_rank(node, &onNode);
    int group = m_rank - m_rank;
    int leader = m_rank;
    MPI_Bcast(&leader, 1, MPI_INT, 0, node);
    group = leader;
    // Processes of one host in different containers do not see each other's memory: each is a host of its own then.
    int sees = seesLeader(node) ? 1 : 0;
    int allSee = 0;
    MPI_Allreduce(&sees, &allSee, 1, MPI_INT, MPI_MIN, node);
    if (allSee == 0)
        group = m_rank;
    else if (const int pretended = pretendedHostSize(); pretended > 0) {
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(node, onNode / pretended, m_rank, &part);
        group = m_rank;
        MPI_Bcast(&group, 1, MPI_INT, 0, part);
        MPI_Comm_free(&part);
    }
    MPI_Comm_free(&node);

    Told mine {};
    gethostname(mine.host, sizeof mine.host - 1);
    mine.process = getpid();
    mine.cores = usableCores();
    mine.memoryBytes = availableMemory();
    mine.group = group;
    std::vector<Told> all(static_cast<std::size_t>(size));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    for (const Told& told : all)
        m_members.push_back({ told.host, static_cast<int>(told.group), told.process, told.cores, told.memoryBytes });
}

bool World::seesLeader(MPI_Comm node) const
{
    constexpr std::int64_t kBytes = 4096;
    constexpr std::uint64_t kMark = 0x5b0a7d3c91e2f468u;
    auto own = SharedSegment::make(kBytes);
    std::int64_t told[2] = { 0, 0 };
    if (own) {
        const std::uint64_t mark = kMark + static_cast<std::uint64_t>(getpid());
        std::memcpy(own->memory(), &mark, sizeof mark);
        told[0] = getpid();
        told[1] = own->descriptor();
    }
    MPI_Bcast(told, 2, MPI_INT64_T, 0, node);
    const auto other = told[0] == 0 ? std::nullopt : SharedSegment::of(told[0], static_cast<int>(told[1]), kBytes);
    std::uint64_t mark = 0;
    if (other)
        std::memcpy(&mark, other->memory(), sizeof mark);
    MPI_Barrier(node); // the leader's stays until all have looked
    return other.has_value() && mark == kMark + static_cast<std::uint64_t>(told[0]);
}

bool World::sameGroup(int a, int b) const
{
    return m_members[static_cast<std::size_t>(a)].group == m_members[static_cast<std::size_t>(b)].group;
}

std::string World::nameOf(int rank) const
{
    return "rank " + std::to_string(rank) + " on " + m_members[static_cast<std::size_t>(rank)].host;
}

int World::lostNeighbour() const
{
    for (int other = 0; other < size(); ++other) {
        const Member& member = m_members[static_cast<std::size_t>(other)];
        const bool near = sameGroup(other, m_rank) && other != m_rank;
        if (near && kill(static_cast<pid_t>(member.process), 0) != 0 && errno == ESRCH)
            return other;
    }
    return -1;
}

void World::check(int status) const
{
    if (status == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(status, text, &length);
    throw Failure { "lost", "the connection between the processes failed: " + std::string(text), nameOf(m_rank) };
}

void World::abandon(MPI_Request request, std::vector<float> buffer) { m_abandoned.push_back({ request, std::move(buffer) }); }

void World::post(int to, std::string text)
{
    const std::lock_guard guard(m_lock);
    m_posted.push_back({ MPI_REQUEST_NULL, std::move(text) });
    Posted& posted = m_posted.back();
    check(MPI_Isend(posted.text.data(), static_cast<int>(posted.text.size()), MPI_BYTE, to, kTextTag, m_control, &posted.request));
}

std::optional<World::Message> World::take()
{
    const std::lock_guard guard(m_lock);
    for (int done = 1; !m_posted.empty() && done != 0;) {
        check(MPI_Test(&m_posted.front().request, &done, MPI_STATUS_IGNORE));
        if (done != 0)
            m_posted.pop_front();
    }
    int there = 0;
    MPI_Message message;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, kTextTag, m_control, &there, &message, &status));
    if (there == 0)
        return std::nullopt;
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    Message out { status.MPI_SOURCE, std::string(static_cast<std::size_t>(count), '\0') };
    check(MPI_Mrecv(out.text.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    return out;
}

bool World::drain(double seconds)
{
    for (double waited = 0; waited < seconds; waited += 0.001) {
        {
            const std::lock_guard guard(m_lock);
            for (int done = 1; !m_posted.empty() && done != 0;) {
                if (MPI_Test(&m_posted.front().request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                    return false;
                if (done != 0)
                    m_posted.pop_front();
            }
            if (m_posted.empty())
                return true;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

bool World::leave(double seconds)
{
    static std::atomic<bool> done { false };
    std::thread([this] {
        const std::lock_guard guard(m_lock);
        MPI_Finalize();
        done = true;
    }).detach();
    for (double waited = 0; waited < seconds && !done; waited += 0.002)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return done;
}

void World::abort(int status)
{
    std::thread([status] { MPI_Abort(MPI_COMM_WORLD, status); }).detach();
    std::this_thread::sleep_for(std::chrono::seconds(2)); // it ends us, or waits for somebody who is gone
    _exit(status);
}

} // namespace shardboard::engine::mpi
