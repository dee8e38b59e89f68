// SPDX-License-Identifier: Apache-2.0
// Several GPUs of one process without any: stand-ins on the CPU with memory of their own, that only the one at work can reach, and
// NCCL played by the recorder.
#pragma once

#include "engine/cuda/hostruntime.h"
#include "engine/machine/failure.h"
#include "engine/nccl/process.h"
#include "engine/nccl/ranks.h"
#include "tests/engine/ncclrecorder.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace shardboard::engine::nccl::test {

class ApartRuntime;

/// Sees to it that work of one GPU that reaches into the memory of another one crashes.
class Apart {
public:
    void enter(const ApartRuntime* gpu);
    /// For NCCL, which works for all.
    void openAll() { enter(nullptr); }
    std::vector<ApartRuntime*> gpus;

private:
    const ApartRuntime* m_at = nullptr;
};

class ApartRuntime : public cuda::HostRuntime {
public:
    ApartRuntime(Apart& apart, std::int64_t bytes)
        : HostRuntime(bytes)
        , m_apart(apart)
        , m_bytes(bytes)
    {
        m_apart.gpus.push_back(this);
        m_tables = map(kTables);
    }
    ~ApartRuntime() override
    {
        std::erase(m_apart.gpus, this);
        munmap(m_tables, kTables);
        for (const auto& [memory, size] : m_blocks)
            munmap(memory, size);
    }

    std::byte* allocate(std::int64_t bytes) override
    {
        if (bytes > m_bytes)
            throw Failure { "memory", "the device has no room", "" };
        const auto size = static_cast<std::size_t>((bytes + 4095) / 4096 * 4096);
        std::byte* memory = map(size);
        m_blocks.emplace(memory, size);
        m_apart.openAll();
        return memory;
    }
    void release(std::byte* memory) override
    {
        munmap(memory, m_blocks.at(memory));
        m_blocks.erase(memory);
    }
    void set(void* memory, int byte, std::int64_t bytes) override
    {
        m_apart.enter(this);
        HostRuntime::set(memory, byte, bytes);
    }
    void copy(void* to, const void* from, std::int64_t bytes) override
    {
        m_apart.enter(this);
        HostRuntime::copy(to, from, bytes);
    }
    void download(void* to, const void* from, std::int64_t bytes) override
    {
        m_apart.enter(this);
        HostRuntime::download(to, from, bytes);
    }
    const void* table(const void* bytes, std::int64_t size) override
    {
        std::string key(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
        if (const auto found = m_known.find(key); found != m_known.end())
            return found->second;
        m_apart.enter(this);
        const std::size_t room = (key.size() + 255) / 256 * 256;
        if (m_used + room > kTables)
            throw Failure { "memory", "the stand-in has no room for another table", "" };
        std::byte* const memory = m_tables + m_used;
        m_used += room;
        std::memcpy(memory, key.data(), key.size());
        m_known.emplace(std::move(key), memory);
        return memory;
    }
    void gemm(const cuda::Gemm& gemm) override
    {
        m_apart.enter(this);
        HostRuntime::gemm(gemm);
    }
#define SHARDBOARD_CUDA_LAUNCH(Body)                                                                                               \
    void launch(const cuda::Body& body, const cuda::Grid& grid) override                                                           \
    {                                                                                                                              \
        m_apart.enter(this);                                                                                                       \
        HostRuntime::launch(body, grid);                                                                                           \
    }
    SHARDBOARD_CUDA_BODIES(SHARDBOARD_CUDA_LAUNCH)
#undef SHARDBOARD_CUDA_LAUNCH

    bool isDone() override { return !hangs; }
    bool hangs = false;

    void protect(int rights)
    {
        mprotect(m_tables, kTables, rights);
        for (const auto& [memory, size] : m_blocks)
            mprotect(memory, size, rights);
    }
    bool owns(const void* memory, std::size_t bytes) const
    {
        const auto* first = static_cast<const std::byte*>(memory);
        for (const auto& [block, size] : m_blocks)
            if (first >= block && first + bytes <= block + size)
                return true;
        return false;
    }
    std::size_t blocks() const { return m_blocks.size(); } ///< that were not given back

private:
    static constexpr std::size_t kTables = std::size_t { 256 } << 20;

    static std::byte* map(std::size_t bytes)
    {
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            throw Failure { "memory", "no memory for a stand-in", "" };
        return static_cast<std::byte*>(memory);
    }

    Apart& m_apart;
    std::int64_t m_bytes;
    std::map<std::byte*, std::size_t> m_blocks;
    std::byte* m_tables = nullptr;
    std::size_t m_used = 0;
    std::map<std::string, const void*> m_known;
};

inline void Apart::enter(const ApartRuntime* gpu)
{
    if (m_at == gpu && gpu != nullptr)
        return;
    for (ApartRuntime* each : gpus)
        each->protect(gpu == nullptr || each == gpu ? PROT_READ | PROT_WRITE : PROT_NONE);
    m_at = gpu;
}

/// All ranks of one thread: a group holds the calls of all of them, is gone through when it ends, and what would wait for a rank
/// whose call comes after it hangs. Copies are made at once, by the kernels of stand-ins for the GPUs.
class OneProcess {
public:
    explicit OneProcess(std::int64_t ranks, std::int64_t bytes = std::int64_t { 64 } << 20)
    {
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            m_gpus.push_back(std::make_unique<ApartRuntime>(m_apart, bytes));
            m_pointers.push_back(m_gpus.back().get());
        }
    }
    OneProcess(const OneProcess&) = delete;
    OneProcess& operator=(const OneProcess&) = delete;

