// SPDX-License-Identifier: Apache-2.0
// The theme's colors as plots take them.
#pragma once

#include "widgets/look/theme.h"
#include "widgets/plots/plotlook.h"

namespace shardboard {

inline PlotLook plotLook(const QWidget* widget)
{
    const Theme& theme = Theme::of(widget);
    return { theme.panel, theme.quiet, theme.text, theme.line, theme.accent, theme.error };
}

} // namespace shardboard
