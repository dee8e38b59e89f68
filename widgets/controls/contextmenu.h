// SPDX-License-Identifier: Apache-2.0
// A menu for a place in a view. It comes and the view goes on: nothing waits for it on the stack, so that an edit which takes the
// view away (a worker's answer, a file that was read again) may take its open menu too.
#pragma once

#include <functional>

class QMenu;
class QPoint;
class QWidget;

namespace shardboard {

/// Shows what `fill` puts into the menu, below `at` of the screen; nothing when it puts nothing there.
void showContextMenu(QWidget* owner, const QPoint& at, const std::function<void(QMenu*)>& fill);

} // namespace shardboard
