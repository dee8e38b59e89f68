// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/runcommand.h"

#include "app/ctl/workerprocess.h"
#include "model/plan/planjson.h"
#include "model/protocol/jsonline.h"

#include <chrono>
#include <optional>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr double kHelloSeconds = 30; // a worker on another host may first have to ask for a password
constexpr std::chrono::seconds kCancelTime { 5 };

Error engineError(const std::string& what, const std::string& where = "engine", const std::string& fix = {})
{
    return Error { ErrorCode::Engine, where, what, fix };
}

std::string text(const json& message, const char* key)
{
    const auto it = message.find(key);
    return it != message.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::int64_t whole(const json& message, const char* key)
{
    const auto it = message.find(key);
    return it != message.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

double number(const json& message, const char* key)
{
    const auto it = message.find(key);
    return it != message.end() && it->is_number() ? it->get<double>() : 0;
}

/// One message, or null when none came in time.
Result<json> readMessage(WorkerProcess& worker, double seconds)
{
    auto line = worker.readLine(seconds);
    if (!line.ok())
        return line.error();
    if (!line.value())
        return json(nullptr);
    auto parsed = parseJsonLine(*line.value(), "engine");
    if (!parsed.ok() || !parsed.value().is_object())
        return engineError("it sent something that is no message of the protocol", worker.command());
    return parsed;
}

Status greet(WorkerProcess& worker, const std::atomic<bool>& cancel)
{
    for (double waited = 0; waited < kHelloSeconds; waited += 0.2) {
        if (cancel)
            return Cancelled {};
        auto message = readMessage(worker, 0.2);
        if (!message.ok())
            return message.error();
        if (message.value().is_null())
            continue;
        const json& hello = message.value();
        if (text(hello, "type") != "hello")
            return engineError("it did not say hello", worker.command());
        if (whole(hello, "protocol") != kProtocolVersion)
            return engineError("it speaks protocol " + std::to_string(whole(hello, "protocol")) + ", this program speaks "
                                   + std::to_string(kProtocolVersion),
                               worker.command(), "use programs of the same version");
        return done();
    }
    return engineError("it did not say hello within " + std::to_string(static_cast<int>(kHelloSeconds)) + " s",
                       worker.command());
}

/// The answer of a run, or nothing yet.
Result<std::optional<RunResult>> handleMessage(const json& message, const RunReports& reports)
{
    const std::string type = text(message, "type");
    if (type == "announce" && reports.announce)
        reports.announce(whole(message, "bytes"), number(message, "seconds"));
    else if (type == "progress" && reports.progress)
        reports.progress(whole(message, "step"), whole(message, "of"), text(message, "what"));
    if (type == "error") {
        if (text(message, "code") == "cancelled")
            return Cancelled {};
        return engineError(text(message, "message"), text(message, "where").empty() ? "engine" : text(message, "where"));
    }
    if (type != "result")
        return std::optional<RunResult>();
    auto result = runResultFromJson(message.contains("run") ? message["run"] : json());
    if (!result.ok())
        return engineError(result.error().what, result.error().where);
    return std::optional<RunResult>(std::move(result).value());
}

} // namespace

Result<RunResult> runInWorker(const Graph& graph, const Plan& plan, const RunCommand& command, const RunReports& reports,
                              const std::atomic<bool>& cancel)
{
    auto started = WorkerProcess::start(command.engine);
    if (!started.ok())
        return started.error();
    WorkerProcess& worker = *started.value();
    if (auto status = greet(worker, cancel); !status.ok()) {
        if (status.cancelled())
            return Cancelled {};
        return status.error();
    }
    const json request = { { "type", "run" }, { "id", 1 }, { "protocol", kProtocolVersion },
                           { "plan", planToJson(graph, plan) }, { "options", toJson(command.options) } };
    if (auto status = worker.send(request); !status.ok())
        return status.error();
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> cancelledAt;
    while (true) {
        if (cancelledAt && Clock::now() - *cancelledAt > kCancelTime)
            return Cancelled {}; // it goes on all the same; it is ended on the way out
        if (cancel && !cancelledAt) {
            cancelledAt = Clock::now();
            if (auto status = worker.send({ { "type", "cancel" }, { "id", 1 } }); !status.ok())
                return Cancelled {};
        }
        auto message = readMessage(worker, 0.1);
        if (!message.ok()) {
            if (cancel)
                return Cancelled {};
            return message.error();
        }
        if (message.value().is_null())
            continue;
        auto answer = handleMessage(message.value(), reports);
        if (answer.cancelled())
            return Cancelled {};
        if (!answer.ok())
            return answer.error();
        if (answer.value())
            return *answer.value();
    }
}

} // namespace shardboard
