// SPDX-License-Identifier: Apache-2.0
// What can run a program: the seam between the worker (and the conformance suite) and the machines and libraries below it.
// A backend is a value in the list of backends(). To add one, write a function that makes it beside its own sources and name
// it in engine/worker/backends.cpp under the definition that its build sets; protocol, hello message, `run --backend` and the
// conformance suite then know it.
#pragma once

#include "engine/calibrate/calibrate.h"
#include "engine/run/runner.h"
#include "model/core/tensor.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace shardboard::engine {

struct Backend {
    /// As for runProgram: never throws, checks the program before it takes memory, announces before anything large is
    /// touched, keeps to the limits, ends soon after hooks.cancel is set. Values come from the generator (ValueMaker), so
    /// that every backend computes the same numbers. hooks.value gets every result with the shards of all devices in
    /// host memory; with several processes the hooks are called in the one that leads, and the others return the same result.
    using Run = std::function<RunOutcome(const Program& program, const RunOptions& options, const RunHooks& hooks,
                                         const RunLimits& limits)>;
    using Calibrate =
        std::function<std::variant<Calibration, Failure>(const CalibrationOptions& options, const CalibrateHooks& hooks)>;

    std::string name; ///< one of kBackendNames (model/io/wire/backends.h)
    std::string unusable; ///< empty: it can be used here and now; else why not, and what to do about it
    /// Dtypes of a design that it runs with options.designDtype, results within toleranceOf(). The conformance suite holds it to
    /// them.
    std::vector<DType> claims;
    nlohmann::json devices = nlohmann::json::array(); ///< for the hello message: {"name":…,"threads":n,"memory_bytes":n}
    std::int64_t mostDevices = 0; ///< logical devices that a program may have, where each takes a GPU; 0: any number
    std::int64_t devicesInSteps = 1; ///< a program's devices are a multiple of it: as many in every process
    Run run; ///< empty when unusable
    Calibrate calibrate; ///< empty: cannot be calibrated

    bool usable() const { return unusable.empty(); }
};

/// All that this build knows, the cpu first. Made when first asked for: looking for devices takes a moment.
const std::vector<Backend>& backends();

/// The usable backend of that name, or Failure "backend" that says why there is none.
std::variant<const Backend*, Failure> backendNamed(const std::string& name, const std::string& where);

/// Runs on the backend that the options name. Never throws.
RunOutcome runOnBackend(const Program& program, const RunOptions& options, const RunHooks& hooks, const RunLimits& limits);

/// The logical devices as tasks on the cores of this machine.
Backend cpuBackend();

} // namespace shardboard::engine
