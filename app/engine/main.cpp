// SPDX-License-Identifier: Apache-2.0
// shardboard-engine: the worker. Requests come in on standard input, answers go out on standard output, one JSON object a
// line; people's logs go to standard error. It leaves when its input is closed.
#include "app/engine/calibrationprograms.h"
#include "app/engine/modelprograms.h"
#include "engine/conformance/command.h"
#ifdef SHARDBOARD_MPI
#include "engine/backends/backends.h"
#include "engine/mpi/benchcollectives.h"
#include "engine/mpi/mpibackend.h"
#endif
#include "engine/machine/failure.h"
#include "engine/machine/machine.h"
#include "engine/nccl/command.h"
#include "engine/worker/server.h"
#include "model/core/memoryreserve.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <malloc.h>
#include <unistd.h>

namespace {

/// The distribution's OpenBLAS takes slow kernels on newer processors unless told before it is loaded.
void chooseBlasKernels([[maybe_unused]] char** argv)
{
#if defined(SHARDBOARD_GEMM_OPENBLAS) && defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && std::getenv("OPENBLAS_CORETYPE") == nullptr) {
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
        execv("/proc/self/exe", argv);
    }
#endif
}

/// Where a launcher has started several of us, only the first one goes on from here.
void joinOthers()
{
#ifdef SHARDBOARD_MPI
    shardboard::engine::followIfNotFirst(shardboard::engine::processBackends());
#endif
}

/// The others wait for us; they have to be sent home, and a run that is going on must not talk to them any more.
void leaveOthers([[maybe_unused]] shardboard::engine::Server* server)
{
#ifdef SHARDBOARD_MPI
    if (shardboard::engine::hasOthers()) {
        if (server != nullptr)
            server->stop(1.0);
        shardboard::engine::leaveProcesses();
    }
#endif
}

/// A worker that cannot start says why; how it would end otherwise depends on which library is the first to want memory.
bool hasLittleMemory()
{
    constexpr std::int64_t kMiB = std::int64_t { 1 } << 20;
    constexpr std::int64_t kLeast = 64 * kMiB;
    const auto left = shardboard::engine::leftOfAddresses();
    if (!left)
        return false;
    if (*left < kLeast)
        std::fprintf(
            stderr,
            "shardboard-engine: not enough memory: the limit on it (ulimit -v) leaves %lld MiB, and it takes at least %lld MiB\n",
            static_cast<long long>(*left / kMiB), static_cast<long long>(kLeast / kMiB));
    mallopt(M_ARENA_MAX, 1); // each of the others would reserve addresses, and never use most of them
    return *left < kLeast;
}

[[noreturn]] void serveRequests(int output)
{
    shardboard::engine::Outbox outbox(output);
    outbox.send(shardboard::engine::helloMessage());
    shardboard::engine::Server server(outbox, shardboard::calibrationPrograms);
    shardboard::engine::serve(STDIN_FILENO, server);
    // At once, whatever is still running: nobody waits for its answer. Only what was said already is sent.
    outbox.drain(0.1);
    leaveOthers(&server);
    _exit(0);
}

} // namespace

int main(int argc, char** argv)
{
    const bool conformance = argc > 1 && std::strcmp(argv[1], "--conformance") == 0;
    const bool collectives = argc > 1 && std::strcmp(argv[1], "--bench-collectives") == 0;
    if (argc > 1 && std::strcmp(argv[1], "--check-nccl") == 0) {
        int gpus = 0; // all
        if (argc > 2) {
            const char* end = argv[2] + std::strlen(argv[2]);
            const auto [last, error] = std::from_chars(argv[2], end, gpus);
            if (argc > 3 || error != std::errc() || last != end || gpus < 2) {
                std::fputs("shardboard-engine: --check-nccl takes a number of GPUs, 2 or more, or nothing for all\n", stderr);
                return 2;
            }
        }
        return shardboard::engine::nccl::checkCommand(gpus);
    }
    if (argc > 1 && !conformance && !collectives) {
        const bool help = std::strcmp(argv[1], "--help") == 0;
        std::fputs("usage: shardboard-engine [--conformance [BACKEND] [--filter TEXT] [--devices N] [--seed N] [--same-as BACKEND] "
                   "[--verbose]]\n"
                   "       mpirun -n N shardboard-engine --bench-collectives [MIB]\n"
                   "       shardboard-engine --check-nccl [GPUS]\n"
                   "The worker of shardboard and shardctl, which start it. Reads requests from standard input, one JSON\n"
                   "object a line, and answers on standard output. Leaves when its input is closed. With --conformance it holds a\n"
                   "backend (cpu) to double precision instead, operation by operation, and says what fails. With --check-nccl it\n"
                   "reshards tensors over the GPUs of this machine by NCCL and compares with its own collectives.\n",
                   help ? stdout : stderr);
        return help ? 0 : 2;
    }
    chooseBlasKernels(argv);
#ifdef SHARDBOARD_MPI
    if (collectives)
        return shardboard::engine::benchCollectives(argc > 2 ? std::atoi(argv[2]) : 64, 7);
#endif
    std::signal(SIGPIPE, SIG_IGN);
    if (hasLittleMemory())
        return 4;
    shardboard::keepMemoryInReserve(
        "shardboard-engine: not enough memory to go on; raise the limit on it (ulimit -v), or use a smaller design\n", 4);
    // The matrix products take and return packing buffers all the time: keep them, first touch is slow.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    // The protocol gets a descriptor of its own; whatever a library or another process prints goes to standard error.
    const int output = dup(STDOUT_FILENO);
    if (output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        std::perror("shardboard-engine: standard output");
        return 4;
    }
    joinOthers();
    if (conformance) {
        dup2(output, STDOUT_FILENO);
        const int status = shardboard::conformance::runCommand(argc - 2, argv + 2, shardboard::conformance::withModels());
        leaveOthers(nullptr);
        return status;
    }
    try {
        serveRequests(output);
    } catch (const std::exception& e) { // no memory, no threads
        std::fprintf(stderr, "shardboard-engine: cannot continue: %s; %s\n", e.what(), shardboard::engine::kMoreMemory);
        _exit(4);
    }
}
