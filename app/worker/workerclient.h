// SPDX-License-Identifier: Apache-2.0
// The client's side of the worker's protocol: starts a worker, waits for its hello, sends one request at a time and tells what
// comes of it. It never waits but in wait() and its destructor, so that an event loop can drive it: shardctl does by poll, the
// window by notifiers on descriptors().
#pragma once

#include "app/worker/workerprocess.h"
#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace shardboard {

struct WorkerLimits {
    double helloSeconds = 30; ///< a worker on another host may first have to ask for a password
    double cancelSeconds = 5; ///< for the answer to a cancel
};

/// Why a worker is of no use any more.
enum class WorkerFailure {
    NotStarted, ///< the command cannot be run
    NoHello, ///< in time
    NotUnderstood, ///< it speaks something else
    NoAnswer, ///< to a cancel
    GaveUp, ///< it has cancelled what nobody asked it to cancel, and does not say why
    Ended,
};

struct WorkerEvent {
    enum class Kind {
        Queued, ///< `text`: the line in which srun or salloc says that the job waits for its turn
        Hello, ///< `message`
        Message, ///< `message`: of the request under way
        Other, ///< `message`: of anything else; a sign of life
        Result, ///< `message`: the request is done
        Refused, ///< `error`: the request ended with an error of its own; the worker lives. `where` may be empty
        Cancelled, ///< the request, as cancel() asked
        Failed, ///< `failure`; `text`: what happened, in half a sentence; `error`: the same in a line. Nothing comes after it
    };
    Kind kind = Kind::Other;
    nlohmann::json message;
    std::string text;
    Error error;
    WorkerFailure failure = WorkerFailure::Ended;
};

class WorkerClient {
public:
    /// Starts the worker; `command` as for WorkerProcess::start. That it cannot be started is the first event.
    explicit WorkerClient(const std::string& command, const WorkerLimits& limits = {});

    /// Gives the message an id and sends it, after the hello if that has not come yet. To be called while no request is under way.
    void request(nlohmann::json message);
    /// The request under way, if there is one. One that was not sent yet is cancelled at once.
    void cancel();
    /// Asks for a sign of life: a worker answers what it does not know, too.
    void ping();

    /// What has happened, one after the other; nothing when nothing has.
    std::optional<WorkerEvent> next();
    /// Until something may have happened, at most so long.
    void wait(double seconds);
    WorkerDescriptors descriptors() const;
    /// After how many seconds next() is to be called even if nothing happens on the descriptors.
    std::optional<double> patience() const;

    /// As those of WorkerProcess. After leave() there are no events.
    void leave();
    bool hasLeft();
    void kill();

    pid_t processId() const { return m_process ? m_process->pid() : 0; }
    /// The end of what it has written on stderr so far.
    std::string errors() const { return m_process ? m_process->errors() : std::string(); }

private:
    using Clock = std::chrono::steady_clock;

    bool isOfTheRequest(const nlohmann::json& message, const std::string& type) const;
    std::optional<WorkerEvent> take(const std::string& line);
    std::optional<WorkerEvent> takeGreeting(const std::string& line);
    std::optional<WorkerEvent> takeMessage(const std::string& line);
    WorkerEvent takeError(nlohmann::json message);
    void answered();
    std::optional<WorkerEvent> noHello();
    std::optional<WorkerEvent> tooLate();
    WorkerEvent ended();
    std::string lastWords() const;
    WorkerEvent fail(WorkerFailure failure, const std::string& text, Error error);
    void send(const nlohmann::json& message);

    WorkerLimits m_limits;
    std::unique_ptr<WorkerProcess> m_process;
    std::deque<WorkerEvent> m_events; ///< that no line has caused
    bool m_over = false; ///< it has failed or is leaving
    bool m_greeted = false;
    std::string m_queued; ///< the line in which it was said that the job waits
    Clock::time_point m_began; ///< to wait for the hello
    std::int64_t m_id = 0; ///< of the last request
    bool m_underWay = false;
    nlohmann::json m_unsent; ///< the request that waits for the hello; null: none
    std::optional<Clock::time_point> m_cancelled; ///< when the request was
    std::optional<Clock::time_point> m_gaveUp; ///< when the worker cancelled it by itself
};

} // namespace shardboard
