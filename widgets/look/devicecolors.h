// SPDX-License-Identifier: Apache-2.0
// Colours of parts, devices and mesh axes. Pure functions of an index and the look that was chosen. The seven Okabe-Ito hues in an
// order in which neighbours differ in lightness too; after seven the hues come again with a hatching, so that colour never stands
// alone.
#pragma once

#include "model/core/shards.h"
#include "widgets/look/partstyle.h"

#include <QBrush>
#include <QColor>

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

inline constexpr int kHueCount = 7;

struct PartColor {
    QColor fill;
    QColor label; ///< text on fill, contrast at least 4.5:1, hatched or not
    Qt::BrushStyle hatch = Qt::NoBrush; ///< drawn over fill in `hatchColor`
    QColor hatchColor;
};

/// Colour of part `index` (0, 1, 2, …) of a cut.
PartColor partColor(std::int64_t index);
/// How many colours there are before the first one comes again, hatching and all.
int colorCount();
/// Colour of a mesh axis, by its index in the mesh.
QColor axisColor(int axis);
/// WCAG contrast ratio, 1 to 21.
double contrastRatio(const QColor& a, const QColor& b);

/// Gives every device of a mesh the colour index of the shard that it holds: devices with equal shards share a colour.
/// While the shown tensor is whole everywhere (or there is none) the last mesh axis with more than one device decides.
class DeviceColors {
public:
    DeviceColors() = default;
    DeviceColors(const Mesh& mesh, const ShardMap* shards);
    std::int64_t indexAt(std::int64_t position) const;
    std::int64_t count() const; ///< of different indices
    bool byShard() const { return m_byShard; }
    std::string axisName() const; ///< of the mesh axis that decides where no shards do; empty: all devices are alike
    /// What devices of each index hold, in the order of the indices; empty where no shards decide. For few indices.
    std::vector<Shard> shardsHeld() const;

private:
    Mesh m_mesh;
    ShardMap m_shards;
    bool m_byShard = false;
    int m_axis = -1;
};

} // namespace shardboard
