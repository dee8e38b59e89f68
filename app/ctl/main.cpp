// SPDX-License-Identifier: Apache-2.0
// shardctl COMMAND …: everything the desktop program can do, for scripts and CI. Needs no display.
#include "app/ctl/commands.h"
#include "app/ctl/visibleoutput.h"
#include "model/core/memoryreserve.h"
#include "model/text/contains.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

namespace {

using namespace shardboard;

void printOverview(std::ostream& out)
{
    out << "usage: shardctl COMMAND …\n\n";
    for (const Command& command : commands())
        out << "  " << command.name << std::string(10 - std::min<std::size_t>(9, command.name.size()), ' ') << command.summary
            << "\n";
    out << "\nshardctl COMMAND --help says more. Exit codes: 0 done, 1 warnings, errors or differences, 2 wrong usage,\n3 input "
           "that cannot be used, 4 the engine failed, 5 cancelled.\n";
}

void printHelp(const Command& command)
{
    std::cout << "usage: shardctl " << command.name;
    for (const std::string& name : command.positional)
        std::cout << " " << name;
    std::cout << " [options]\n" << command.summary << "\n\n";
    for (const OptionSpec& option : command.options) {
        const std::string left = option.name + (option.value.empty() ? "" : " " + option.value);
        std::cout << "  " << left << std::string(left.size() < 30 ? 30 - left.size() : 1, ' ') << option.help << "\n";
    }
    if (!command.notes.empty())
        std::cout << "\n" << command.notes;
}

int dispatch(const std::vector<std::string>& words)
{
    if (words.empty()) {
        printOverview(std::cerr);
        return kUsage;
    }
    if (words.front() == "--help" || words.front() == "-h" || words.front() == "help") {
        printOverview(std::cout);
        return kDone;
    }
    if (words.front() == "--version") {
        std::cout << "shardctl " SHARDBOARD_VERSION "\n";
        return kDone;
    }
    const auto command = std::ranges::find_if(commands(), [&](const Command& c) { return c.name == words.front(); });
    if (command == commands().end())
        return report(usageError("shardctl", "there is no command '" + words.front() + "'", "see shardctl --help"));
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    if (contains(rest, "--help")) {
        printHelp(*command);
        return kDone;
    }
    const auto arguments = Arguments::parse(rest, command->options, command->positional, command->name);
    return arguments.ok() ? command->run(arguments.value()) : report(arguments.error());
}

constexpr const char* kNoMemory =
    "shardctl: not enough memory for this; use a smaller mesh or model, or raise the limit on memory (ulimit -v)\n";

} // namespace

int main(int argc, char** argv)
{
    std::signal(SIGPIPE, SIG_IGN); // a reader that went away is no reason to die half-way through a file
    std::ios::sync_with_stdio(false);
    keepMemoryInReserve(kNoMemory, kInput);
    const VisibleOutput results(std::cout);
    const VisibleOutput messages(std::cerr);
    try {
        const int code = dispatch(std::vector<std::string>(argv + 1, argv + argc));
        // A full disk must not look like a result that is there.
        const bool written = std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
        if (!written && code == kDone)
            return report(inputError("standard output", "the result could not be written", "check the disk or the reader"));
        return code;
    } catch (const std::bad_alloc&) {
        std::cerr << kNoMemory;
        return kInput;
    } catch (const std::exception& e) { // of the libraries: nothing of ours throws
        return report(
            inputError("shardctl", std::string("cannot continue: ") + e.what(), "check names and permissions of the files"));
    }
}
