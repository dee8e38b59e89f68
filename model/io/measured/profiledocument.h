// SPDX-License-Identifier: Apache-2.0
// The file of `shardctl run --profile P.json`: the `run` document (its keys unchanged) with what was measured beside it.
//
//   {"format":"shardboard-profile","version":1,"mode":"serial|batched",
//    "machine":{"name":…,"workers":n,"gemm_flops_per_second":{"one":x,"all":x},"copy_bytes_per_second":{"one":x,"all":x}},
//    "clock":…what the seconds are…, …keys of run…,
//    "operations":[{…keys of run…,"collective":false,
//        "seconds":{"median":x,"min":x,"max":x,"quartile1":x,"quartile3":x},"samples":[x,…],"wall_seconds":x,
//        "by_device":[{"device":n,"seconds":{…as above…},"samples":[x,…]}],
//        "flops":x,"work_bytes":x,"limit":"gemm|copy|null","share_of_limit":x,
//        of a collective: "executed_bytes":n,"group_size":n,"groups":[[…]],"algorithm":"shared-memory","algorithm_bandwidth":x,
//        "bus_bandwidth":x,"traffic_bytes":x,"traffic_bytes_per_second":x}],
//    "memory":{"devices":[{"device":n,"name":…,"peak_bytes":n,"peak_at":…,"announced_bytes":n}],
//              "predicted":{"peak_bytes_per_device":n,"in_run_bytes":n,"note":…}},
//    "left_out":n}
//
// seconds   of a core. Of an operation those of the slowest device (serial), or of all devices by the threads that shared
//           the work (batched); of a collective always the latter.
// bytes     the plan's S, in the design's dtype; executed_bytes the same in the float32 that ran.
// algorithm_bandwidth, bus_bandwidth   executed S by the seconds, and that times 2 (n-1)/n of an all-reduce, (n-1)/n of an
//           all-gather, reduce-scatter and all-to-all (nccl-tests, doc/PERFORMANCE.md).
// traffic_bytes   least that has to be read and written for all groups (performance 4.2): all-reduce 2nS, all-gather and
//           reduce-scatter (n+1)S, all-to-all 2nS, broadcast nS, send-recv 2S for each device, local slice 2 S/n for each.
// share_of_limit   the larger of FLOPs by the measured rate of matrix products and bytes by the measured copy rate, by the
//           seconds: 1 is as fast as this machine was seen to be. `limit` says which. Data that stays in the caches can exceed 1.
#pragma once

#include "model/io/wire/messages.h"
#include "model/io/wire/profile.h"

#include <map>
#include <string>
#include <vector>

namespace shardboard {

/// What the plan says that a device holds.
struct MemoryPrediction {
    std::int64_t peakBytes = 0; ///< of the whole design, on the device with most
    std::int64_t inRunBytes = 0; ///< the part of it that this run holds, in float32; 0: the run is another than the design
    std::string note;
};

nlohmann::json profileDocument(const RunResult& result, const RunProfile& profile, const MemoryPrediction& predicted);

/// 2 (n-1)/n, (n-1)/n or 1, by the kind's name.
double busFactor(const std::string& kind, std::int64_t groupSize);
/// Bytes of one device group that have to be read and written, S being those that ran.
double trafficOfGroup(const std::string& kind, std::int64_t groupSize, double bytes);

/// An operation of the profile with all its executions.
struct ProfileSummary {
    std::vector<double> samples; ///< of the whole, in execution order
    std::vector<double> wall;
    std::map<std::int64_t, std::vector<double>> byDevice;
    double seconds = 0; ///< median
    double flops = 0;
    double bytes = 0; ///< read and written; of a collective the traffic
    double gemmShare = 0;
    double copyShare = 0;
};
/// By index of the operation.
std::vector<ProfileSummary> summarize(const RunProfile& profile);

} // namespace shardboard
