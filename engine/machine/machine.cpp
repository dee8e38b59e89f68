// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/machine.h"

#include "engine/machine/clock.h"
#include "engine/machine/gemm.h"
#include "engine/machine/limits.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <limits>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace shardboard::engine {

namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// The number in a file, or kUnlimited when there is none (`max`).
std::int64_t numberIn(const char* path)
{
    std::ifstream file(path);
    std::int64_t value = 0;
    return file >> value ? value : kUnlimited;
}

/// What the limit of the control group leaves, in both versions of its interface.
std::int64_t leftInGroup(const char* limitPath, const char* usagePath)
{
    const std::int64_t limit = numberIn(limitPath);
    const std::int64_t usage = numberIn(usagePath);
    return limit == kUnlimited || usage == kUnlimited ? kUnlimited : std::max<std::int64_t>(0, limit - usage);
}

/// Floating point operations a second of this thread, in products of n x n matrices.
double rateOfProducts(std::int64_t n, const float* a, float* c)
{
    prepareGemmThread();
    const auto multiply = [&] { sgemm(false, true, n, n, n, 1, a, n, a, n, 0, c, n); };
    multiply(); // the library makes its kernels on the first call
    double best = 1e9;
    const double end = now() + 0.02;
    do {
        const double start = coreSeconds();
        multiply();
        best = std::min(best, coreSeconds() - start);
    } while (now() < end);
    return 2.0 * static_cast<double>(n * n * n) / std::max(best, 1e-6);
}

} // namespace

int usableCores()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::optional<std::int64_t> leftOfAddresses()
{
    rlimit limit {};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > static_cast<rlim_t>(kUnlimited))
        return std::nullopt;
    const std::int64_t pages = numberIn("/proc/self/statm");
    const std::int64_t used = pages == kUnlimited ? 0 : pages * sysconf(_SC_PAGESIZE);
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

std::int64_t availableMemory()
{
    std::int64_t available = kUnlimited;
    if (const auto left = leftOfAddresses())
        available = *left + processMemory(0);
    std::ifstream file("/proc/meminfo");
    std::string key;
    while (file >> key) {
        std::int64_t value = 0;
        if (key == "MemAvailable:" && file >> value)
            available = std::min(available, value * 1024);
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    available = std::min(available, leftInGroup("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"));
    return std::min(available,
                    leftInGroup("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"));
}

std::int64_t lastCacheBytes()
{
    static const std::int64_t bytes = [] {
        // Not sysconf: on some processors it counts the caches of all groups of cores.
        std::int64_t last = 0;
        for (int index = 0; index < 8; ++index) {
            std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
            std::int64_t size = 0;
            char unit = 0;
            if (file >> size)
                last = std::max(last, size * (file >> unit ? (unit == 'M' ? std::int64_t { 1 } << 20 : 1024) : 1));
        }
        constexpr std::int64_t kUsual = std::int64_t { 32 } << 20;
        return last > 0 ? last : kUsual;
    }();
    return bytes;
}

std::string processorName()
{
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line))
        if (line.starts_with("model name"))
            if (const auto colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return "CPU";
}

double measuredFlops()
{
    static const double measured = [] {
        double rate = 0;
        constexpr std::int64_t n = 384;
        const std::vector<float> a(n * n, 0.5f);
        std::vector<float> c(n * n, 0.0f);
        std::exception_ptr failed;
        // On a thread of its own, so that the setting for one thread stays there.
        std::thread([&] {
            try {
                rate = rateOfProducts(n, a.data(), c.data());
            } catch (...) {
                failed = std::current_exception();
            }
        }).join();
        if (failed)
            std::rethrow_exception(failed);
        return rate;
    }();
    return measured;
}

} // namespace shardboard::engine
