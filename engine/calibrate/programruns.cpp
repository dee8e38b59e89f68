// SPDX-License-Identifier: Apache-2.0
#include "engine/calibrate/programruns.h"

#include "engine/machine/failure.h"
#include "engine/run/prepare.h"
#include "model/core/statistics.h"
#include "model/io/measured/profiledocument.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace shardboard::engine {

namespace {

constexpr double kLeastSeconds = 1e-6; ///< a clock tells less no better than this

CalibrationPoint timed(const RunOperation& operation)
{
    CalibrationPoint out;
    out.source = "run";
    out.kind = operation.kind;
    out.what = operation.id;
    out.samples = { operation.medianSeconds };
    out.settled = true;
    return out;
}

/// One for each that took time; of layers that are alike one. Collectives of a pipeline are left out. `result` is of a run of that
/// program.
std::vector<CalibrationPoint> pointsOf(const Program& program, const RunResult& result)
{
    std::map<std::string, const PlannedOp*> ops;
    std::map<std::string, const Collective*> collectives;
    for (const PlannedSegment& segment : program.plan.segments)
        for (const PlannedOp& op : segment.ops)
            ops[segment.name + "/" + program.graph.op(op.op).name] = &op;
    for (const Collective& collective : program.plan.collectives)
        collectives[collective.id] = &collective;
    std::vector<CalibrationPoint> out;
    for (const RunOperation& operation : result.operations) {
        CalibrationPoint point = timed(operation);
        if (const auto op = ops.find(operation.id); op != ops.end()) {
            point.work = op->second->work;
            point.work.op = {}; // the text of another process
            point.flops = point.work.flops;
            point.bytes = point.work.kernel == KernelClass::None ? point.work.copied : point.work.bytes;
            point.dtype = point.work.dtype == DType::BF16 ? "BF16" : "F32";
        } else if (const auto found = collectives.find(operation.id); found != collectives.end() && found->second->isCall()
                   && operation.bytes > 0 && !program.plan.pipeline) { // a stage's are of its devices alone
            const Collective& collective = *found->second;
            const double groups = static_cast<double>(program.plan.mesh.deviceCount()) / static_cast<double>(collective.groupSize);
            point.groupSize = collective.groupSize;
            point.messageBytes = operation.bytes;
            point.bytes = groups * trafficOfGroup(point.kind, collective.groupSize, static_cast<double>(operation.bytes));
        }
        if (point.bytes > 0)
            out.push_back(std::move(point));
    }
    return out;
}

} // namespace

ProgramRuns::ProgramRuns(std::vector<Program> programs, Executor& executor, int workers, bool quick)
    : m_executor(&executor)
    , m_workers(workers)
    , m_rounds(quick ? 1 : 3) // a median needs three
{
    m_options.steps = quick ? 3 : 4;
    for (Program& program : programs) {
        std::int64_t bytes = 0;
        double seconds = 0;
        RunHooks hooks;
        hooks.announce = [&](std::int64_t neededBytes, double aboutSeconds) {
            bytes = neededBytes;
            seconds = aboutSeconds;
        };
        try {
            prepareRun({ program, m_options, hooks, { .workers = m_workers } }, *m_executor);
        } catch (const Failure& failure) {
            if (failure.code == "memory")
                continue;
            throw;
        }
        m_neededBytes = std::max(m_neededBytes, bytes);
        m_seconds += static_cast<double>(m_rounds) * seconds;
        m_programs.push_back(std::move(program));
    }
}

void ProgramRuns::addTo(Calibration& out, const std::function<void(std::int64_t runs)>& progress,
                        const std::atomic<bool>* cancel) const
{
    RunHooks hooks;
    hooks.cancel = cancel;
    std::vector<std::map<std::string, CalibrationPoint>> points(m_programs.size()); // by the operation's id
    for (std::int64_t run = 0; run < count(); ++run) {
        const std::size_t at = static_cast<std::size_t>(run) % m_programs.size();
        const Program& program = m_programs[at];
        if (progress)
            progress(run);
        const RunOutcome outcome = runProgram({ program, m_options, hooks, { .workers = m_workers } }, *m_executor);
        if (const auto* failure = std::get_if<Failure>(&outcome)) {
            if (failure->code == "memory") // less is left than there was
                continue;
            if (failure->code == "cancelled")
                throw Stopped {};
            throw *failure;
        }
        for (CalibrationPoint& point : pointsOf(program, std::get<RunResult>(outcome)))
            if (const auto [there, added] = points[at].try_emplace(point.what, point); !added)
                there->second.samples.push_back(point.samples.front());
    }
    for (auto& ofProgram : points)
        for (auto& [id, point] : ofProgram) {
            point.seconds = median(point.samples);
            if (point.seconds >= kLeastSeconds) // asked of all rounds: else those that were slow would count alone
                out.points.push_back(std::move(point));
        }
}

} // namespace shardboard::engine
