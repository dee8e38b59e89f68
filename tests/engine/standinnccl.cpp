// SPDX-License-Identifier: Apache-2.0
// A library of NCCL's name with the functions that are asked for, which does nothing but notice how: communicators that do not
// block are not ready for a while after each group of calls, and may not be used until somebody has asked often enough.
#include "tests/engine/standinnccl.h"

#include <nccl.h>

#include <cstring>
#include <set>

struct ncclComm {
    bool blocks = true;
    int waits = 0; ///< polls until it is ready
    ncclResult_t state = ncclSuccess;
};

namespace {

constexpr int kPolls = 3;

StandInNccl seen;
int depth = 0;
bool failed = false; ///< a call of the open group
bool splitting = false;
std::set<ncclComm*> asked; ///< in the open group
std::set<ncclComm*> alive;

void wrong(const char* what)
{
    if (seen.wrong == nullptr)
        seen.wrong = what;
}

ncclComm* make(bool blocks)
{
    auto* comm = new ncclComm;
    comm->blocks = blocks;
    alive.insert(comm);
    ++seen.made;
    seen.blocking += blocks ? 1 : 0;
    return comm;
}

ncclResult_t use(ncclComm* comm)
{
    if (comm == nullptr || !alive.contains(comm)) {
        wrong("a communicator that is not there");
        return ncclInvalidArgument;
    }
    if (depth == 0)
        wrong("a call outside of a group");
    if (!comm->blocks && comm->waits > 0 && !asked.contains(comm))
        wrong("a communicator is used before it is ready");
    asked.insert(comm);
    return ncclSuccess;
}

ncclResult_t call(ncclComm* comm)
{
    if (const ncclResult_t result = use(comm); result != ncclSuccess)
        return result;
    if (++seen.calls == seen.failAt) {
        failed = true;
        return ncclInvalidArgument;
    }
    return comm->blocks ? ncclSuccess : ncclInProgress;
}

} // namespace

StandInNccl* standInNccl() { return &seen; }

ncclResult_t ncclGetVersion(int* version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id)
{
    std::memset(id->internal, 0x41, sizeof id->internal);
    return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result)
{
    return result == ncclRemoteError ? "remote process exited" : result == ncclInProgress ? "in progress" : "invalid argument";
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int*)
{
    for (int i = 0; i < count; ++i)
        comms[i] = make(true);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config)
{
    for (const char byte : id.internal)
        if (byte != 0x41)
            wrong("another id");
    seen.ranks[seen.made % 16] = rank;
    seen.all = ranks;
    *comm = make(config->blocking != 0);
    use(*comm);
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state)
{
    if (depth > 0)
        wrong("asked within a group");
    *state = comm->state;
    if (comm->waits == 0 && !seen.hangs)
        return ncclSuccess;
    ++seen.polls;
    comm->waits -= comm->waits > 0 && !seen.hangs ? 1 : 0;
    *state = ncclInProgress;
    if (comm->waits == 0 && !seen.hangs)
        *state = comm->state = seen.failsLater ? ncclRemoteError : ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int, ncclComm_t* part, ncclConfig_t*)
{
    if (const ncclResult_t result = use(comm); result != ncclSuccess)
        return result;
    if (!splitting)
        seen.splits = 0;
    splitting = true;
    seen.colors[seen.splits++ % 16] = color;
    *part = color == NCCL_SPLIT_NOCOLOR ? nullptr : make(comm->blocks);
    if (*part != nullptr)
        use(*part);
    return comm->blocks ? ncclSuccess : ncclInProgress;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (alive.erase(comm) == 0)
        wrong("aborted what is not there");
    else
        delete comm;
    ++seen.aborted;
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (alive.erase(comm) == 0)
        wrong("destroyed what is not there");
    else
        delete comm;
    ++seen.destroyed;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart()
{
    ++depth;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd()
{
    if (--depth != 0)
        wrong("groups are not closed");
    bool waits = false;
    for (ncclComm* comm : asked)
        if (alive.contains(comm) && !comm->blocks) {
            comm->waits = kPolls;
            waits = true;
        }
    asked.clear();
    splitting = false;
    const bool bad = failed;
    failed = false;
    return bad ? ncclInvalidArgument : waits ? ncclInProgress : ncclSuccess;
}

ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t comm, cudaStream_t)
{
    return call(comm);
}
ncclResult_t ncclAllGather(const void*, void*, size_t, ncclDataType_t, ncclComm_t comm, cudaStream_t) { return call(comm); }
ncclResult_t ncclReduceScatter(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t comm, cudaStream_t)
{
    return call(comm);
}
ncclResult_t ncclReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t comm, cudaStream_t)
{
    return call(comm);
}
ncclResult_t ncclSend(const void*, size_t, ncclDataType_t, int, ncclComm_t comm, cudaStream_t) { return call(comm); }
ncclResult_t ncclRecv(void*, size_t, ncclDataType_t, int, ncclComm_t comm, cudaStream_t) { return call(comm); }
