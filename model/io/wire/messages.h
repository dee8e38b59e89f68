// SPDX-License-Identifier: Apache-2.0
// The worker's protocol: one JSON object a line, UTF-8, at most kMaxLine bytes. The same types are used on both sides.
//
//   worker -> client  {"type":"hello","protocol":1,"backends":[{"name":"cpu","usable":true,"reason":"… where it is not",
//                     "dtypes":["f32",…],"devices":[{"name":…,"threads":n,"memory_bytes":n}]},…]}
//   client -> worker  {"type":"run","id":n,"plan":{…plan --json…},"options":{…}} · {"type":"cancel","id":n} ·
//   {"type":"quit","id":n} worker -> client  {"type":"announce","id":n,"bytes":n,"seconds":x}        before anything large is
//   touched
//                     {"type":"progress","id":n,"step":n,"of":n,"what":"…"}
//                     {"type":"sample","id":n,"operation":"…","kind":"…","device":n,"start":x,"seconds":x,"bytes":n} after the run
//                     {"type":"result","id":n,"run":{…run --json…},"profile":{…profile.h, when options.profile asks for it…}}
//                     {"type":"error","id":n,"code":"…","message":"…","where":"…"}
//   and the request `calibrate`: model/io/wire/calibration.h
// `cancel` carries the id of the run or calibration that it ends; that one then answers with the error `cancelled`. `quit` and a
// closed input end the worker at once. A client ignores types that it does not know; the worker answers them with unknown-request.
// Error codes: bad-message, bad-plan, memory, cancelled, busy, unknown-request, internal, backend (this build has no such one, or
// it cannot be used here), environment (a variable of the worker's environment has a value that it cannot have).
#pragma once

#include "model/core/result.h"
#include "model/io/wire/profile.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kMaxLine = 64u << 20;

struct RunOptions {
    std::string backend = "cpu"; ///< of model/io/wire/backends.h
    std::int64_t layers = 0; ///< how many layers of each repeated segment to run; 0: all
    std::int64_t steps = 1; ///< timed repetitions
    bool verify = false;
    bool designDtype = false; ///< values rounded to the design's dtype after each op; false: f32
    bool ends = true; ///< embedding and head too
    std::string breakCollective; ///< test hook: id of a collective (or `any`) that is executed wrongly
    std::uint64_t seed = 1;
    ProfileMode profile = ProfileMode::None; ///< measure every execution on every device
};

/// Times of one operation or collective over the steps, and how far its result is from the unsharded one.
struct RunOperation {
    std::string id; ///< `segment/op`, or the collective's id
    std::string kind; ///< op kind or collective kind
    /// Per occurrence, in seconds of one core: of an operation those of the slowest device on its own shard; of a collective
    /// those of all devices by the worker threads that share the work, because it ends for all of them at once.
    double medianSeconds = 0;
    double predictedSeconds = 0;
    std::int64_t bytes = 0; ///< S of a collective
    std::int64_t count = 1; ///< occurrences in a step (layers that ran)
    double relativeError = -1; ///< largest over layers and devices, ‖y - r‖₂ / ‖r‖₂; -1: not compared; JSON null: infinite
};

struct RunResult {
    std::string backend;
    std::int64_t devices = 0; ///< logical devices
    std::int64_t steps = 0;
    std::int64_t layers = 0; ///< layers that ran
    bool verified = false; ///< compared, and every error below `tolerance`
    bool compared = false;
    double tolerance = 0;
    double maxRelativeError = -1;
    std::string worstOp; ///< id of the operation or collective with that error
    std::string firstDeviation; ///< the first in program order whose error is above the tolerance; empty when verified
    double stepMedian = 0; ///< seconds: sum over operations and collectives of the time as in RunOperation
    double stepMin = 0;
    double stepMax = 0;
    double predictedStepSeconds = 0;
    std::int64_t peakBytes = 0; ///< most memory that the run's arenas held
    std::vector<RunOperation> operations;
};

nlohmann::json toJson(const RunOptions& options);
Result<RunOptions> runOptionsFromJson(const nlohmann::json& json);
nlohmann::json toJson(const RunResult& result); ///< the document of `run --json`
Result<RunResult> runResultFromJson(const nlohmann::json& json);

} // namespace shardboard
