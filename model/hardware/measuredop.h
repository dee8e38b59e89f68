// SPDX-License-Identifier: Apache-2.0
// What an operation took in programs that ran on this very machine, beside what the law of its class says. Value types.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// One size of an operation: three natural logarithms (model/cost/kerneltime.h, measuredSize), and measured seconds by those of
/// the law.
struct MeasuredSize {
    std::array<double, 3> size {};
    double factor = 1; ///< positive
    friend bool operator==(const MeasuredSize&, const MeasuredSize&) = default;
};

struct MeasuredOp {
    std::string op; ///< `rms_norm`
    std::vector<MeasuredSize> sizes; ///< at least one

    /// The factor at a size: the mean of the logarithms, each weighted by 1 / (d2 + kNear)^2 with the square of the distance, so
    /// that it is that of the point where one was measured, and far from all of them that of most.
    double factorAt(const std::array<double, 3>& size) const;
    static constexpr double kNear = 0.02; ///< points nearer than a seventh in size count as one place
    friend bool operator==(const MeasuredOp&, const MeasuredOp&) = default;
};

/// Null where the operation was not measured.
const MeasuredOp* findMeasured(const std::vector<MeasuredOp>& all, std::string_view op);

} // namespace shardboard
