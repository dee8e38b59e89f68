// SPDX-License-Identifier: Apache-2.0
// Views that nobody sees sleep (DocumentView::setAsleep), and what they show is of an earlier design then. Input wakes them; what
// is triggered without any, an action for one, wakes them with this before it reads what they show.
#pragma once

class QWidget;

namespace shardboard {

/// Wakes the views that a widget is in.
void wakeAround(QWidget* widget);

} // namespace shardboard
