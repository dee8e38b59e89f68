// SPDX-License-Identifier: Apache-2.0
// NCCL between the processes of mpirun, without any GPU: stand-ins for the GPUs of this process, and calls whose values go to the
// other processes by MPI. As the recorder does, it says what would hang or be undefined with the library: members of a communicator
// that call something else or with other counts, dtypes, operations or roots, ranks that are in no group of it, processes that
// split other communicators, memory of another GPU. A call that others do not make is waited for until the run is stopped, as
// there.
#pragma once

#include "engine/machine/failure.h"
#include "engine/mpi/world.h"
#include "engine/nccl/multiprocess.h"
#include "tests/engine/ncclstandins.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace shardboard::engine::nccl::test {

/// Messages between ranks, in their order. Those of a communicator that was given up are dropped.
class FarMail {
public:
    struct Header {
        std::int64_t generation = 0;
        int communicator = -1; ///< its number; -1: a split
        int from = 0; ///< ranks
        int to = 0;
        What what = What::Local;
        Element element = Element::F32;
        ReduceOp op = ReduceOp::Sum;
        int peer = -1;
        std::int64_t count = 0;
    };
    struct Letter {
        Header header;
        std::vector<std::byte> values;
    };

    explicit FarMail(mpi::World& world)
        : m_world(world)
    {
        const std::lock_guard guard(m_world.lock());
        MPI_Comm_dup(MPI_COMM_WORLD, &m_comm); // all processes make it at the same time
    }

    void begin(std::int64_t generation) { m_generation = generation; }
    void send(int process, Letter letter)
    {
        letter.header.generation = m_generation;
        if (process == m_world.rank())
            return keep(std::move(letter));
        m_sent.emplace_back();
        Sent& sent = m_sent.back();
        sent.bytes.resize(sizeof(Header) + letter.values.size());
        std::memcpy(sent.bytes.data(), &letter.header, sizeof(Header));
        if (!letter.values.empty())
            std::memcpy(sent.bytes.data() + sizeof(Header), letter.values.data(), letter.values.size());
        const std::lock_guard guard(m_world.lock());
        MPI_Isend(sent.bytes.data(), static_cast<int>(sent.bytes.size()), MPI_BYTE, process, 7, m_comm, &sent.request);
    }
    /// The next letter from a rank to another one; waits for it. Throws Stopped.
    Letter take(int communicator, int from, int to, const std::function<bool()>& stopped)
    {
        auto& box = m_boxes[{ m_generation, communicator, from, to }];
        while (box.empty()) {
            if (stopped())
                throw Stopped {};
            if (!look())
                std::this_thread::sleep_for(std::chrono::microseconds(30));
        }
        Letter out = std::move(box.front());
        box.pop_front();
        return out;
    }

private:
    struct Sent {
        std::vector<std::byte> bytes;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    void keep(Letter letter)
    {
        const Header& h = letter.header;
        if (h.generation >= m_generation)
            m_boxes[{ h.generation, h.communicator, h.from, h.to }].push_back(std::move(letter));
    }
    bool look()
    {
        Letter letter;
        {
            const std::lock_guard guard(m_world.lock());
            std::erase_if(m_sent, [](Sent& sent) {
                int done = 0;
                MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE);
                return done != 0;
            });
            int there = 0;
            MPI_Message message;
            MPI_Status status;
            MPI_Improbe(MPI_ANY_SOURCE, 7, m_comm, &there, &message, &status);
            if (there == 0)
                return false;
            int count = 0;
            MPI_Get_count(&status, MPI_BYTE, &count);
            std::vector<std::byte> bytes(static_cast<std::size_t>(count));
            MPI_Mrecv(bytes.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
            std::memcpy(&letter.header, bytes.data(), sizeof(Header));
            letter.values.assign(bytes.begin() + sizeof(Header), bytes.end());
        }
        keep(std::move(letter));
        return true;
    }