    const std::vector<cuda::Runtime*>& gpus() const { return m_pointers; }
    const ApartRuntime& gpu(std::size_t rank) const { return *m_gpus[rank]; }
    ApartRuntime& gpu(std::size_t rank) { return *m_gpus[rank]; }
    const std::vector<Communicator>& communicators() const { return m_communicators; }
    Process::Split split()
    {
        return [this](const Communicator& wanted, int& number) {
            if (m_recorder)
                return std::string("within a group");
            if (wanted.color.size() != m_gpus.size())
                return std::string("not all ranks split");
            number = static_cast<int>(m_communicators.size());
            m_communicators.push_back(wanted);
            return std::string();
        };
    }
    std::vector<Functions> functions()
    {
        std::vector<Functions> out;
        for (std::size_t rank = 0; rank < m_gpus.size(); ++rank) {
            Functions f;
            f.groupStart = [this] {
                if (m_recorder)
                    return std::string("a group within a group");
                m_recorder.emplace(m_communicators, m_gpus.size(), [this](std::size_t r, const void* memory, std::size_t bytes) {
                    return !owned || m_gpus[r]->owns(memory, bytes);
                });
                m_open.assign(m_gpus.size(), false);
                return std::string();
            };
            f.groupEnd = [this] {
                if (!m_recorder)
                    return std::string("a group ends that did not begin");
                for (std::size_t r = 0; r < m_open.size(); ++r)
                    if (m_open[r])
                        m_recorder->functionsOf(r).groupEnd();
                m_apart.openAll();
                const std::string wrong = m_recorder->settle();
                m_recorder.reset();
                ++groups;
                return wrong;
            };
            const auto within = [this, rank](What what, const auto& call) {
                ++calls[what];
                if (failAt > 0 && ++m_made == failAt)
                    return std::string("unhandled system error");
                if (!m_recorder) // one thread for all: this rank would wait for a call that never comes
                    return std::string("a call outside of a group waits for ever");
                const Functions recorded = m_recorder->functionsOf(rank);
                if (!m_open[rank]) {
                    recorded.groupStart();
                    m_open[rank] = true;
                }
                return call(recorded);
            };
            f.allReduce = [=](const void* from, void* to, std::size_t count, Element e, ReduceOp op, int c) {
                return within(What::AllReduce, [=](const Functions& r) { return r.allReduce(from, to, count, e, op, c); });
            };
            f.allGather = [=](const void* from, void* to, std::size_t count, Element e, int c) {
                return within(What::AllGather, [=](const Functions& r) { return r.allGather(from, to, count, e, c); });
            };
            f.reduceScatter = [=](const void* from, void* to, std::size_t count, Element e, ReduceOp op, int c) {
                return within(What::ReduceScatter, [=](const Functions& r) { return r.reduceScatter(from, to, count, e, op, c); });
            };
            f.reduce = [=](const void* from, void* to, std::size_t count, Element e, ReduceOp op, int root, int c) {
                return within(What::Reduce, [=](const Functions& r) { return r.reduce(from, to, count, e, op, root, c); });
            };
            f.send = [=](const void* from, std::size_t count, Element e, int peer, int c) {
                return within(What::Send, [=](const Functions& r) { return r.send(from, count, e, peer, c); });
            };
            f.receive = [=](void* to, std::size_t count, Element e, int peer, int c) {
                return within(What::Receive, [=](const Functions& r) { return r.receive(to, count, e, peer, c); });
            };
            f.local = [this, rank](const Call& call, const void* from, void* to, Element e) {
                if (m_recorder)
                    return std::string("a copy within a group of calls would not wait for them");
                return copyOn(*m_pointers[rank], call, from, to, e);
            };
            out.push_back(std::move(f));
        }
        return out;
    }
    int groups = 0;
    std::map<What, int> calls; ///< of all ranks
    int failAt = 0; ///< this call fails, counted from 1; 0: none
    bool owned = true; ///< buffers have to be memory of the rank's GPU

private:
    Apart m_apart; // outlives the GPUs
    std::vector<std::unique_ptr<ApartRuntime>> m_gpus;
    std::vector<cuda::Runtime*> m_pointers;
    std::vector<Communicator> m_communicators;
    std::optional<Recorder> m_recorder;
    std::vector<bool> m_open;
    int m_made = 0;
};

} // namespace shardboard::engine::nccl::test
