// SPDX-License-Identifier: Apache-2.0
#include "app/worker/stderrsummary.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace shardboard {

namespace {

constexpr std::size_t kShown = 240;

/// In one line, blanks as one.
std::string flat(const std::string& text)
{
    std::istringstream words(text);
    std::string out;
    for (std::string word; words >> word;)
        out += (out.empty() ? "" : " ") + word;
    return out;
}

bool isInsideCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; } // of UTF-8

/// At most kShown bytes, whole characters.
std::string beginningOf(const std::string& text)
{
    std::size_t size = std::min(text.size(), kShown);
    while (size > 0 && size < text.size() && isInsideCharacter(text[size]))
        --size;
    return text.substr(0, size);
}

std::string endOf(const std::string& text)
{
    std::size_t from = text.size() - std::min(text.size(), kShown);
    while (from > 0 && from < text.size() && isInsideCharacter(text[from]))
        ++from;
    return text.substr(from);
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

bool isFrame(const std::string& line) { return line.size() >= 20 && line.find_first_not_of('-') == std::string::npos; }

/// What stands between the lines of dashes with which mpirun frames what it says, and every other line alone.
struct Said {
    std::vector<std::string> framed;
    std::vector<std::string> lines;
};

Said saidIn(const std::string& errors)
{
    Said out;
    std::istringstream rest(errors);
    std::string block;
    bool inside = false;
    for (std::string line; std::getline(rest, line);) {
        if (!isFrame(line)) {
            (inside ? block : out.lines.emplace_back()) += line + (inside ? "\n" : "");
            continue;
        }
        if (inside)
            out.framed.push_back(block);
        block.clear();
        inside = !inside;
    }
    if (inside) // the end was cut off
        out.framed.push_back(block);
    return out;
}

std::string firstParagraph(const std::string& block) { return flat(block.substr(0, block.find("\n\n"))); }

/// `node` of the last `on node NAME` of what is said about a lost daemon: the first one is where mpirun runs.
std::string lostNode(const std::string& block)
{
    const std::string words = flat(block);
    const auto at = words.rfind(" on node ");
    if (at == std::string::npos)
        return {};
    const auto begin = at + std::string(" on node ").size();
    return words.substr(begin, words.find(' ', begin) - begin);
}

std::string whatHappened(const Said& said)
{
    for (const std::string& block : said.framed)
        if (contains(block, "mpirun noticed that process"))
            return flat(block);
    for (const std::string& block : said.framed)
        if (contains(block, "lost communication with a remote daemon") && !lostNode(block).empty())
            return "mpirun has lost the host " + lostNode(block);
    for (const std::string& block : said.framed)
        if (contains(block, "unable to reliably start one or more daemons")) {
            const auto reason =
                std::find_if(said.lines.begin(), said.lines.end(), [](const std::string& line) { return !flat(line).empty(); });
            return "mpirun cannot start its daemon on all hosts"
                + (reason != said.lines.end() ? ": " + flat(*reason) : std::string()); // ssh's
        }
    for (const std::string& block : said.framed)
        if (contains(block, "OMPI was not built with SLURM's"))
            return "srun starts it by another interface than Open MPI knows: try srun --mpi=pmix ('srun --mpi=list' shows what "
                   "there is), or mpirun within salloc";
    for (const std::string& line : said.lines)
        if (contains(line, "shardboard-engine: "))
            return flat(line);
    // What others notice of it is of no use to anybody.
    for (const std::string& block : said.framed)
        if (!contains(block, "peer process has unexpectedly") && !contains(block, "failed to TCP connect")
            && !contains(block, "MPI_ABORT was") && !contains(block, "Per user-direction"))
            return firstParagraph(block);
    for (const std::string& line : said.lines)
        if (line.starts_with("srun: error: ") || (line.starts_with("slurmstepd") && contains(line, ": error: ")))
            return flat(line);
    return {};
}

} // namespace

std::string stderrSummary(const std::string& errors)
{
    std::string out = whatHappened(saidIn(errors));
    if (out.empty()) {
        std::istringstream rest(errors);
        std::string plain;
        for (std::string line; std::getline(rest, line);)
            plain += isFrame(line) ? " " : line + "\n";
        out = endOf(plain.substr(0, plain.find_last_not_of(" \n") + 1));
    } else if (out.size() > kShown) {
        out = beginningOf(out) + "…";
    }
    while (!out.empty() && (out.back() == '.' || out.back() == ':'))
        out.pop_back();
    return out;
}

std::string queueNotice(const std::string& errors)
{
    std::istringstream rest(errors);
    std::string last;
    for (std::string line; std::getline(rest, line);)
        if (!flat(line).empty())
            last = flat(line);
    return contains(last, "queued and waiting for resources") ? last : std::string();
}

} // namespace shardboard
