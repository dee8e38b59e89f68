// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/library.h"

#include "engine/machine/failure.h"
#include "engine/nccl/ranks.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

namespace shardboard::engine::nccl {

namespace {

struct Symbols {
    decltype(&ncclGetErrorString) errorString = nullptr;
    decltype(&ncclGetUniqueId) uniqueId = nullptr;
    decltype(&ncclCommInitAll) initAll = nullptr;
    decltype(&ncclCommInitRankConfig) initRank = nullptr;
    decltype(&ncclCommGetAsyncError) asyncError = nullptr;
    decltype(&ncclCommSplit) split = nullptr;
    decltype(&ncclCommDestroy) destroy = nullptr;
    decltype(&ncclCommAbort) abort = nullptr;
    decltype(&ncclGroupStart) groupStart = nullptr;
    decltype(&ncclGroupEnd) groupEnd = nullptr;
    decltype(&ncclAllReduce) allReduce = nullptr;
    decltype(&ncclAllGather) allGather = nullptr;
    decltype(&ncclReduceScatter) reduceScatter = nullptr;
    decltype(&ncclReduce) reduce = nullptr;
    decltype(&ncclSend) send = nullptr;
    decltype(&ncclRecv) receive = nullptr;
};

Symbols load()
{
    if (const std::string missing = whyNoNccl(); !missing.empty())
        throw Failure { "backend", missing, "nccl" };
    void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        library = dlopen("libnccl.so", RTLD_NOW | RTLD_LOCAL);
    Symbols out;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        if (function == nullptr)
            throw Failure { "backend", std::string("this NCCL is too old: it has no ") + name + "; 2.18 or newer is needed",
                            "nccl" };
    };
    find(out.errorString, "ncclGetErrorString");
    find(out.uniqueId, "ncclGetUniqueId");
    find(out.initAll, "ncclCommInitAll");
    find(out.initRank, "ncclCommInitRankConfig");
    find(out.asyncError, "ncclCommGetAsyncError");
    find(out.split, "ncclCommSplit");
    find(out.destroy, "ncclCommDestroy");
    find(out.abort, "ncclCommAbort");
    find(out.groupStart, "ncclGroupStart");
    find(out.groupEnd, "ncclGroupEnd");
    find(out.allReduce, "ncclAllReduce");
    find(out.allGather, "ncclAllGather");
    find(out.reduceScatter, "ncclReduceScatter");
    find(out.reduce, "ncclReduce");
    find(out.send, "ncclSend");
    find(out.receive, "ncclRecv");
    return out;
}

ncclDataType_t typeOf(Element element) { return element == Element::BF16 ? ncclBfloat16 : ncclFloat32; }
ncclRedOp_t opOf(ReduceOp op) { return op == ReduceOp::Max ? ncclMax : ncclSum; }

} // namespace

struct Library::State {
    Symbols nccl;
    std::vector<cuda::Runtime*> gpus; ///< of this process
    std::size_t ranks = 0; ///< of all
    std::size_t first = 0; ///< rank of gpus[0]
    std::function<bool()> stopped; ///< empty: communicators block
    std::vector<std::vector<ncclComm_t>> communicators; ///< by number, then own GPU; the first is that of all
    mutable std::set<ncclComm_t> asked; ///< in the group of calls that is open

    /// What does not block says that it goes on; settle() waits for it.
    std::string text(ncclResult_t result) const
    {
        return result == ncclSuccess || (stopped && result == ncclInProgress) ? std::string() : nccl.errorString(result);
    }
    ncclComm_t communicator(int number, std::size_t gpu) const
    {
        ncclComm_t found = communicators[static_cast<std::size_t>(number)][gpu];
        asked.insert(found);
        return found;
    }
    cudaStream_t stream(std::size_t gpu) const { return static_cast<cudaStream_t>(gpus[gpu]->stream()); }

    /// Waits until communicators are through with what they were asked for.
    template <class Communicators>
    std::string settle(const Communicators& all) const
    {
        constexpr std::chrono::microseconds kBetween { 20 };
        for (ncclComm_t communicator : all) {
            ncclResult_t state = ncclInProgress;
            while (stopped && communicator != nullptr) {
                if (const ncclResult_t asking = nccl.asyncError(communicator, &state); asking != ncclSuccess)
                    return nccl.errorString(asking);
                if (state == ncclSuccess)
                    break;
                if (state != ncclInProgress)
                    return nccl.errorString(state);
                if (stopped())
                    throw Stopped {};
                std::this_thread::sleep_for(kBetween);
            }
        }
        return {};
    }
    std::string endGroup() const
    {
        const std::string error = text(nccl.groupEnd());
        const auto all = std::exchange(asked, {});
        return error.empty() ? settle(all) : error;
    }
};

Library::Library(const std::vector<cuda::Runtime*>& gpus)
    : m_state(std::make_unique<State>())
{
    m_state->nccl = load();
    m_state->gpus = gpus;
    m_state->ranks = gpus.size();
    std::vector<int> devices(gpus.size());
    std::iota(devices.begin(), devices.end(), 0);
    std::vector<ncclComm_t> all(gpus.size());
    if (const std::string error = m_state->text(m_state->nccl.initAll(all.data(), static_cast<int>(all.size()), devices.data()));
        !error.empty())
        throw Failure { "internal", "ncclCommInitAll: " + error, "nccl" };
    m_state->communicators.push_back(std::move(all));
}