    mpi::World& m_world;
    MPI_Comm m_comm = MPI_COMM_NULL;
    std::int64_t m_generation = 0;
    std::list<Sent> m_sent;
    std::map<std::tuple<std::int64_t, int, int, int>, std::deque<Letter>> m_boxes; ///< generation, communicator, from, to
};

/// What goes wrong in a process, for tests of it.
struct FarTrouble {
    int failAt = 0; ///< this call of NCCL fails, counted from 1 over all runs; 0: none
    int hangAt = 0; ///< from this one on the first own GPU is never done; 0: none
    int otherAt = 0; ///< this one has another count than the plan says; 0: none
    int diesAt = 0; ///< the process is killed when it makes this one; 0: it is not
    int failsToJoin = 0; ///< so often it fails when the processes join
};

/// The GPUs of a process among those of others, `each` in every process.
class FarLocalRanks : public LocalRanks {
public:
    FarLocalRanks(FarMail& mail, const LocalGpus::JoinRequest& request, std::int64_t bytes, const FarTrouble& trouble, int& calls)
        : m_mail(mail)
        , m_request(request)
        , m_trouble(trouble)
        , m_calls(calls)
    {
        std::int64_t generation = 0;
        std::memcpy(&generation, request.id.data(), sizeof generation);
        m_mail.begin(generation);
        for (std::size_t i = 0; i < request.gpus.size(); ++i) {
            m_gpus.push_back(std::make_unique<ApartRuntime>(m_apart, bytes));
            m_pointers.push_back(m_gpus.back().get());
        }
        m_communicators.push_back(everyone(static_cast<std::size_t>(request.ranks)));
        agree(m_communicators.front()); // as the library, which comes back when all are there
    }
    const std::vector<cuda::Runtime*>& gpus() const override { return m_pointers; }
    void abandon() override
    {
        for (const auto& gpu : m_gpus)
            gpu->hangs = false;
    }
    std::string split(const Communicator& wanted, int& number) override
    {
        if (m_open)
            return "within a group";
        if (wanted.color.size() != static_cast<std::size_t>(m_request.ranks))
            return "not all ranks split";
        number = static_cast<int>(m_communicators.size());
        m_communicators.push_back(wanted);
        return agree(wanted);
    }
    std::vector<Functions> functions() override
    {
        std::vector<Functions> out(static_cast<std::size_t>(m_request.ranks));
        for (std::size_t i = 0; i < m_gpus.size(); ++i)
            out[static_cast<std::size_t>(m_request.first) + i] = functionsOf(static_cast<int>(i));
        return out;
    }

private:
    struct Asked {
        int gpu = 0;
        FarMail::Header header;
        const void* from = nullptr;
        void* to = nullptr;
        std::vector<std::byte> values; ///< as they were when it was asked for
    };

    int processOf(std::int64_t rank) const { return static_cast<int>(rank) / static_cast<int>(m_gpus.size()); }
    const Communicator& communicator(int number) const { return m_communicators[static_cast<std::size_t>(number)]; }

    /// All processes split the same.
    std::string agree(const Communicator& wanted)
    {
        FarMail::Letter letter;
        for (const auto* each : { &wanted.color, &wanted.key }) {
            const auto* bytes = reinterpret_cast<const std::byte*>(each->data());
            letter.values.insert(letter.values.end(), bytes, bytes + each->size() * sizeof(int));
        }
        const int processes = m_request.ranks / static_cast<int>(m_gpus.size());
        const int here = processOf(m_request.first);
        for (int other = 0; other < processes; ++other) {
            if (other == here)
                continue;
            letter.header.from = here;
            letter.header.to = other;
            m_mail.send(other, letter);
        }
        for (int other = 0; other < processes; ++other)
            if (other != here && m_mail.take(-1, other, here, m_request.stopped).values != letter.values)
                return "process " + std::to_string(other) + " splits another communicator";
        return {};
    }

    Functions functionsOf(int gpu)
    {
        Functions f;
        f.groupStart = [this] {
            if (m_open)
                return std::string("a group within a group");
            m_open = true;
            return std::string();
        };
        f.groupEnd = [this] { return close(); };
        const auto ask = [this, gpu](What what, const void* from, void* to, std::size_t count, Element element, ReduceOp op,
                                     int peer, int c) {
            FarMail::Header header;
            header.communicator = c;
            header.from = m_request.first + gpu;
            header.what = what;
            header.element = element;
            header.op = op;
            header.peer = peer;
            header.count = static_cast<std::int64_t>(count);
            return note({ gpu, header, from, to, {} });
        };
        f.allReduce = [=](const void* from, void* to, std::size_t n, Element e, ReduceOp op, int c) {
            return ask(What::AllReduce, from, to, n, e, op, -1, c);
        };
        f.allGather = [=](const void* from, void* to, std::size_t n, Element e, int c) {
            return ask(What::AllGather, from, to, n, e, ReduceOp::Sum, -1, c);
        };
        f.reduceScatter = [=](const void* from, void* to, std::size_t n, Element e, ReduceOp op, int c) {
            return ask(What::ReduceScatter, from, to, n, e, op, -1, c);
        };
        f.reduce = [=](const void* from, void* to, std::size_t n, Element e, ReduceOp op, int root, int c) {
            return ask(What::Reduce, from, to, n, e, op, root, c);
        };
        f.send = [=](const void* from, std::size_t n, Element e, int peer, int c) {
            return ask(What::Send, from, nullptr, n, e, ReduceOp::Sum, peer, c);
        };
        f.receive = [=](void* to, std::size_t n, Element e, int peer, int c) {
            return ask(What::Receive, nullptr, to, n, e, ReduceOp::Sum, peer, c);
        };
        f.local = [this, gpu](const Call& call, const void* from, void* to, Element e) {
            if (m_open)
                return std::string("a copy within a group of calls would not wait for them");
            return copyOn(*m_pointers[static_cast<std::size_t>(gpu)], call, from, to, e);
        };
        return f;
    }

