// SPDX-License-Identifier: Apache-2.0
#include "app/worker/proofrun.h"

#include "app/worker/childprocess.h"
#include "model/text/visibletext.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shardboard {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kKept = std::size_t { 64 } << 10; ///< bytes of each of its outputs
constexpr int kLookMs = 100;
constexpr Seconds kGrace { 0.5 }; ///< between asking it to end and ending it
constexpr Seconds kRest { 0.5 }; ///< for what is still in its pipes

/// The end of a text that may have none.
class Tail {
public:
    void add(std::string_view text)
    {
        m_text += text;
        if (m_text.size() > 2 * kKept)
            m_text.erase(0, m_text.size() - kKept);
    }
    const std::string& text() const { return m_text; }

private:
    std::string m_text;
};

/// False: nothing will come any more.
bool takeFrom(ChildProcess& child, ChildProcess::Pipe pipe, Tail& tail)
{
    std::array<char, 16384> buffer;
    for (int turn = 0; turn < 64; ++turn) { // one that prints without end gets no more than its turn
        const int from = child.descriptor(pipe);
        if (from < 0)
            return false;
        const ssize_t got = ::read(from, buffer.data(), buffer.size());
        if (got > 0) {
            tail.add({ buffer.data(), static_cast<std::size_t>(got) });
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            child.close(pipe);
            return false;
        } else if (errno == EAGAIN) {
            return true;
        }
    }
    return true;
}

/// The last line that is not empty, and before it others: calls `each` from the last on until it says true.
bool findLine(std::string_view text, const std::function<bool(std::string_view)>& each)
{
    while (!text.empty()) {
        const auto end = text.find_last_not_of("\r\n \t");
        if (end == std::string_view::npos)
            return false;
        text = text.substr(0, end + 1);
        const auto begin = text.find_last_of('\n');
        if (each(text.substr(begin == std::string_view::npos ? 0 : begin + 1)))
            return true;
        text = text.substr(0, begin == std::string_view::npos ? 0 : begin);
    }
    return false;
}

std::string lastLine(std::string_view text)
{
    std::string out;
    findLine(text, [&out](std::string_view line) {
        out = shortened(visibleText(line), 300);
        return true;
    });
    return out;
}

/// As the shell would find it, whatever folder it is started in.
std::string programOf(const std::string& python)
{
    const char* home = std::getenv("HOME");
    const std::string path = python.starts_with("~/") && home != nullptr ? home + python.substr(1) : python;
    std::error_code error;
    return path.find('/') == std::string::npos ? path : std::filesystem::absolute(path, error).string();
}

/// It has ended, and is not forgotten yet: nobody else can have its number.
bool isOver(const ChildProcess& child)
{
    siginfo_t info {};
    return ::waitid(P_PID, static_cast<id_t>(child.id()), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child.id();
}

/// Waits for output, for the end and for who stops it; reads meanwhile.
class Watch {
public:
    Watch(ChildProcess& child, const ProofRequest& request, const std::function<bool()>& stopped,
          const std::function<void(const std::string&)>& tell)
        : m_child(child)
        , m_limit(std::clamp(request.seconds, 0.1, 1e6))
        , m_stopped(stopped)
        , m_tell(tell)
    {
    }

    void run()
    {
        bool over = false;
        while (!over) {
            over = isOver(m_child);
            step(over ? 0 : kLookMs);
            if (!m_ending)
                checkTime();
            else if (Clock::now() - *m_ending > kGrace)
                signal(SIGKILL);
        }
        signal(SIGKILL); // what it has started and left
        const auto end = Clock::now() + kRest;
        while (step(kLookMs / 10) && Clock::now() < end) { }
        m_child.wait(5);
    }

    const Tail& output() const { return m_output; }
    const Tail& errors() const { return m_errors; }
    bool timedOut() const { return m_timedOut; }
    bool cancelled() const { return m_ending && !m_timedOut; }
    double seconds() const { return Seconds(Clock::now() - m_begin).count(); }

private:
    bool step(int milliseconds)
    {
        std::array<pollfd, 3> waiting { pollfd { m_child.descriptor(ChildProcess::Output), POLLIN, 0 },
                                        pollfd { m_child.descriptor(ChildProcess::Errors), POLLIN, 0 },
                                        pollfd { m_child.endDescriptor(), POLLIN, 0 } };
        ::poll(waiting.data(), waiting.size(), milliseconds);
        const std::size_t before = m_output.text().size();
        const bool output = takeFrom(m_child, ChildProcess::Output, m_output);
        const bool errors = takeFrom(m_child, ChildProcess::Errors, m_errors);
        if (m_tell && m_output.text().size() != before && Clock::now() - m_told > Seconds(0.1)) {
            m_told = Clock::now();
            m_tell(lastLine(m_output.text()));
        }
        return output || errors;
    }
    void checkTime()
    {
        m_timedOut = Clock::now() - m_begin > m_limit;
        if (!m_timedOut && !(m_stopped && m_stopped()))
            return;
        m_ending = Clock::now();
        signal(SIGTERM);
    }
    /// With all that it has started.
    void signal(int number) const { ::kill(-m_child.id(), number); }

    ChildProcess& m_child;
    Seconds m_limit;
    const std::function<bool()>& m_stopped;
    const std::function<void(const std::string&)>& m_tell;
    Clock::time_point m_begin = Clock::now();
    Clock::time_point m_told {};
    std::optional<Clock::time_point> m_ending;
    bool m_timedOut = false;
    Tail m_output;
    Tail m_errors;
};

std::string asSeconds(double seconds) { return std::to_string(static_cast<std::int64_t>(seconds + 0.5)) + " s"; }

/// What its exit and its last lines mean.
void judge(const ChildProcess& child, const Watch& watch, const ProofRequest& request, ProofAnswer& answer)
{
    using Outcome = ProofAnswer::Outcome;
    const std::string ended = child.howItEnded();
    const std::string said = lastLine(watch.output().text());
    const bool compared = findLine(watch.output().text(), [&answer](std::string_view line) { return readProofLine(line, answer); });
    if (ended == "exit status 77") {
        answer.outcome = Outcome::Skipped;
        constexpr std::string_view kWord = "skipped: ";
        answer.text = said.starts_with(kWord) ? said.substr(kWord.size())
            : said.empty()                    ? "this Python does not have the framework"
                                              : said;
    } else if (compared && answer.of > 0 && ended == "exit status 0" && answer.equal == answer.of) {
        answer.outcome = Outcome::Equal;
        answer.text = said;
    } else if (compared && answer.of > 0 && answer.equal < answer.of) {
        answer.outcome = Outcome::Differ;
        answer.text = std::to_string(answer.of - answer.equal) + " of " + std::to_string(answer.of)
            + " tensors have other shards in " + answer.peer;
    } else {
        answer.outcome = Outcome::Failed;
        answer.equal = answer.of = 0;
        const std::string why = lastLine(watch.errors().text());
        answer.text = child.wasNotFound()
            ? "there is no program '" + visibleText(request.python) + "'"
            : "the check ended without a comparison (" + ended + ")" + (why.empty() ? "" : ": " + why);
    }
}

} // namespace

