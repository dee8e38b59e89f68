// SPDX-License-Identifier: Apache-2.0
// What has to hold of every hardware, built in or written by somebody.
#pragma once

#include "model/hardware/hardware.h"

namespace shardboard {

/// `where` names the file or option; errors name the value in it as a hardware file spells it (`levels[1].link.bytes_per_second`).
Status checkHardware(const Hardware& hardware, const std::string& where);

} // namespace shardboard
