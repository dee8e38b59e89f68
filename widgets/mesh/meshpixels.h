// SPDX-License-Identifier: Apache-2.0
// Devices of a mesh that are too small for a rectangle each, as one image: every pixel is looked up by its column and its row, so
// that the picture costs what its pixels cost, or what its devices cost where they are more. A pixel on which several devices lie
// has their mean colour. Pure.
#pragma once

#include "widgets/mesh/meshscene.h"

#include <QImage>
#include <QRect>

#include <vector>

namespace shardboard {

class Viewport;

/// The part `area` of the widget that `viewport` maps to, with so many pixels to one of the widget's. Gaps have the tone of the
/// unit that they lie in: `tones` of the units of each tier, of all of the mesh, and of what is outside.
QImage meshPixels(const MeshScene& scene, const Viewport& viewport, const QRect& area, double ratio,
                  const std::vector<QRgb>& tones);

} // namespace shardboard