    /// As there, a group of which a call has failed does nothing when it ends.
    std::string note(Asked asked)
    {
        std::string wrong = judge(asked);
        m_failed = m_failed || !wrong.empty();
        if (wrong.empty())
            m_asked.push_back(std::move(asked));
        return wrong;
    }

    std::string judge(Asked& asked)
    {
        FarMail::Header& h = asked.header;
        if (++m_calls == m_trouble.failAt)
            return "unhandled system error";
        if (m_calls == m_trouble.diesAt)
            raise(SIGKILL);
        if (m_calls == m_trouble.hangAt)
            m_gpus.front()->hangs = true;
        if (m_calls == m_trouble.otherAt)
            --h.count;
        if (!m_open) // this thread has the calls of several ranks to make
            return "a call outside of a group waits for ever";
        if (h.count == 0)
            return "a call for nothing";
        if (h.communicator < 0 || static_cast<std::size_t>(h.communicator) >= m_communicators.size())
            return "a communicator that is not there";
        if (communicator(h.communicator).color[static_cast<std::size_t>(h.from)] < 0)
            return "a rank calls in a communicator that it is not in";
        const auto members = communicator(h.communicator).groupOf(h.from).size();
        const bool hasPeer = h.what == What::Send || h.what == What::Receive || h.what == What::Reduce;
        if (hasPeer && (h.peer < 0 || static_cast<std::size_t>(h.peer) >= members))
            return "a peer outside of the communicator";
        const std::size_t bytes = static_cast<std::size_t>(h.count * bytesOf(h.element));
        const ApartRuntime& gpu = *m_gpus[static_cast<std::size_t>(asked.gpu)];
        const std::size_t read = h.what == What::ReduceScatter ? bytes * members : bytes;
        if (h.what != What::Receive && !gpu.owns(asked.from, read))
            return "values are taken from memory of another GPU";
        if (h.what != What::Send && !gpu.owns(asked.to, h.what == What::AllGather ? bytes * members : bytes))
            return "values are put into memory of another GPU";
        return {};
    }

    /// Everything goes out before anything is waited for: the calls of a group are made together.
    std::string close()
    {
        if (!m_open)
            return "a group ends that did not begin";
        m_open = false;
        m_apart.openAll();
        std::vector<Asked> asked = std::move(m_asked);
        m_asked.clear();
        if (m_failed)
            return "a call of the group has failed";
        for (Asked& one : asked) {
            FarMail::Header& h = one.header;
            const auto& members = communicator(h.communicator).groupOf(h.from);
            if (h.what == What::Receive)
                continue;
            const std::size_t factor = h.what == What::ReduceScatter ? members.size() : 1;
            const auto* first = static_cast<const std::byte*>(one.from);
            one.values.assign(first, first + static_cast<std::size_t>(h.count * bytesOf(h.element)) * factor);
            for (std::size_t key = 0; key < members.size(); ++key) {
                if (h.what == What::Send && static_cast<int>(key) != h.peer)
                    continue;
                FarMail::Letter letter { h, one.values };
                letter.header.to = static_cast<int>(members[key]);
                m_mail.send(processOf(members[key]), std::move(letter));
            }
        }
        for (const Asked& one : asked)
            if (const std::string wrong = one.header.what == What::Send ? std::string() : receive(one); !wrong.empty())
                return wrong;
        return {};
    }

