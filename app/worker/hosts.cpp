// SPDX-License-Identifier: Apache-2.0
#include "app/worker/hosts.h"

#include "model/text/text.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace shardboard {

namespace {

bool isFile(const std::string& path)
{
    std::error_code ignored; // a name that no file can have names none
    return std::filesystem::is_regular_file(path, ignored);
}

/// A list as mpirun reads it, which takes slots that are no number as any number of them. Empty, or what is wrong.
std::string whyNoList(const std::string& hosts)
{
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
        end = hosts.find(',', begin);
        const std::string entry = hosts.substr(begin, end == std::string::npos ? end : end - begin);
        const auto colon = entry.find(':');
        const std::string name = entry.substr(0, colon);
        if (name.empty() || name.front() == '-' || name.find_first_of(" \t\n") != std::string::npos)
            return "'" + entry + "' is no host";
        if (colon == std::string::npos)
            continue;
        const auto places = parseInteger(entry.substr(colon + 1));
        if (!places || *places < 1)
            return "'" + entry.substr(colon + 1) + "' of '" + entry + "' is not a number of processes";
    }
    return {};
}

/// The same of a hostfile.
std::string whyNoHostfile(const std::string& path)
{
    if (!isFile(path))
        return "there is no hostfile '" + path + "'";
    std::ifstream file(path);
    if (!file)
        return "the hostfile '" + path + "' cannot be read";
    for (std::string line; std::getline(file, line);)
        if (const auto first = line.find_first_not_of(" \t\r"); first != std::string::npos && line[first] != '#')
            return {};
    return "the hostfile '" + path + "' names no host";
}

} // namespace

bool isHostList(const std::string& hosts) { return hosts.find('/') == std::string::npos && !isFile(hosts); }

Status checkHosts(const std::string& hosts, const std::string& where)
{
    const std::string wrong = isHostList(hosts) ? whyNoList(hosts) : whyNoHostfile(hosts);
    if (!wrong.empty())
        return inputError(where, wrong, "name hosts as host1:2,host2:2, or a hostfile");
    return done();
}

} // namespace shardboard