Library::Library(const std::vector<cuda::Runtime*>& gpus, const Among& among, std::function<bool()> stopped)
    : m_state(std::make_unique<State>())
{
    State& state = *m_state;
    state.nccl = load();
    state.gpus = gpus;
    state.ranks = among.ranks;
    state.first = among.first;
    state.stopped = std::move(stopped);
    ncclUniqueId id {};
    std::memcpy(id.internal, among.id.data(), std::min(sizeof id.internal, among.id.size()));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    state.communicators.emplace_back(gpus.size(), nullptr);
    std::vector<ncclComm_t>& all = state.communicators.back();
    std::string error = state.text(state.nccl.groupStart());
    for (std::size_t i = 0; i < gpus.size() && error.empty(); ++i) {
        error = among.choose(i);
        if (error.empty())
            error = state.text(
                state.nccl.initRank(&all[i], static_cast<int>(among.ranks), id, static_cast<int>(among.first + i), &config));
    }
    try {
        const std::string end = state.text(state.nccl.groupEnd());
        error = !error.empty() ? error : !end.empty() ? end : state.settle(all);
    } catch (const Stopped&) {
        abandon();
        throw;
    }
    if (!error.empty()) {
        abandon();
        throw Failure { "internal", "ncclCommInitRank: " + error + "; set NCCL_DEBUG=WARN for the worker to see why", "nccl" };
    }
}

std::vector<std::byte> Library::uniqueId()
{
    const Symbols nccl = load();
    ncclUniqueId id {};
    if (const ncclResult_t result = nccl.uniqueId(&id); result != ncclSuccess)
        throw Failure { "internal", std::string("ncclGetUniqueId: ") + nccl.errorString(result), "nccl" };
    const auto* bytes = reinterpret_cast<const std::byte*>(id.internal);
    return { bytes, bytes + sizeof id.internal };
}

void Library::abandon()
{
    for (auto each = m_state->communicators.rbegin(); each != m_state->communicators.rend(); ++each)
        for (ncclComm_t communicator : *each)
            if (communicator != nullptr)
                m_state->nccl.abort(communicator);
    m_state->communicators.clear();
}

Library::~Library()
{
    if (std::uncaught_exceptions() > 0 || m_state->stopped) // to be destroyed in good order it takes all processes at once
        abandon();
    for (cuda::Runtime* gpu : m_state->gpus)
        cudaStreamSynchronize(static_cast<cudaStream_t>(gpu->stream()));
    for (auto each = m_state->communicators.rbegin(); each != m_state->communicators.rend(); ++each)
        for (ncclComm_t communicator : *each)
            if (communicator != nullptr)
                m_state->nccl.destroy(communicator);
}

std::string Library::split(const Communicator& wanted, int& number)
{
    State& state = *m_state;
    number = static_cast<int>(state.communicators.size());
    state.communicators.emplace_back(state.gpus.size(),
                                     nullptr); // where they are, whatever happens: abandon() looks for them there
    std::vector<ncclComm_t>& parts = state.communicators.back();
    std::string error = state.text(state.nccl.groupStart());
    for (std::size_t i = 0; i < parts.size() && error.empty(); ++i) {
        const std::size_t rank = state.first + i;
        error =
            state.text(state.nccl.split(state.communicator(0, i), wanted.color[rank] < 0 ? NCCL_SPLIT_NOCOLOR : wanted.color[rank],
                                        wanted.key[rank], &parts[i], nullptr));
    }
    const std::string end = state.endGroup();
    if (!error.empty() || !end.empty())
        return error.empty() ? end : error;
    return state.settle(parts);
}

std::vector<Functions> Library::functions()
{
    std::vector<Functions> out(m_state->ranks);
    for (std::size_t rank = 0; rank < m_state->gpus.size(); ++rank) { // counted among the own ones
        Functions& f = out[m_state->first + rank];
        const State* s = m_state.get();
        f.groupStart = [s] { return s->text(s->nccl.groupStart()); };
        f.groupEnd = [s] { return s->endGroup(); };
        f.allReduce = [s, rank](const void* from, void* to, std::size_t count, Element element, ReduceOp op, int c) {
            return s->text(
                s->nccl.allReduce(from, to, count, typeOf(element), opOf(op), s->communicator(c, rank), s->stream(rank)));
        };
        f.allGather = [s, rank](const void* from, void* to, std::size_t count, Element element, int c) {
            return s->text(s->nccl.allGather(from, to, count, typeOf(element), s->communicator(c, rank), s->stream(rank)));
        };
        f.reduceScatter = [s, rank](const void* from, void* to, std::size_t count, Element element, ReduceOp op, int c) {
            return s->text(
                s->nccl.reduceScatter(from, to, count, typeOf(element), opOf(op), s->communicator(c, rank), s->stream(rank)));
        };
        f.reduce = [s, rank](const void* from, void* to, std::size_t count, Element element, ReduceOp op, int root, int c) {
            return s->text(
                s->nccl.reduce(from, to, count, typeOf(element), opOf(op), root, s->communicator(c, rank), s->stream(rank)));
        };
        f.send = [s, rank](const void* from, std::size_t count, Element element, int peer, int c) {
            return s->text(s->nccl.send(from, count, typeOf(element), peer, s->communicator(c, rank), s->stream(rank)));
        };
        f.receive = [s, rank](void* to, std::size_t count, Element element, int peer, int c) {
            return s->text(s->nccl.receive(to, count, typeOf(element), peer, s->communicator(c, rank), s->stream(rank)));
        };
        f.local = [gpu = m_state->gpus[rank]](const Call& call, const void* from, void* to, Element element) {
            return copyOn(*gpu, call, from, to, element);
        };
    }
    return out;
}

} // namespace shardboard::engine::nccl
