// SPDX-License-Identifier: Apache-2.0
#include "app/worker/workertalk.h"

#include "app/worker/lastwords.h"
#include "app/worker/workerprocess.h"
#include "model/io/wire/greeting.h"
#include "model/io/wire/jsonline.h"
#include "model/io/wire/messages.h"

#include <chrono>
#include <optional>
#include <utility>

namespace shardboard {

using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kHelloTime { 30 }; // a worker on another host may first have to ask for a password
constexpr std::chrono::seconds kCancelTime { 5 };
constexpr std::chrono::seconds kLastTime { 5 };

/// The hello, or null when none came in time or others spoke.
Result<json> readHello(WorkerProcess& worker, double seconds)
{
    const auto line = worker.readLine(seconds);
    if (!line.ok())
        return line.error();
    if (!line.value())
        return json(nullptr);
    Greeting greeting = greetingOf(*line.value());
    if (greeting.kind == Greeting::Kind::Stranger)
        return engineError("it did not say hello", worker.command());
    return std::move(greeting.message);
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

/// Where a job waits in a queue, nobody knows for how long: then until somebody cancels.
Status greet(WorkerProcess& worker, const std::function<void(const json&)>& onMessage, const std::atomic<bool>& cancel)
{
    std::string queued;
    for (auto began = Clock::now(); Clock::now() - began < kHelloTime;) {
        if (cancel)
            return Cancelled {};
        auto message = readHello(worker, 0.2);
        if (!message.ok())
            return message.error();
        if (message.value().is_null()) {
            const std::string before = std::exchange(queued, queueWords(worker.errors()));
            if (!queued.empty())
                began = Clock::now();
            if (!queued.empty() && queued != before && onMessage)
                onMessage({ { "type", "waiting" }, { "what", queued } });
            continue;
        }
        const json& hello = message.value();
        if (messageWhole(hello, "protocol") != kProtocolVersion)
            return engineError("it speaks protocol " + std::to_string(messageWhole(hello, "protocol")) + ", this program speaks "
                                   + std::to_string(kProtocolVersion),
                               worker.command(), "use programs of the same version");
        return done();
    }
    const std::string words = lastWords(worker.errors());
    return engineError("it did not say hello within " + std::to_string(kHelloTime.count()) + " s"
                           + (words.empty() ? "" : ", last words: " + words),
                       worker.command());
}

/// It has cancelled what nobody asked it to cancel: a launcher has lost a process and ends the others. It ends, too, and says why.
Error whyStopped(WorkerProcess& worker)
{
    for (const auto end = Clock::now() + kLastTime; Clock::now() < end;)
        if (auto line = worker.readLine(0.2); !line.ok())
            return line.error();
    const std::string words = lastWords(worker.errors());
    return engineError("it has stopped and does not say why" + (words.empty() ? std::string() : ", last words: " + words),
                       worker.command(), "run it again");
}

} // namespace

Error engineError(const std::string& what, const std::string& where, const std::string& fix)
{
    return Error { ErrorCode::Engine, where, what, fix };
}

std::string messageText(const json& message, const char* key)
{
    const auto it = message.find(key);
    return it != message.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::int64_t messageWhole(const json& message, const char* key)
{
    const auto it = message.find(key);
    return it != message.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

double messageNumber(const json& message, const char* key)
{
    const auto it = message.find(key);
    return it != message.end() && it->is_number() ? it->get<double>() : 0;
}

Result<json> askWorker(const std::string& engine, json request, const std::function<void(const json&)>& onMessage,
                       const std::atomic<bool>& cancel)
{
    auto started = WorkerProcess::start(engine);
    if (!started.ok())
        return started.error();
    WorkerProcess& worker = *started.value();
    if (auto status = greet(worker, onMessage, cancel); !status.ok()) {
        if (status.cancelled())
            return Cancelled {};
        return status.error();
    }
    request["id"] = 1;
    request["protocol"] = kProtocolVersion;
    if (auto status = worker.send(request); !status.ok())
        return status.error();
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
        const std::string type = messageText(message.value(), "type");
        if (type == "result")
            return message;
        if (type != "error") {
            if (onMessage)
                onMessage(message.value());
            continue;
        }
        if (messageText(message.value(), "code") == "cancelled")
            return cancel ? Result<json>(Cancelled {}) : Result<json>(whyStopped(worker));
        const std::string where = messageText(message.value(), "where");
        return engineError(messageText(message.value(), "message"), where.empty() ? "engine" : where);
    }
}

} // namespace shardboard
