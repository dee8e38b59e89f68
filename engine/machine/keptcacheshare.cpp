// SPDX-License-Identifier: Apache-2.0
#include "engine/machine/keptcacheshare.h"

#include "engine/machine/cacheshare.h"
#include "engine/machine/clock.h"
#include "engine/machine/machine.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace shardboard::engine {

namespace {

std::string hostName()
{
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

nlohmann::json machine() { return { visibleText(hostName()), visibleText(processorName()), usableCores() }; }

bool lockWithin(int file, double seconds)
{
    const double end = now() + seconds;
    while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (now() >= end)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
}

} // namespace

KeptCacheShare::KeptCacheShare(double patience)
{
    const std::string file = path();
    if (file.empty())
        return;
    m_file = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat info { };
    if (m_file >= 0 && (::fstat(m_file, &info) != 0 || !S_ISREG(info.st_mode) || !lockWithin(m_file, patience)))
        close();
}

KeptCacheShare::~KeptCacheShare() { close(); }

std::optional<std::int64_t> KeptCacheShare::bytes() const
{
    std::string text(4096, '\0');
    const auto size = m_file < 0 ? 0 : std::max<ssize_t>(0, ::pread(m_file, text.data(), text.size(), 0));
    text.resize(static_cast<std::size_t>(size));
    const auto kept = nlohmann::json::parse(text, nullptr, false);
    if (!kept.is_object() || kept.value("machine", nlohmann::json()) != machine())
        return std::nullopt;
    const auto found = kept.find("bytes");
    if (found == kept.end() || !found->is_number_integer())
        return std::nullopt;
    const auto bytes = found->get<std::int64_t>();
    return bytes < kLeastCacheShare || bytes > kMostCacheShare ? std::nullopt : std::optional(bytes);
}

void KeptCacheShare::keep(std::int64_t bytes)
{
    const std::string text = nlohmann::json { { "bytes", bytes }, { "machine", machine() } }.dump() + "\n";
    if (m_file >= 0 && ::ftruncate(m_file, 0) == 0) [[maybe_unused]]
        const ssize_t written = ::pwrite(m_file, text.data(), text.size(), 0);
}

std::string KeptCacheShare::path()
{
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    std::filesystem::path folder;
    if (cache != nullptr && *cache == '/')
        folder = cache;
    else if (home != nullptr && *home == '/')
        folder = std::filesystem::path(home) / ".cache";
    else
        return {};
    folder /= "shardboard";
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    return problem ? std::string() : (folder / ("caches-" + hostName() + ".json")).string();
}

void KeptCacheShare::close()
{
    if (m_file >= 0)
        ::close(m_file);
    m_file = -1;
}

} // namespace shardboard::engine
