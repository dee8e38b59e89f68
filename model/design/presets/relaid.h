// SPDX-License-Identifier: Apache-2.0
// A preset lays a model out for one batch. When the batch or the kind of workload changes later, the entries stay, and the preset
// would write others.
#pragma once

#include "model/design/design.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct RelaidDesign {
    std::string preset; ///< that laid the design out, for another workload
    Design design; ///< as the preset would lay it out now; entries, pins and a pipeline that are not the preset's stay
    std::vector<std::string> notes; ///< what the preset leaves out now
    friend bool operator==(const RelaidDesign&, const RelaidDesign&) = default;
};

/// What the preset of a design would do otherwise now. Nothing where the entries are what a preset writes now, where they are no
/// preset's, or where the preset cannot lay the present workload out. A batch that the preset cut over some axes is told by these
/// axes: the design itself does not say for which batch it was laid out. Makes some hundred presets, more on meshes of many axes:
/// off the thread that draws, until `stop` says so, when nothing is found.
std::optional<RelaidDesign> relaidByPreset(const Design& design, const std::function<bool()>& stop = {});

} // namespace shardboard
