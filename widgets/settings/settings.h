// SPDX-License-Identifier: Apache-2.0
// The settings of a design that follow from no layout, section by section: what runs, on which hardware, how the work is split
// beside the layouts, in which precision, what is computed again, what overlaps, with whose kernels, what else memory holds. Each
// section has a file of its own.
#pragma once

#include "widgets/settings/setting.h"

namespace shardboard {

/// All of them, for a design: its mesh axes and its own hardware are among them.
std::vector<SettingGroup> settingGroups(const Design& design);

/// The one of that id; one without an id where there is none.
Setting settingNamed(const Design& design, const QString& id);

} // namespace shardboard
