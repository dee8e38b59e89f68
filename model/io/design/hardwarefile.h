// SPDX-License-Identifier: Apache-2.0
// Hardware in a file of its own, to be edited by people:
//   {"format": "shardboard-hardware", "version": 1, "base": "dgx-h100",
//    "device": {"memory_bytes": 96e9}, "levels": [{}, {"link": {"bytes_per_second": 3e10}}]}
// With `base` only what differs has to be said; lists of levels are merged entry by entry. A device or link is an object,
// an id of a preset, or an object with the id of a preset as its `base`. Rates (bytes/s, FLOP/s) are decimal.
// `memory_bytes` is what the driver reports, `reserved_bytes` the part of it that no program gets (0 where it is left out). The key
// `calibration` (model/io/measured/machinefit.h) is for people and is not read.
#pragma once

#include "model/hardware/hardware.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace shardboard {

/// The whole of it, without a base.
nlohmann::json hardwareJson(const Hardware& hardware);
/// As a file.
std::string hardwareText(const Hardware& hardware);

/// Checks every value (checkHardware) and refuses unknown keys; errors name FILE:KEY. `where` names the file.
Result<Hardware> hardwareFromJson(const nlohmann::json& document, const std::string& where);
Result<Hardware> hardwareFromText(std::string_view text, const std::string& where);

/// What follows --hardware: the id of a preset, or the name of a file, which ends in .json or has a `/` in it. `where` stands
/// in errors about an id.
Result<Hardware> hardwareNamed(const std::string& idOrFile, const std::string& where = "hardware");

} // namespace shardboard
