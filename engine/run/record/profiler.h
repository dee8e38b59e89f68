// SPDX-License-Identifier: Apache-2.0
// Makes the profile of a run from the times of its operations and collectives.
#pragma once

#include "engine/devices/context.h"
#include "engine/devices/devicememory.h"
#include "engine/run/schedule/schedule.h"
#include "model/io/wire/messages.h"
#include "model/io/wire/profile.h"
#include "model/plan/program.h"

#include <map>
#include <string>

namespace shardboard::engine {

/// Bytes that a value of the plan takes here, where everything is float32.
double executedBytes(double plannedBytes, DType planned);

/// One execution of an operation or a collective in a pass.
struct Execution {
    const SegmentPass* pass = nullptr;
    RunOperation what; ///< its entry in the result
    const PlannedOp* op = nullptr; ///< or
    const Collective* collective = nullptr;
    Timing timing;
    double start = 0; ///< by now()
};

class Profiler {
public:
    /// Both must outlive it. Times are told from `begin`, on the clock of now().
    Profiler(const Program& program, DeviceMemory& memory, double begin);

    /// Nothing before is kept: the warm-up is over.
    void beginMeasuring();
    void beginStep() { ++m_step; }
    /// `mesh`: that of the pass, on which the timing counts its devices.
    void add(const Execution& execution, const Mesh& mesh);

    RunProfile take(ProfileMode mode, int workers);

private:
    ProfileOperation described(const Execution& execution, const Mesh& mesh) const;

    const Program& m_program;
    DeviceMemory& m_memory;
    double m_begin;
    std::int64_t m_step = -1;
    std::int64_t m_spans = 0;
    RunProfile m_profile;
    std::map<std::string, std::size_t> m_index; ///< by id
    std::map<std::int64_t, std::pair<std::int64_t, std::string>> m_peaks; ///< by device id: bytes and where
};

} // namespace shardboard::engine
