// SPDX-License-Identifier: Apache-2.0
// What can run a program: the seam between the worker (and the conformance suite) and the machines and libraries below it.
// A backend is a value in the list of backends(). To add one, write a function that makes it beside its own sources and name
// it in engine/backends/backends.cpp under the definition that its build sets; protocol, hello message, `run --backend` and the
// conformance suite then know it.
#pragma once

#include "engine/run/runner.h"
#include "model/core/tensor.h"
#include "model/io/wire/calibration.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace shardboard::engine {

/// Called on the thread that calibrates; any may be empty.
struct CalibrateHooks {
    std::function<void(std::int64_t bytes, double seconds)> announce; ///< before anything large is touched
    std::function<void(std::int64_t step, std::int64_t of, const std::string& what)> progress;
    const std::atomic<bool>* cancel = nullptr;
    /// What a calibration on the CPU runs beside what it measures alone; empty: nothing.
    std::function<Result<std::vector<Program>>(bool quick)> programs;
};

struct Backend {
    /// As for runProgram: never throws, checks the program before it takes memory, announces before anything large is
    /// touched, keeps to the limits, ends soon after hooks.cancel is set. Values come from the generator (ValueMaker), so
    /// that every backend computes the same numbers. hooks.value gets every result with the shards of all devices in
    /// host memory; with several processes the hooks are called in the one that leads, and the others return the same result.
    using Run = std::function<RunOutcome(const RunRequest& request)>;
    using Calibrate =
        std::function<std::variant<Calibration, Failure>(const CalibrationOptions& options, const CalibrateHooks& hooks)>;

    std::string name; ///< one of kBackendNames (model/io/wire/backends.h)
    std::string unusable; ///< empty: it can be used here and now; else why not, and what to do about it
    /// Dtypes of a design that it runs with options.designDtype, results within toleranceOf(). The conformance suite holds it to
    /// them.
    std::vector<DType> claims;
    nlohmann::json devices = nlohmann::json::array(); ///< for the hello message: {"name":…,"threads":n,"memory_bytes":n}
    bool onGpus = false; ///< operations that the CPU alone runs are refused
    std::int64_t mostDevices = 0; ///< logical devices that a program may have, where each takes a GPU; 0: any number
    std::int64_t devicesInSteps = 1; ///< a program's devices are a multiple of it: as many in every process
    Run run; ///< empty when unusable
    Calibrate calibrate; ///< empty: cannot be calibrated

    bool usable() const { return unusable.empty(); }
};

} // namespace shardboard::engine
