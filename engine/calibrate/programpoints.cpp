// SPDX-License-Identifier: Apache-2.0
#include "engine/calibrate/programpoints.h"

#include "model/io/measured/profiledocument.h"

#include <map>

namespace shardboard::engine {

namespace {

constexpr double kLeastSeconds = 1e-6; ///< a clock tells less no better than this

CalibrationPoint timed(const RunOperation& operation)
{
    CalibrationPoint out;
    out.source = "run";
    out.kind = operation.kind;
    out.what = operation.id;
    out.seconds = operation.medianSeconds;
    out.samples = { operation.medianSeconds };
    out.settled = true;
    return out;
}

} // namespace

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
        if (operation.medianSeconds < kLeastSeconds)
            continue;
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

} // namespace shardboard::engine
