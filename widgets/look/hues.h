// SPDX-License-Identifier: Apache-2.0
// Colours of a few parts. Pure functions of an index and the look that was chosen. The seven Okabe-Ito hues in an order in which
// neighbours differ in lightness too; after seven the hues come again with a hatching, so that colour never stands alone.
#pragma once

#include "widgets/look/partstyle.h"

#include <QBrush>
#include <QColor>

#include <cstdint>

namespace shardboard {

inline constexpr int kHueCount = 7;

struct PartColor {
    QColor fill;
    QColor label; ///< text on fill, contrast at least 4.5:1, hatched or not
    Qt::BrushStyle hatch = Qt::NoBrush; ///< drawn over fill in `hatchColor`
    QColor hatchColor;
};

/// Colour of part `index` (0, 1, 2, …) of a cut into few; of any number: PartColors.
PartColor partColor(std::int64_t index);
/// How many colours there are before the first one comes again, hatching and all.
int colorCount();
/// WCAG contrast ratio, 1 to 21.
double contrastRatio(const QColor& a, const QColor& b);

} // namespace shardboard
