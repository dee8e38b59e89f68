// SPDX-License-Identifier: Apache-2.0
// Of samples that were measured.
#pragma once

#include <utility>
#include <vector>

namespace shardboard {

/// Between the samples around it where it falls between two; `part` in [0, 1]. 0 without samples.
double quantile(std::vector<double> samples, double part);
inline double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }

/// What is shown of samples besides the samples themselves.
struct Spread {
    double median = 0;
    double min = 0;
    double max = 0;
    double quartile1 = 0;
    double quartile3 = 0;
};
Spread spreadOf(std::vector<double> samples);

} // namespace shardboard
