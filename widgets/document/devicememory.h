// SPDX-License-Identifier: Apache-2.0
// The peak of memory of every device of a plan, and its colour in the heat map of the mesh. Devices of one stage of a pipeline
// have the same peak; without stages all have. Pure.
#pragma once

#include "model/plan/plan.h"
#include "widgets/look/devicecolors.h"

#include <QString>

#include <cstdint>
#include <vector>

namespace shardboard {

struct Theme;

class DeviceMemory {
public:
    DeviceMemory() = default;
    /// `limitBytes` is what a device has; 0: unknown.
    DeviceMemory(const Plan& plan, double limitBytes);

    std::int64_t stageAt(std::int64_t position) const; ///< 0 without a pipeline
    std::int64_t peakAt(std::int64_t position) const; ///< bytes; 0: nothing is known
    double fillAt(std::int64_t position) const; ///< share of what a device has; 0: unknown
    std::int64_t stages() const { return static_cast<std::int64_t>(m_peaks.size()); }
    /// What the numbers and colours of the devices are: `peak of the device`, `peak of each stage of pipe, 31.2–38.8 GiB`.
    QString legend() const;

private:
    Mesh m_mesh;
    int m_axis = -1;
    std::vector<std::int64_t> m_peaks; ///< of the stages
    double m_limit = 0;
};

/// From empty to full one hue that gets stronger; what does not fit is red and hatched.
PartColor heatColor(double fill, const Theme& theme);

} // namespace shardboard
