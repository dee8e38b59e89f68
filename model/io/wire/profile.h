// SPDX-License-Identifier: Apache-2.0
// What a profiled run measured: every execution of every operation and collective on every logical device.
//
// The worker sends it beside the result of the run (`"profile": profileToJson(…)`); shardctl makes two files of it,
// profiledocument.h (`run --profile`) and trace.h (`run --trace`).
//
// Two modes, never mixed in one profile:
//   serial   one worker thread does the work of one logical device after the other, nothing else runs: what an operation costs
//            one device that has a core for itself. For calibration.
//   batched  all devices at once on all worker threads: what this machine gets done. A virtual device's time in it is not 1/n
//            of the machine.
// Two clocks: `seconds` counts the time in which a thread had its core (other programs do not count), `start` and `end` come from
// a clock that only goes forward, in seconds since the run began. Making up weights and inputs is in neither kind of seconds,
// but may lie between start and end.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

enum class ProfileMode { None, Serial, Batched };
std::string profileModeName(ProfileMode mode); ///< none, serial, batched
std::optional<ProfileMode> profileModeFromName(std::string_view name);

/// One device's part of one execution.
struct DeviceSpan {
    std::int64_t device = 0; ///< its id
    double start = 0; ///< of the first piece of its work
    double end = 0; ///< of the last one
    double seconds = 0; ///< of a core, on all pieces
    std::int64_t memoryBytes = 0; ///< most that the device held since the execution before
    friend bool operator==(const DeviceSpan&, const DeviceSpan&) = default;
};

struct ProfileEvent {
    std::int64_t operation = 0; ///< index into RunProfile::operations
    std::int64_t step = 0;
    std::int64_t layer = 0;
    std::int64_t microBatch = 0;
    double seconds = 0; ///< of a core: all devices' work, by the threads that shared it
    double wallSeconds = 0; ///< of the thread that had most to do, on the clock that only goes forward
    std::vector<DeviceSpan> devices; ///< those with something to do
    friend bool operator==(const ProfileEvent&, const ProfileEvent&) = default;
};

/// An operation or collective of the program. Sizes are those that ran: the engine works in float32 whatever the design's
/// dtype, so that a bf16 design moves twice the bytes it was planned with.
struct ProfileOperation {
    std::string id; ///< as in RunOperation
    std::string kind;
    bool collective = false;
    double flops = 0; ///< in matrix products, on the device with most to do
    double workBytes = 0; ///< of an operation: read and written on that device, each operand once
    std::int64_t bytes = 0; ///< S of a collective
    std::int64_t groupSize = 1;
    std::string tensor; ///< that a collective moves
    std::vector<std::vector<std::int64_t>> groups; ///< ids of the devices of each device group, in group order
    double predictedSeconds = 0; ///< for the design's hardware
    friend bool operator==(const ProfileOperation&, const ProfileOperation&) = default;
};

/// Measured right before the run, by the same process. Rates of one worker thread alone, and of all together.
struct MachineLimits {
    double gemmFlopsOne = 0; ///< float32 matrix products at their best, FLOP/s
    double gemmFlopsAll = 0;
    double copyBytesOne = 0; ///< a copy of memory too large for the caches: bytes read and written, by seconds
    double copyBytesAll = 0;
    friend bool operator==(const MachineLimits&, const MachineLimits&) = default;
};

struct ProfiledDevice {
    std::int64_t id = 0;
    std::string name; ///< `device 3 (data 1, model 0)`
    std::int64_t announcedBytes = 0; ///< most that it would hold, as the program was walked through before
    std::int64_t peakBytes = 0; ///< most that it held
    std::string peakAt; ///< id of the operation or collective that ran then
    friend bool operator==(const ProfiledDevice&, const ProfiledDevice&) = default;
};

struct RunProfile {
    ProfileMode mode = ProfileMode::None;
    std::string machine; ///< processor and library of matrix products, for people
    std::int64_t workers = 0; ///< threads that worked
    MachineLimits limits;
    std::vector<ProfiledDevice> devices; ///< in mesh order
    std::vector<ProfileOperation> operations; ///< in order of first execution
    std::vector<ProfileEvent> events; ///< in execution order
    std::int64_t leftOut = 0; ///< executions that were not kept because there were too many
    friend bool operator==(const RunProfile&, const RunProfile&) = default;
};

nlohmann::json profileToJson(const RunProfile& profile);
/// Errors name the key. Refuses indices that point nowhere and times that are not finite.
Result<RunProfile> profileFromJson(const nlohmann::json& value);

} // namespace shardboard
