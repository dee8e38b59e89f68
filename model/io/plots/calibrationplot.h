// SPDX-License-Identifier: Apache-2.0
// How far a fit lies from what was measured, point by point.
#pragma once

#include "model/io/measured/machinefit.h"
#include "model/plots/plot.h"

namespace shardboard {

/// The error of what the fit says, as a part of what was measured, over measured seconds: a series for each kind of point that a
/// law was fitted to.
Plot calibrationPlot(const Calibration& calibration, const MachineFit& fit);

} // namespace shardboard
