// SPDX-License-Identifier: Apache-2.0
// Windows that stay where they can be seen and used: no larger than the screen, no part of the title beyond it.
#pragma once

#include <QRect>

class QWidget;

namespace shardboard {

/// `wanted` made no larger than `screen` and moved into it. `frame` is what the title and the borders add to the size. Pure.
QRect placedWithin(const QRect& wanted, const QRect& screen, const QSize& frame = { 0, 0 });
/// Makes a window no larger than its screen, and moves one that is (mostly) beyond all screens, as on one that was taken away, onto
/// the first one.
void fitToScreen(QWidget* window);

} // namespace shardboard
