// SPDX-License-Identifier: Apache-2.0
// What the picture of a mesh shows, without sizes in pixels: where devices stand, what colours them, which of them are searched
// for; and what is said about one of them, a unit or a group. Made when the evaluation, the shown weight, the search, the colouring
// or the room is another one, never while painting.
#pragma once

#include "widgets/document/devicememory.h"
#include "widgets/look/devicecolors.h"
#include "widgets/mesh/keptgrids.h"
#include "widgets/mesh/meshfind.h"

#include "model/design/evaluation.h"
#include "model/hardware/hardware.h"

#include <QImage>
#include <QString>

#include <cstdint>
#include <vector>

namespace shardboard {

struct Theme;

struct MeshScene {
    enum class Coloring { Shards, Memory };
    static constexpr double kQuiet = 0.22; ///< opacity of what is not searched for, or not shown by the legend

    Coloring coloring = Coloring::Shards;
    QString highlight; ///< key of the legend's entry that is not drawn quietly; empty: all are not
    Mesh mesh;
    MeshGrid grid;
    DeviceColors colors;
    Hardware hardware;
    DeviceMemory memory;
    MeshPattern found;
    bool hatched = false; ///< some device is: its colour alone does not say all
    std::vector<double> heat; ///< by level of the hardware: share of the step in which collectives run that reach so far
    QImage image; ///< one pixel a device, in grid shape

    /// `evaluation` and `weight` (the one that colours the devices) may be null.
    void prepare(const Design& design, const Evaluation* evaluation, const WeightLayout* weight, const QString& wanted,
                 const MeshRoom& room, const Theme& theme);
    /// The same in another room; false where that is the same grid.
    bool arrange(const MeshRoom& room);
    /// The grid that another room would have.
    MeshGrid gridIn(const MeshRoom& room) const { return m_grids.of(mesh, hardware, room); }

    PartColor colorAt(std::int64_t position, const Theme& theme) const;
    /// Whether a device is what is searched for and what the legend shows.
    bool isLoud(std::int64_t position) const;
    /// The device, its coordinates, what it holds of the weight and its peak of memory, in lines.
    QString deviceText(std::int64_t position, const WeightLayout* weight) const;
    /// `shard 12`, `model 3`: what the colour of a device stands for.
    QString colorText(std::int64_t position) const;
    /// `node 12`, `data 64–127`: the unit that a device is in.
    QString unitText(int tier, std::int64_t position) const;
    /// The unit, its coordinates and its devices, in lines.
    QString unitToolTip(int tier, std::int64_t position) const;
    /// `device group of model · 4 devices · 450 GB/s`
    QString groupText(const std::vector<int>& axes) const;

private:
    void color(const Theme& theme);
    void drawImage();
    std::vector<QRgb> m_pixels; ///< by position
    mutable KeptGrids m_grids;
};

} // namespace shardboard
