// SPDX-License-Identifier: Apache-2.0
// The worker's side of the protocol (model/io/wire/messages.h): reads requests, runs one at a time on a thread of its own,
// stays able to answer while it does.
#pragma once

#include "engine/run/backend.h"
#include "engine/worker/outbox.h"
#include "model/io/wire/calibration.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shardboard::engine {

/// What the worker says first.
nlohmann::json helloMessage();

class Server {
public:
    using CalibrationPrograms = decltype(CalibrateHooks::programs);

    explicit Server(Outbox& outbox, CalibrationPrograms calibrationPrograms = {});
    /// Cancels a run that is going on and waits for it.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Handles one request. False when it was `quit`.
    bool handle(std::string_view line);
    /// Cancels a run that is going on, of which nobody wants to hear any more, and waits for its end, but no longer than this many
    /// seconds.
    void stop(double seconds);
    /// Says that a line was too long to be read.
    void refuseLongLine();

private:
    void fail(std::int64_t id, const Failure& failure);
    void startRun(std::int64_t id, const nlohmann::json& request);
    void startCalibration(std::int64_t id, const nlohmann::json& request);
    bool refusesWhileBusy(std::int64_t id);
    /// On a thread of its own, where one is working at a time.
    void startWork(std::int64_t id, std::function<void()> work);
    void run(std::int64_t id, const Program& program, const RunOptions& options);
    void calibrateFor(std::int64_t id, const CalibrationOptions& options);
    void cancel(std::int64_t id);

    Outbox& m_outbox;
    CalibrationPrograms m_calibrationPrograms;
    std::thread m_thread;
    std::atomic<bool> m_running { false };
    std::atomic<bool> m_cancel { false };
    std::atomic<bool> m_silent { false };
    std::int64_t m_runId = 0; ///< of the last run or calibration; only the reading thread uses it
};

/// Reads requests from the descriptor until it is closed or `quit` comes. Lines above kMaxLine are refused without being
/// kept. Does not wait for a run that is going on: the caller leaves the program at once.
void serve(int input, Server& server);

} // namespace shardboard::engine
