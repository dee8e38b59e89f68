// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/backend.h"

#include "engine/calibrate/calibrate.h"
#include "engine/cpu/cpuexecutor.h"
#include "engine/machine/gemm.h"
#include "engine/machine/machine.h"

namespace shardboard::engine {

Backend cpuBackend()
{
    Backend cpu;
    cpu.name = "cpu";
    cpu.claims = { DType::F32, DType::BF16, DType::F16 };
    cpu.devices.push_back(
        { { "name", processorName() + ", " + gemmName() }, { "threads", usableCores() }, { "memory_bytes", availableMemory() } });
    cpu.run = runOnCpu;
    cpu.calibrate = [](const CalibrationOptions& options, const CalibrateHooks& hooks) {
        CpuExecutor executor;
        return calibrate(executor, options, hooks);
    };
    return cpu;
}

RunOutcome runOnCpu(const RunRequest& request)
{
    CpuExecutor executor;
    return runProgram(request, executor);
}

} // namespace shardboard::engine
