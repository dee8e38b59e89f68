// SPDX-License-Identifier: Apache-2.0
// One design under many batches, sequences, micro-batches and numbers of devices: each point is planned anew, with the layouts as
// they are said.
#pragma once

#include "model/design/design.h"
#include "model/plan/memorybytes.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// What takes which values; empty: as the design has it.
struct SweepRequest {
    std::vector<std::int64_t> batches;
    std::vector<std::int64_t> sequences;
    std::vector<std::int64_t> microBatches;
    std::vector<std::int64_t> devices; ///< more or fewer copies: the first data or fsdp axis grows or shrinks
    int threads = 2;
    const std::atomic<bool>* cancelled = nullptr; ///< set: points that are not planned yet say so
};

struct SweepPoint {
    std::int64_t batch = 0;
    std::int64_t sequence = 0;
    std::int64_t microBatches = 1;
    std::int64_t devices = 1;
    std::string refused; ///< why there is no plan; empty where there is one
    double seconds = 0;
    double tokensPerSecondPerDevice = 0;
    double mfu = 0;
    std::int64_t peakBytes = 0;
    Fit fit = Fit::DoesNotFit; ///< into what the device has
};

/// Reads `1,2,4`, or `1..64` for the powers of two between them. Errors (usage, at `where`): a word that is no number of 1 to 2^31.
Result<std::vector<std::int64_t>> sweepValuesFrom(std::string_view text, const std::string& where);

/// What can be swept.
struct SweepSetting {
    std::string_view name;
    std::vector<std::int64_t> SweepRequest::*values;
};
inline constexpr std::array<SweepSetting, 4> kSweepSettings { { { "batch", &SweepRequest::batches },
                                                                { "sequence", &SweepRequest::sequences },
                                                                { "micro-batches", &SweepRequest::microBatches },
                                                                { "devices", &SweepRequest::devices } } };
/// Reads `batch=1..256,sequence=2048,8192`. Errors (usage, at `where`): no setting, an unknown one, one that is said twice, its
/// values.
Status readSweep(std::string_view text, const std::string& where, SweepRequest& request);

inline constexpr std::size_t kMostSweepPoints = 1'000'000;

/// Batches outermost, devices innermost. Errors: too many points; a mesh without an axis that can grow; a design that is none.
Result<std::vector<SweepPoint>> sweep(const Design& design, const SweepRequest& request);

} // namespace shardboard
