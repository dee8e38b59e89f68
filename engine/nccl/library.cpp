// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/library.h"

#include "engine/failure.h"
#include "engine/nccl/ranks.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <dlfcn.h>
#include <exception>
#include <numeric>

namespace shardboard::engine::nccl {

namespace {

struct Symbols {
    decltype(&ncclGetErrorString) errorString = nullptr;
    decltype(&ncclCommInitAll) initAll = nullptr;
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
            throw Failure { "backend", std::string("this NCCL is too old: it has no ") + name + "; 2.18 or newer is needed", "nccl" };
    };
    find(out.errorString, "ncclGetErrorString");
    find(out.initAll, "ncclCommInitAll");
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
    std::vector<cuda::Runtime*> gpus;
    std::vector<std::vector<ncclComm_t>> communicators; ///< by number, then rank; the first is that of all

    std::string text(ncclResult_t result) const { return result == ncclSuccess ? std::string() : nccl.errorString(result); }
    ncclComm_t communicator(int number, std::size_t rank) const { return communicators[static_cast<std::size_t>(number)][rank]; }
    cudaStream_t stream(std::size_t rank) const { return static_cast<cudaStream_t>(gpus[rank]->stream()); }
};

Library::Library(const std::vector<cuda::Runtime*>& gpus)
    : m_state(std::make_unique<State>())
{
    m_state->nccl = load();
    m_state->gpus = gpus;
    std::vector<int> devices(gpus.size());
    std::iota(devices.begin(), devices.end(), 0);
    std::vector<ncclComm_t> all(gpus.size());
    if (const std::string error = m_state->text(m_state->nccl.initAll(all.data(), static_cast<int>(all.size()), devices.data())); !error.empty())
        throw Failure { "internal", "ncclCommInitAll: " + error, "nccl" };
    m_state->communicators.push_back(std::move(all));
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
    if (std::uncaught_exceptions() > 0)
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
    std::vector<ncclComm_t> parts(state.gpus.size(), nullptr);
    std::string error = state.text(state.nccl.groupStart());
    for (std::size_t rank = 0; rank < parts.size() && error.empty(); ++rank)
        error = state.text(state.nccl.split(state.communicator(0, rank), wanted.color[rank] < 0 ? NCCL_SPLIT_NOCOLOR : wanted.color[rank], wanted.key[rank], &parts[rank], nullptr));
    const std::string end = state.text(state.nccl.groupEnd());
    number = static_cast<int>(state.communicators.size());
    state.communicators.push_back(std::move(parts));
    return error.empty() ? end : error;
}

std::vector<Functions> Library::functions()
{
    std::vector<Functions> out;
    for (std::size_t rank = 0; rank < m_state->gpus.size(); ++rank) {
        Functions f;
        const State* s = m_state.get();
        f.groupStart = [s] { return s->text(s->nccl.groupStart()); };
        f.groupEnd = [s] { return s->text(s->nccl.groupEnd()); };
        f.allReduce = [s, rank](const void* from, void* to, std::size_t count, Element element, ReduceOp op, int c) {
            return s->text(s->nccl.allReduce(from, to, count, typeOf(element), opOf(op), s->communicator(c, rank), s->stream(rank)));
        };
        f.allGather = [s, rank](const void* from, void* to, std::size_t count, Element element, int c) {
            return s->text(s->nccl.allGather(from, to, count, typeOf(element), s->communicator(c, rank), s->stream(rank)));
        };
        f.reduceScatter = [s, rank](const void* from, void* to, std::size_t count, Element element, ReduceOp op, int c) {
            return s->text(s->nccl.reduceScatter(from, to, count, typeOf(element), opOf(op), s->communicator(c, rank), s->stream(rank)));
        };
        f.reduce = [s, rank](const void* from, void* to, std::size_t count, Element element, ReduceOp op, int root, int c) {
            return s->text(s->nccl.reduce(from, to, count, typeOf(element), opOf(op), root, s->communicator(c, rank), s->stream(rank)));
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
        out.push_back(std::move(f));
    }
    return out;
}

} // namespace shardboard::engine::nccl
