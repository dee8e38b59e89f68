// SPDX-License-Identifier: Apache-2.0
#include "engine/nccl/functions.h"

#include "engine/machine/failure.h"

#include <array>
#include <dlfcn.h>

namespace shardboard::engine::nccl {

namespace {

const char* nameOf(What what)
{
    constexpr std::array names { "ncclGroupStart", "ncclGroupEnd", "ncclAllReduce", "ncclAllGather", "ncclReduceScatter",
                                 "ncclReduce",     "ncclSend",     "ncclRecv",      "a copy" };
    return names[static_cast<std::size_t>(what)];
}

std::string make(const Call& call, const Functions& f, const void* from, void* to, Element element)
{
    const auto count = static_cast<std::size_t>(call.count);
    switch (call.what) {
    case What::GroupStart:
        return f.groupStart();
    case What::GroupEnd:
        return f.groupEnd();
    case What::AllReduce:
        return f.allReduce(from, to, count, element, call.op, call.communicator);
    case What::AllGather:
        return f.allGather(from, to, count, element, call.communicator);
    case What::ReduceScatter:
        return f.reduceScatter(from, to, count, element, call.op, call.communicator);
    case What::Reduce:
        return f.reduce(from, to, count, element, call.op, call.peer, call.communicator);
    case What::Send:
        return f.send(from, count, element, call.peer, call.communicator);
    case What::Receive:
        return f.receive(to, count, element, call.peer, call.communicator);
    case What::Local:
        return f.local(call, from, to, element);
    }
    return "a call that is not known";
}

} // namespace

void execute(const RankPlan& plan, const Functions& functions, const Buffers& buffers)
{
    const auto address = [&](const BufferOffset& location) {
        std::byte* const base = location.buffer == Buffer::Before ? buffers.before
            : location.buffer == Buffer::After                    ? buffers.after
                                                                  : buffers.staging;
        return base + location.offset * bytesOf(buffers.element);
    };
    for (const Call& call : plan.calls)
        if (const std::string error = make(call, functions, address(call.from), address(call.to), buffers.element); !error.empty())
            throw Failure { "internal", std::string(nameOf(call.what)) + ": " + error, "nccl" };
}

std::string whyNoNccl()
{
    void* library = nullptr;
    for (const char* name : { "libnccl.so.2", "libnccl.so" })
        if (library == nullptr)
            library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return "NCCL (libnccl.so.2) is not installed where the loader finds it; install it or add its folder to LD_LIBRARY_PATH";
    for (const char* function :
         { "ncclGetVersion", "ncclGetUniqueId", "ncclCommInitAll", "ncclCommInitRankConfig", "ncclCommGetAsyncError",
           "ncclCommSplit", "ncclCommDestroy", "ncclCommAbort", "ncclGroupStart", "ncclGroupEnd", "ncclAllReduce", "ncclAllGather",
           "ncclReduceScatter", "ncclReduce", "ncclSend", "ncclRecv" })
        if (dlsym(library, function) == nullptr)
            return std::string("this NCCL is too old: it has no ") + function + "; 2.18 or newer is needed";
    return {};
}

} // namespace shardboard::engine::nccl
