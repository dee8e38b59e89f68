// SPDX-License-Identifier: Apache-2.0
// For SHARDBOARD_TEST(TestX, withFonts): tests that look at texts want the fonts that the program would have.
#pragma once

#include "app/desktop/window/fonts.h"

#include <QApplication>
#include <QStringList>

#include <optional>

namespace shardboard {

inline std::optional<int> withFonts(const QStringList&)
{
    ensureFonts(*qApp);
    return std::nullopt;
}

} // namespace shardboard
