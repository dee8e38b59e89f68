// SPDX-License-Identifier: Apache-2.0
// What evaluates in the background gives way to the window: on a machine with few cores a frame would wait for it.
#pragma once

#include <atomic>

namespace shardboard {

/// The calling thread runs when others leave it room. Called by workers, never by the GUI thread.
void giveWay();
/// Waits until the window has painted what led to the work, so that of a burst of requests only the last works; false when `stop`
/// is set by then.
bool pauseUnlessStopped(const std::atomic<bool>& stop);

} // namespace shardboard
