// SPDX-License-Identifier: Apache-2.0
// This process as one of several that mpirun or srun has started: who the others are, on which hosts, and messages between
// them. MPI exists once in a process and so does this. MPI is called by one thread at a time, under lock().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <mpi.h>

namespace shardboard::engine::mpi {

struct Member {
    std::string host;
    int group = 0; ///< those of equal groups see each other's memory
    std::int64_t process = 0; ///< id on its host
    std::int64_t cores = 0; ///< that it may use
    std::int64_t memoryBytes = 0; ///< of its host, available when it started
};

class World {
public:
    /// Null when this process was not started by an MPI launcher. Joins the others when first asked.
    static World* ofThisProcess();

    int rank() const { return m_rank; }
    int size() const { return static_cast<int>(m_members.size()); }
    const std::vector<Member>& members() const { return m_members; }
    bool sameGroup(int a, int b) const;
    /// `rank 2 on HOST`.
    std::string nameOf(int rank) const;
    /// The first process of our host that has ended without a word; -1: none is known to have.
    int lostNeighbour() const;

    std::mutex& lock() { return m_lock; }
    MPI_Comm data() const { return m_data; }
    /// Throws Failure "lost" for anything but success.
    void check(int status) const;
    /// A send that could not be finished; its buffer is kept until MPI is done with it.
    void abandon(MPI_Request request, std::vector<float> buffer);

    struct Message {
        int from = 0;
        std::string text;
    };
    /// Hands over a text; returns at once.
    void post(int to, std::string text);
    /// A text that has come; never waits for one.
    std::optional<Message> take();
    /// Waits until all posted texts are gone, but not longer. True when they are.
    bool drain(double seconds);

    /// Leaves MPI together with all others; false when they do not come within that time.
    bool leave(double seconds);
    /// Ends all processes.
    [[noreturn]] void abort(int status);

private:
    World() = default;
    void join();
    bool seesLeader(MPI_Comm node) const;

    int m_rank = 0;
    std::vector<Member> m_members;
    std::mutex m_lock;
    MPI_Comm m_control = MPI_COMM_NULL;
    MPI_Comm m_data = MPI_COMM_NULL;
    struct Posted {
        MPI_Request request;
        std::string text;
    };
    std::deque<Posted> m_posted; ///< guarded by m_lock
    struct Abandoned {
        MPI_Request request;
        std::vector<float> buffer;
    };
    std::deque<Abandoned> m_abandoned;
};

} // namespace shardboard::engine::mpi
