// SPDX-License-Identifier: Apache-2.0
// Fonts where the platform has none.
#pragma once

class QApplication;

namespace shardboard {

/// Without a display there is no system font: uses DejaVu Sans at 10 points, so that pictures are alike everywhere.
/// Loads the files themselves where the platform does not find them. Elsewhere the system's font stays.
void ensureFonts(QApplication& application);

} // namespace shardboard