    std::string receive(const Asked& one)
    {
        const FarMail::Header& h = one.header;
        const auto& members = communicator(h.communicator).groupOf(h.from);
        if (h.what == What::Receive) {
            const auto from = static_cast<int>(members[static_cast<std::size_t>(h.peer)]);
            const FarMail::Letter letter = m_mail.take(h.communicator, from, h.from, m_request.stopped);
            if (letter.header.what != What::Send || letter.header.count != h.count || letter.header.element != h.element)
                return "rank " + std::to_string(h.from) + " receives something else than is sent";
            std::memcpy(one.to, letter.values.data(), letter.values.size());
            return {};
        }
        std::vector<std::vector<std::byte>> all;
        for (const std::int64_t member : members) {
            FarMail::Letter letter = m_mail.take(h.communicator, static_cast<int>(member), h.from, m_request.stopped);
            const FarMail::Header& other = letter.header;
            if (other.what != h.what || other.count != h.count || other.element != h.element || other.op != h.op
                || other.peer != h.peer)
                return "ranks " + std::to_string(h.from) + " and " + std::to_string(member)
                    + " call different things in one communicator";
            all.push_back(std::move(letter.values));
        }
        const auto elements = [&](const void* memory) {
            cuda::Elements out;
            out.data = const_cast<void*>(memory);
            out.half = h.element == Element::BF16 ? 1 : 0;
            return out;
        };
        const int key = communicator(h.communicator).key[static_cast<std::size_t>(h.from)];
        if (h.what == What::Reduce && key != h.peer)
            return {};
        cuda::Elements to = elements(one.to);
        if (h.what == What::AllGather) {
            for (std::size_t m = 0; m < all.size(); ++m)
                std::memcpy(static_cast<std::byte*>(one.to) + m * all[m].size(), all[m].data(), all[m].size());
            return {};
        }
        const std::int64_t begin = h.what == What::ReduceScatter ? key * h.count : 0;
        for (std::int64_t i = 0; i < h.count; ++i) {
            float sum = elements(all.front().data()).at(begin + i);
            for (std::size_t m = 1; m < all.size(); ++m) {
                const float value = elements(all[m].data()).at(begin + i);
                sum = h.op == ReduceOp::Max ? std::max(sum, value) : sum + value;
            }
            to.set(i, sum);
        }
        return {};
    }

    FarMail& m_mail;
    LocalGpus::JoinRequest m_request;
    const FarTrouble& m_trouble;
    int& m_calls; ///< of NCCL so far, of all runs
    Apart m_apart; // outlives the GPUs
    std::vector<std::unique_ptr<ApartRuntime>> m_gpus;
    std::vector<cuda::Runtime*> m_pointers;
    std::vector<Communicator> m_communicators;
    std::vector<Asked> m_asked;
    bool m_open = false;
    bool m_failed = false;
};

/// What a process of the test has.
class FarGpus : public LocalGpus {
public:
    FarGpus(mpi::World& world, int gpus, std::int64_t bytes, FarTrouble trouble, std::string missing = {})
        : m_world(world)
        , m_mail(world)
        , m_count(gpus)
        , m_bytes(bytes)
        , m_trouble(trouble)
        , m_missing(std::move(missing))
    {
    }
    ProcessGpus visibleGpus() override
    {
        ProcessGpus out;
        out.host = "host";
        out.missing = m_missing;
        for (int gpu = 0; gpu < m_count && m_missing.empty(); ++gpu)
            out.gpus.push_back({ std::to_string(m_world.rank()) + "." + std::to_string(gpu), "stand-in", 1, m_bytes });
        return out;
    }
    std::vector<std::byte> uniqueId() override
    {
        std::vector<std::byte> id(kUniqueIdBytes, std::byte { 0x5a });
        ++joined;
        std::memcpy(id.data(), &joined, sizeof joined);
        return id;
    }
    std::unique_ptr<LocalRanks> join(const JoinRequest& request) override
    {
        if (m_trouble.failsToJoin-- > 0)
            throw Failure { "internal", "ncclCommInitRank: unhandled system error", "nccl" };
        return std::make_unique<FarLocalRanks>(m_mail, request, m_bytes, m_trouble, m_calls);
    }
    std::int64_t joined = 0; ///< how often, in the first process

private:
    mpi::World& m_world;
    FarMail m_mail;
    int m_count;
    std::int64_t m_bytes;
    FarTrouble m_trouble;
    std::string m_missing;
    int m_calls = 0;
};

} // namespace shardboard::engine::nccl::test
