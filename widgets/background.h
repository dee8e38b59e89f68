// SPDX-License-Identifier: Apache-2.0
// What evaluates in the background gives way to the window: on a machine with few cores a frame would wait for it.
#pragma once

namespace shardboard {

/// The calling thread runs when others leave it room. Called by workers, never by the GUI thread.
void giveWay();

} // namespace shardboard
