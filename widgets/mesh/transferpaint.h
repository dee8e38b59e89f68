// SPDX-License-Identifier: Apache-2.0
// Draws what moves between devices: bowed arrows, and dots that run along them.
#pragma once

#include "widgets/mesh/transfers.h"

#include <vector>

class QPainter;

namespace shardboard {

struct Theme;

/// `progress` from 0 to 1; at 1 the arrows stand still and have no dots, which have the radius `dot`.
void paintTransfers(QPainter& painter, const std::vector<Arrow>& arrows, double progress, double dot, const Theme& theme);

} // namespace shardboard