std::string proofOutcomeName(ProofAnswer::Outcome outcome)
{
    using Outcome = ProofAnswer::Outcome;
    switch (outcome) {
    case Outcome::Equal:
        return "equal";
    case Outcome::Differ:
        return "differ";
    case Outcome::Skipped:
        return "skipped";
    case Outcome::TimedOut:
        return "timed-out";
    case Outcome::Cancelled:
        return "cancelled";
    default:
        return "failed";
    }
}

bool readProofLine(std::string_view line, ProofAnswer& answer)
{
    constexpr std::string_view kOf = " of ";
    constexpr std::string_view kSame = " tensors have the same shards in ";
    const auto of = line.find(kOf);
    const auto same = line.find(kSame);
    if (of == std::string_view::npos || same == std::string_view::npos || of + kOf.size() > same)
        return false;
    const auto number = [](std::string_view text, std::int64_t& out) {
        const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
        return read.ec == std::errc() && read.ptr == text.data() + text.size() && out >= 0;
    };
    std::int64_t equal = 0;
    std::int64_t all = 0;
    const std::string_view peer = line.substr(same + kSame.size());
    if (!number(line.substr(0, of), equal) || !number(line.substr(of + kOf.size(), same - of - kOf.size()), all) || equal > all
        || peer.empty())
        return false;
    answer.equal = equal;
    answer.of = all;
    answer.peer = shortened(visibleText(peer), 80);
    return true;
}

ProofAnswer runProof(const ProofRequest& request, const std::function<bool()>& stopped,
                     const std::function<void(const std::string&)>& tell)
{
    ProofAnswer answer;
    ChildProcess child;
    const int failed = child.start(
        { "/bin/sh", "-c", "cd -- \"$1\" && exec \"$2\" \"$3\"", "sh", request.folder, programOf(request.python), request.check },
        ChildProcess::Group::ItsOwn);
    if (failed != 0) {
        answer.text = "no process could be started";
        return answer;
    }
    child.close(ChildProcess::Input);
    Watch watch(child, request, stopped, tell);
    watch.run();
    answer.seconds = watch.seconds();
    answer.log = visibleLines(watch.output().text() + watch.errors().text());
    if (watch.cancelled()) {
        answer.outcome = ProofAnswer::Outcome::Cancelled;
        answer.text = "it was cancelled";
    } else if (watch.timedOut()) {
        answer.outcome = ProofAnswer::Outcome::TimedOut;
        answer.text = "it did not end within " + asSeconds(request.seconds);
    } else {
        judge(child, watch, request, answer);
    }
    return answer;
}

} // namespace shardboard
