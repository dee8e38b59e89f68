// SPDX-License-Identifier: Apache-2.0
// What the two directions of the design file share.
#pragma once

#include "model/design/design.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

std::string attentionBiasName(AttentionBias bias); ///< none, qkv, qkvo
std::optional<AttentionBias> attentionBiasFromName(std::string_view name);

/// An entry as it stands in the file. Unknown keys of an entry are kept under this text, so that they go with it when
/// others are added or moved, and go away when it is changed.
nlohmann::json strategyJson(const StrategyEntry& entry);
nlohmann::json pinJson(const Pin& pin); ///< in the same way

std::string compactText(const nlohmann::json& value);
/// Adds the keys of `unknown`, if it is an object, that are not there yet.
void addUnknown(nlohmann::json& known, const nlohmann::json& unknown);

} // namespace shardboard
