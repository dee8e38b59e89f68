// SPDX-License-Identifier: Apache-2.0
// Which of the seven hues each axis of a mesh has. It follows from the names alone, so that an axis keeps its colour when axes are
// put in another order, and in every document: names that are used everywhere have a hue of their own (data orange, model sky
// blue), any other one goes by its letters; where two want the same one, the known name has it, else the first of the alphabet.
#pragma once

#include "model/core/mesh.h"

#include <QColor>

#include <vector>

namespace shardboard {

class AxisHues {
public:
    AxisHues() = default;
    explicit AxisHues(const Mesh& mesh);
    explicit AxisHues(const std::vector<MeshAxis>& axes);
    /// By index into the mesh; 0 for one that it does not have.
    int hueOf(int axis) const;
    QColor colorOf(int axis) const;

private:
    std::vector<int> m_hues;
};

/// Colour of one of the hues, as axes have it; greys in the look without hues.
QColor hueColor(int hue);
QColor plainHue(int hue); ///< the same in every look
QColor axisColor(const Mesh& mesh, int axis);

} // namespace shardboard
