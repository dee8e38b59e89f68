// SPDX-License-Identifier: Apache-2.0
// Reading what a worker says, for tests of workers.
#pragma once

#include "app/ctl/workerprocess.h"

#include <QElapsedTimer>

#include <nlohmann/json.hpp>

#include <string>

namespace shardboard {

/// The next message of that type (others are skipped), or null; of type `ended` when the worker has.
inline nlohmann::json nextMessage(WorkerProcess& worker, const std::string& type, double seconds)
{
    QElapsedTimer timer;
    timer.start();
    while (static_cast<double>(timer.elapsed()) < seconds * 1000) {
        auto line = worker.readLine(0.2);
        if (!line.ok())
            return { { "type", "ended" }, { "message", line.error().text() } };
        if (!line.value())
            continue;
        nlohmann::json message = nlohmann::json::parse(*line.value(), nullptr, false);
        if (message.is_object() && message["type"] == type) // launchers say something, too
            return message;
    }
    return {};
}

} // namespace shardboard
