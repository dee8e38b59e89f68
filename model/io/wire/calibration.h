// SPDX-License-Identifier: Apache-2.0
// What a calibration measured, before anything is fitted to it (model/io/measured/machinefit.h does that).
//   client -> worker  {"type":"calibrate","id":n,"options":{"backend":"cpu","quick":false}}
//   worker -> client  announce and progress as of a run, then {"type":"result","id":n,"calibration":{…}}
#pragma once

#include "model/cost/kernelwork.h"
#include "model/io/wire/profile.h"

#include <string>
#include <vector>

namespace shardboard {

struct CalibrationOptions {
    std::string backend = "cpu";
    bool quick = false; ///< fewer and smaller sizes: some seconds instead of a minute
};

/// One kernel on one logical device that has a worker thread for itself while the others' do the same, or one collective of all
/// devices of a group on all worker threads.
struct CalibrationPoint {
    std::string kind; ///< gemm, memory, attention, attention-backward, or that of a collective
    std::string what; ///< `rms-norm [4096, 1024]`
    std::string dtype = "F32"; ///< that it was computed in
    /// Of an operation or collective of a program that ran, beside others and on what they left in the caches: `run`, and for
    /// `kind` that of the operation or collective. Empty: it was measured alone, over and over.
    std::string source;
    KernelWork work; ///< of an operation of a program; `op` is empty, for which `kind` stands
    double flops = 0; ///< in matrix products (of attention the causal half)
    double bytes = 0; ///< kernels: read and written, each operand once; collectives: the least that has to be, of all devices
    std::int64_t groupSize = 1;
    std::int64_t messageBytes = 0; ///< S of a collective
    double seconds = 0; ///< median of the samples; seconds of a core
    double spread = 0; ///< distance of the quartiles, by the median
    bool settled = false; ///< false: it was disturbed, or time was up
    std::vector<double> samples;
    /// Of what goes past the caches, measured in turn with the samples, in bytes/s by all workers; 0: not measured.
    double copyRate = 0; ///< of a copy, read and written
    double storeRate = 0; ///< of writing alone
    double readRate = 0; ///< of reading alone, from as many places at once as the collective does
    double ofCopy = 0; ///< median of bytes / seconds by the copy's rate right before it
    double ofBest = 0; ///< the same by the least seconds that copy, writing and reading leave to what it has to move
    friend bool operator==(const CalibrationPoint&, const CalibrationPoint&) = default;
};

struct Calibration {
    std::string backend;
    std::string machine; ///< processor and library of matrix products, for people
    std::int64_t workers = 0;
    std::int64_t memoryBytes = 0; ///< that the machine had left
    bool quick = false;
    MachineLimits limits;
    std::vector<CalibrationPoint> points;
    friend bool operator==(const Calibration&, const Calibration&) = default;
};

nlohmann::json toJson(const CalibrationOptions& options);
Result<CalibrationOptions> calibrationOptionsFromJson(const nlohmann::json& value);
nlohmann::json toJson(const Calibration& calibration);
/// Refuses times and sizes that are no positive numbers.
Result<Calibration> calibrationFromJson(const nlohmann::json& value);

} // namespace shardboard
