// SPDX-License-Identifier: Apache-2.0
// Widths, order and sorting of the columns of all tables of a window, kept between starts.
#pragma once

class QWidget;

namespace shardboard {

class Settings;

/// Restores those of all tables that are there now, by their object names, and keeps them from now on. `settings` outlives the
/// window.
void keepColumns(QWidget* window, Settings& settings);

} // namespace shardboard
