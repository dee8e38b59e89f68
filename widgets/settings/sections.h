// SPDX-License-Identifier: Apache-2.0
// The sections of the settings, each in the file of its name.
#pragma once

#include "widgets/settings/setting.h"

namespace shardboard {

SettingGroup workloadSection(); ///< what one step does, on how much data
SettingGroup hardwareSection(const Design& design); ///< the presets and the design's own
SettingGroup parallelSection(const Design& design); ///< stages, optimizer states, tokens of experts: what no layout says
SettingGroup precisionSection(); ///< the types of data that differ from the workload's
SettingGroup recomputeSection(const Design& design);
SettingGroup overlapSection(const Design& design);
SettingGroup kernelSection();
SettingGroup optimizerSection();
SettingGroup memorySection();

} // namespace shardboard
