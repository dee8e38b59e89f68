// SPDX-License-Identifier: Apache-2.0
#include "app/worker/workerclient.h"

#include "app/worker/messagefields.h"
#include "app/worker/stderrsummary.h"
#include "model/io/wire/greeting.h"
#include "model/io/wire/jsonline.h"
#include "model/io/wire/messages.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

namespace shardboard {

using nlohmann::json;
using Kind = WorkerEvent::Kind;

namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kLastSeconds = 5; // for a worker that has given up by itself to end

std::string secondsNumber(double seconds)
{
    char text[32];
    std::snprintf(text, sizeof text, "%g s", seconds);
    return text;
}

bool passed(std::chrono::steady_clock::time_point begin, double limit)
{
    return Seconds(std::chrono::steady_clock::now() - begin).count() >= limit;
}

/// The beginning of a line, blanks as one, whole characters.
std::string beginningOf(std::string_view line)
{
    std::size_t size = std::min(line.size(), std::size_t { 60 });
    while (size > 0 && size < line.size() && (static_cast<unsigned char>(line[size]) & 0xc0) == 0x80)
        --size;
    std::istringstream words { std::string(line.substr(0, size)) };
    std::string out;
    for (std::string word; words >> word;)
        out += (out.empty() ? "" : " ") + word;
    return out;
}

WorkerEvent eventOf(Kind kind, json message)
{
    WorkerEvent event;
    event.kind = kind;
    event.message = std::move(message);
    return event;
}

WorkerEvent refusal(Error error)
{
    WorkerEvent event;
    event.kind = Kind::Refused;
    event.error = std::move(error);
    return event;
}

} // namespace

WorkerClient::WorkerClient(const std::string& command, const WorkerLimits& limits)
    : m_limits(limits)
    , m_began(Clock::now())
{
    auto started = WorkerProcess::start(command);
    if (started.ok()) {
        m_process = std::move(started).value();
    } else {
        const Error& error = started.error();
        m_events.push_back(fail(WorkerFailure::NotStarted, "“" + error.where + "” " + error.what, error));
    }
}

void WorkerClient::request(json message)
{
    message["id"] = ++m_id;
    message["protocol"] = kProtocolVersion;
    m_underWay = true;
    if (m_greeted)
        send(message);
    else
        m_unsent = std::move(message);
}

void WorkerClient::send(const json& message)
{
    if (m_over)
        return;
    if (const auto status = m_process->post(message); !status.ok()) {
        m_underWay = false;
        m_events.push_back(refusal(status.error()));
    }
}

void WorkerClient::cancel()
{
    if (!m_underWay || m_cancelled)
        return;
    if (!m_unsent.is_null()) {
        m_unsent = nullptr;
        m_underWay = false;
        m_events.push_back(eventOf(Kind::Cancelled, nullptr));
        return;
    }
    m_cancelled = Clock::now();
    send({ { "type", "cancel" }, { "id", m_id } });
}

void WorkerClient::ping() { send({ { "type", "ping" }, { "id", 0 } }); }

std::optional<WorkerEvent> WorkerClient::next()
{
    if (!m_events.empty()) {
        std::optional<WorkerEvent> event(std::move(m_events.front()));
        m_events.pop_front();
        return event;
    }
    if (m_over)
        return std::nullopt;
    if (auto event = tooLate())
        return event;
    for (const bool more : { true, false }) {
        while (const auto line = m_process->takeLine())
            if (auto event = take(*line))
                return event;
        if (more)
            m_process->step(0);
    }
    if (m_process->tooLong()) {
        const std::string what = "it wrote a line of more than " + std::to_string(kMaxLine >> 20) + " MiB";
        return fail(WorkerFailure::NotUnderstood, what, { ErrorCode::Engine, m_process->command(), what, "" });
    }
    if (m_process->finished())
        return ended();
    return m_greeted ? std::nullopt : noHello();
}

void WorkerClient::wait(double seconds)
{
    if (m_over || !m_events.empty())
        return;
    m_process->step(std::min(seconds, patience().value_or(seconds)));
}

WorkerDescriptors WorkerClient::descriptors() const { return m_over ? WorkerDescriptors {} : m_process->descriptors(); }

std::optional<double> WorkerClient::patience() const
{
    if (!m_events.empty())
        return 0;
    if (m_over)
        return std::nullopt;
    std::optional<double> least = m_process->patience();
    const auto until = [&](Clock::time_point begin, double limit) {
        const double left = std::max(0.0, limit - Seconds(Clock::now() - begin).count());
        least = std::min(left, least.value_or(left));
    };
    if (!m_greeted && m_queued.empty())
        until(m_began, m_limits.helloSeconds);
    if (m_cancelled)
        until(*m_cancelled, m_limits.cancelSeconds);
    if (m_gaveUp)
        until(*m_gaveUp, kLastSeconds);
    return least;
}

void WorkerClient::leave()
{
    m_over = true;
    m_events.clear();
    if (m_process)
        m_process->leave();
}

bool WorkerClient::hasLeft() { return !m_process || m_process->hasLeft(); }

void WorkerClient::kill()
{
    if (m_process)
        m_process->kill();
}

std::optional<WorkerEvent> WorkerClient::take(const std::string& line)
{
    return m_greeted ? takeMessage(line) : takeGreeting(line);
}

