// SPDX-License-Identifier: Apache-2.0
// Reading what a worker says, and giving it work that lasts, for tests of workers.
#pragma once

#include "app/worker/workerprocess.h"
#include "model/io/wire/messages.h"
#include "model/io/wire/planjson.h"
#include "tests/engine/testprogram.h"

#include <QElapsedTimer>

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <string>

namespace shardboard {

inline std::string enginePath() { return qEnvironmentVariable("SHARDBOARD_ENGINE_PATH").toStdString(); }

/// Descriptors that this process has open.
inline int openDescriptors()
{
    int count = 0;
    for (int descriptor = 0; descriptor < 1024; ++descriptor)
        count += fcntl(descriptor, F_GETFD) >= 0;
    return count;
}

inline nlohmann::json runRequest(const Program& program, int id, const RunOptions& options = {})
{
    return { { "type", "run" }, { "id", id }, { "plan", planToJson(program.graph, program.plan) }, { "options", toJson(options) } };
}

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

/// Why a worker that is started so by mpirun cannot be used; empty: it can.
inline std::string whyNoMpi(const std::string& command)
{
    auto worker = WorkerProcess::start(command);
    if (!worker.ok())
        return worker.error().text();
    const nlohmann::json hello = nextMessage(*worker.value(), "hello", 30);
    if (hello.value("type", "") == "ended")
        return "mpirun cannot start the worker: " + hello["message"].get<std::string>();
    for (const nlohmann::json& backend : hello["backends"])
        if (backend["name"] == "mpi" && !backend["usable"].get<bool>())
            return "the build has no MPI: " + backend["reason"].get<std::string>();
    return {};
}

/// All lines until it ends, or until then.
inline std::string allWords(WorkerProcess& worker, double seconds)
{
    QElapsedTimer timer;
    timer.start();
    std::string said;
    while (static_cast<double>(timer.elapsed()) < seconds * 1000) {
        auto line = worker.readLine(1);
        if (!line.ok())
            break;
        if (line.value())
            said += *line.value() + "\n";
    }
    return said;
}

/// A run of large products: seconds for each of its steps.
inline Program slowProgram()
{
    test::TestDesign design;
    design.mesh = "data=1,model=4";
    design.model.hiddenSize = 2048;
    design.model.intermediateSize = 8192;
    design.model.heads = 16;
    design.model.kvHeads = 8;
    design.model.headDim = 128;
    design.model.layers = 40;
    design.workload = { WorkloadKind::Prefill, 2, 1024, DType::BF16 };
    return programOf(design);
}

/// So many steps of a run that it goes on for hours, on whatever machine.
inline nlohmann::json lasting(nlohmann::json request)
{
    request["options"]["steps"] = 100'000;
    return request;
}

} // namespace shardboard
