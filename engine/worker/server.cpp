// SPDX-License-Identifier: Apache-2.0
#include "engine/worker/server.h"

#include "engine/backends/backends.h"
#include "engine/machine/clock.h"
#include "model/io/wire/jsonline.h"
#include "model/io/wire/planjson.h"
#include "model/text/visibletext.h"

#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace shardboard::engine {

using nlohmann::json;

namespace {

constexpr std::size_t kMostSamples = 20000; ///< that a run tells

Failure badMessage(const Error& error) { return { "bad-message", error.what, error.where }; }

/// Id of a request, 0 where it has none.
std::int64_t idOf(const json& request)
{
    const auto it = request.find("id");
    return it != request.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

/// Keeps the number of progress lines within what a window can show.
class Pacer {
public:
    bool progressDue(bool last)
    {
        const double time = now();
        if (!last && time - m_lastProgress < 0.05)
            return false;
        m_lastProgress = time;
        return true;
    }

private:
    double m_lastProgress = 0;
};

} // namespace

json helloMessage()
{
    json list = json::array();
    for (const Backend& backend : backends()) {
        json dtypes = json::array();
        for (const DType dtype : backend.claims)
            dtypes.push_back(dtypeName(dtype));
        json described { { "name", backend.name },
                         { "usable", backend.usable() },
                         { "dtypes", std::move(dtypes) },
                         { "devices", backend.devices } };
        if (!backend.usable())
            described["reason"] = backend.unusable;
        list.push_back(std::move(described));
    }
    return { { "type", "hello" }, { "protocol", kProtocolVersion }, { "backends", std::move(list) } };
}

Server::Server(Outbox& outbox, CalibrationPrograms calibrationPrograms)
    : m_outbox(outbox)
    , m_calibrationPrograms(std::move(calibrationPrograms))
{
}

Server::~Server()
{
    m_cancel = true;
    if (m_thread.joinable())
        m_thread.join();
}

void Server::fail(std::int64_t id, const Failure& failure)
{
    m_outbox.send({ { "type", "error" },
                    { "id", id },
                    { "code", failure.code },
                    { "message", failure.message },
                    { "where", failure.where } });
}

void Server::refuseLongLine()
{
    fail(0, { "bad-message", "a line is longer than " + std::to_string(kMaxLine) + " bytes", "line" });
}

bool Server::handle(std::string_view line)
{
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
        return true;
    std::int64_t id = 0;
    try {
        auto parsed = parseJsonLine(line, "request");
        if (!parsed.ok()) {
            fail(0, badMessage(parsed.error()));
            return true;
        }
        const json& request = parsed.value();
        if (!request.is_object() || !request.contains("type") || !request["type"].is_string()) {
            fail(0, { "bad-message", "a request is an object with a text as its type", "request" });
            return true;
        }
        id = idOf(request);
        const auto protocol = request.find("protocol");
        if (protocol != request.end() && *protocol != kProtocolVersion) {
            fail(id, { "bad-message", "this worker speaks protocol " + std::to_string(kProtocolVersion), "protocol" });
            return true;
        }
        const std::string type = request["type"].get<std::string>();
        if (type == "quit")
            return false;
        if (type == "cancel")
            cancel(id);
        else if (type == "run")
            startRun(id, request);
        else if (type == "calibrate")
            startCalibration(id, request);
        else
            fail(id, { "unknown-request", "this worker does not know '" + shortened(type, 100) + "'", "type" });
    } catch (const std::bad_alloc&) {
        fail(id, { "memory", std::string("the request is too large for the memory that is left; ") + kMoreMemory, "" });
    } catch (const std::system_error& e) { // of a thread that could not be started
        fail(id, { "memory", std::string("the system gave no more threads: ") + e.what() + "; " + kMoreMemory, "" });
    } catch (const std::exception& e) {
        fail(id, { "internal", e.what(), "" });
    }
    return true;
}

void Server::stop(double seconds)
{
    m_silent = true;
    m_cancel = true;
    for (double waited = 0; m_running && waited < seconds; waited += 0.002)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

void Server::cancel(std::int64_t id)
{
    if (m_running && id == m_runId)
        m_cancel = true;
    else
        fail(id, { "unknown-request", "no run " + std::to_string(id) + " is going on", "id" });
}

void Server::startRun(std::int64_t id, const json& request)
{
    if (refusesWhileBusy(id))
        return;
    for (const char* key : { "plan", "options" })
        if (!request.contains(key))
            return fail(id, { "bad-message", std::string("the key '") + key + "' is missing", "request" });
    auto options = runOptionsFromJson(request["options"]);
    if (!options.ok())
        return fail(id, badMessage(options.error()));
    auto program = planFromJson(request["plan"]);
    if (!program.ok())
        return fail(id, { "bad-plan", program.error().what, program.error().where });
    startWork(id, [this, id, p = std::make_shared<const Program>(std::move(program).value()), o = std::move(options).value()] {
        run(id, *p, o);
    });
}

bool Server::refusesWhileBusy(std::int64_t id)
{
    if (m_running)
        fail(id, { "busy", "run " + std::to_string(m_runId) + " is going on; cancel it or wait", "" });
    return m_running;
}

void Server::startWork(std::int64_t id, std::function<void()> work)
{
    if (m_thread.joinable())
        m_thread.join();
    m_cancel = false;
    m_running = true;
    m_runId = id;
    try {
        m_thread = std::thread([this, id, work = std::move(work)] {
            try {
                work();
            } catch (const std::bad_alloc&) { // in making the answer
                m_running = false;
                fail(id, { "memory", std::string("the system gave no more memory; ") + kMoreMemory, "" });
            }
        });
    } catch (...) {
        m_running = false;
        throw;
    }
}

void Server::startCalibration(std::int64_t id, const json& request)
{
    if (refusesWhileBusy(id))
        return;
    auto options = calibrationOptionsFromJson(request.value("options", json::object()));
    if (!options.ok())
        return fail(id, badMessage(options.error()));
    const auto backend = backendNamed(options.value().backend, "options.backend");
    if (const auto* failure = std::get_if<Failure>(&backend))
        return fail(id, *failure);
    if (!std::get<const Backend*>(backend)->calibrate)
        return fail(id, { "backend", "the backend '" + options.value().backend + "' cannot be calibrated", "options.backend" });
    startWork(id, [this, id, o = std::move(options).value()] { calibrateFor(id, o); });
}

void Server::calibrateFor(std::int64_t id, const CalibrationOptions& options)
{
    CalibrateHooks hooks;
    hooks.cancel = &m_cancel;
    hooks.programs = m_calibrationPrograms;
    hooks.announce = [&](std::int64_t bytes, double seconds) {
        m_outbox.send({ { "type", "announce" }, { "id", id }, { "bytes", bytes }, { "seconds", seconds } });
    };
    hooks.progress = [&](std::int64_t step, std::int64_t of, const std::string& what) {
        m_outbox.sendIfIdle({ { "type", "progress" }, { "id", id }, { "step", step }, { "of", of }, { "what", what } });
    };
    const auto backend = backendNamed(options.backend, "options.backend"); // looked up when the request came
    const auto outcome = std::get<const Backend*>(backend)->calibrate(options, hooks);
    m_running = false;
    if (const auto* measured = std::get_if<Calibration>(&outcome))
        m_outbox.send({ { "type", "result" }, { "id", id }, { "calibration", toJson(*measured) } });
    else
        fail(id, std::get<Failure>(outcome));
}

void Server::run(std::int64_t id, const Program& program, const RunOptions& options)
{
    Pacer pacer;
    RunHooks hooks;
    hooks.cancel = &m_cancel;
    std::vector<std::int64_t> byProcess;
    hooks.announceByProcess = [&](const std::vector<std::int64_t>& bytes) { byProcess = bytes; };
    hooks.announce = [&](std::int64_t bytes, double seconds) {
        json message { { "type", "announce" }, { "id", id }, { "bytes", bytes }, { "seconds", seconds } };
        if (!byProcess.empty())
            message["by_process"] = byProcess;
        m_outbox.send(message);
    };
    hooks.progress = [&](std::int64_t step, std::int64_t of, const std::string& what) {
        if (pacer.progressDue(step == of))
            m_outbox.sendIfIdle({ { "type", "progress" }, { "id", id }, { "step", step }, { "of", of }, { "what", what } });
    };
    std::vector<Sample> samples; // told at the end: a reader that wakes for each of them takes a core from what is measured
    hooks.sample = [&](const Sample& sample) {
        if (samples.size() < kMostSamples)
            samples.push_back(sample);
    };
    json profile;
    hooks.profile = [&](const RunProfile& measured) { profile = profileToJson(measured); };
    const RunOutcome outcome = runOnBackend({ program, options, hooks });
    const bool silent = m_silent;
    for (std::size_t i = 0; i < samples.size() && !silent; ++i)
        m_outbox.send({ { "type", "sample" },
                        { "id", id },
                        { "operation", samples[i].operation },
                        { "kind", samples[i].kind },
                        { "device", samples[i].device },
                        { "start", samples[i].start },
                        { "seconds", samples[i].seconds },
                        { "bytes", samples[i].bytes } });
    m_running = false; // before the answer, so that the next run can follow it at once
    if (silent)
        return;
    if (const auto* result = std::get_if<RunResult>(&outcome)) {
        json answer { { "type", "result" }, { "id", id }, { "run", toJson(*result) } };
        if (!profile.is_null())
            answer["profile"] = std::move(profile);
        m_outbox.send(std::move(answer));
    } else {
        fail(id, std::get<Failure>(outcome));
    }
}

void serve(int input, Server& server)
{
    std::string line;
    bool tooLong = false;
    std::vector<char> buffer(1 << 16);
    while (true) {
        const ssize_t count = read(input, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return;
        std::string_view rest(buffer.data(), static_cast<std::size_t>(count));
        while (!rest.empty()) {
            const std::size_t end = rest.find('\n');
            const std::string_view part = rest.substr(0, end);
            if (!tooLong && line.size() + part.size() > kMaxLine) {
                tooLong = true;
                line = {};
                server.refuseLongLine();
            }
            if (!tooLong)
                line += part;
            if (end == std::string_view::npos)
                break;
            if (!tooLong && !server.handle(line))
                return;
            tooLong = false;
            line.clear();
            rest.remove_prefix(end + 1);
        }
    }
}

} // namespace shardboard::engine