std::optional<WorkerEvent> WorkerClient::takeGreeting(const std::string& line)
{
    Greeting greeting = greetingOf(line);
    if (greeting.kind == Greeting::Kind::Chatter)
        return std::nullopt;
    const std::string& command = m_process->command();
    if (greeting.kind == Greeting::Kind::Stranger) {
        const std::string what = "it did not say hello, but “" + beginningOf(line) + "”";
        return fail(WorkerFailure::NotUnderstood, what, { ErrorCode::Engine, command, what, "" });
    }
    if (const auto protocol = messageWhole(greeting.message, "protocol"); protocol != kProtocolVersion) {
        const std::string what =
            "it speaks protocol " + std::to_string(protocol) + ", this program speaks " + std::to_string(kProtocolVersion);
        return fail(WorkerFailure::NotUnderstood, what + " (" + command + ")",
                    { ErrorCode::Engine, command, what, "use programs of the same version" });
    }
    m_greeted = true;
    if (!m_unsent.is_null())
        send(std::exchange(m_unsent, nullptr));
    return eventOf(Kind::Hello, std::move(greeting.message));
}

/// An answer to what could not be read as a request has the id 0, as have those to a ping.
bool WorkerClient::isOfTheRequest(const json& message, const std::string& type) const
{
    if (!m_underWay)
        return false;
    const bool hasId = message.contains("id");
    const bool toNobody = messageWhole(message, "id") == 0 && type == "error" && messageText(message, "code") != "unknown-request";
    return !hasId || toNobody || messageWhole(message, "id") == m_id;
}

std::optional<WorkerEvent> WorkerClient::takeMessage(const std::string& line)
{
    auto parsed = parseJsonLine(line, "engine");
    const std::string type = parsed.ok() && parsed.value().is_object() ? messageText(parsed.value(), "type") : std::string();
    if (type.empty()) {
        const std::string what = "it wrote a line that is not a message: “" + beginningOf(line) + "”";
        return fail(WorkerFailure::NotUnderstood, what, { ErrorCode::Engine, m_process->command(), what, "" });
    }
    json& message = parsed.value();
    if (!isOfTheRequest(message, type))
        return eventOf(Kind::Other, std::move(message));
    if (type == "error")
        return takeError(std::move(message));
    if (type != "result")
        return eventOf(Kind::Message, std::move(message));
    answered();
    return eventOf(Kind::Result, std::move(message));
}

void WorkerClient::answered()
{
    m_underWay = false;
    m_cancelled.reset();
    m_gaveUp.reset();
}

WorkerEvent WorkerClient::takeError(json message)
{
    const bool isCancel = messageText(message, "code") == "cancelled";
    if (isCancel && !m_cancelled) { // a launcher has lost a process and ends the others; its end says why
        m_gaveUp = Clock::now();
        return eventOf(Kind::Other, std::move(message));
    }
    answered();
    if (isCancel)
        return eventOf(Kind::Cancelled, std::move(message));
    return refusal({ ErrorCode::Engine, messageText(message, "where"), messageText(message, "message"), "" });
}

/// Where a job waits in a queue, nobody knows for how long: then until somebody cancels.
std::optional<WorkerEvent> WorkerClient::noHello()
{
    const std::string before = std::exchange(m_queued, queueNotice(m_process->errors()));
    if (m_queued != before)
        m_began = Clock::now();
    if (!m_queued.empty() && m_queued != before) {
        WorkerEvent event;
        event.kind = Kind::Queued;
        event.text = m_queued;
        return event;
    }
    if (!m_queued.empty() || !passed(m_began, m_limits.helloSeconds))
        return std::nullopt;
    const std::string text = "it did not say hello within " + secondsNumber(m_limits.helloSeconds);
    return fail(WorkerFailure::NoHello, text, { ErrorCode::Engine, m_process->command(), text + lastWords(), "" });
}

/// One that talks for ever has no last line: what it owes is looked for before what it says.
std::optional<WorkerEvent> WorkerClient::tooLate()
{
    const std::string& command = m_process->command();
    if (m_cancelled && passed(*m_cancelled, m_limits.cancelSeconds)) {
        const std::string text = "it did not answer the cancel within " + secondsNumber(m_limits.cancelSeconds);
        return fail(WorkerFailure::NoAnswer, text, { ErrorCode::Engine, command, text, "" });
    }
    if (m_gaveUp && passed(*m_gaveUp, kLastSeconds)) {
        const std::string text = "it gave up though nobody had cancelled it";
        return fail(WorkerFailure::GaveUp, text, { ErrorCode::Engine, command, text + lastWords(), "run it again" });
    }
    return std::nullopt;
}

WorkerEvent WorkerClient::ended()
{
    const Error error = m_process->endedError(m_greeted);
    if (!m_greeted && m_process->wasNotFound()) {
        const std::string said = stderrSummary(m_process->errors());
        const std::string what = "cannot be started: " + (said.empty() ? m_process->howItEnded() : said);
        return fail(WorkerFailure::NotStarted, "“" + error.where + "” " + what, { error.code, error.where, what, error.fix });
    }
    return fail(WorkerFailure::Ended, m_process->howItEnded(), error);
}

std::string WorkerClient::lastWords() const
{
    const std::string said = stderrSummary(m_process->errors());
    return said.empty() ? said : ", last words: " + said;
}

WorkerEvent WorkerClient::fail(WorkerFailure failure, const std::string& text, Error error)
{
    m_over = true;
    m_underWay = false;
    WorkerEvent event;
    event.kind = Kind::Failed;
    event.text = text;
    event.error = std::move(error);
    event.failure = failure;
    return event;
}

} // namespace shardboard
