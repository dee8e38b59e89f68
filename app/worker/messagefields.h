// SPDX-License-Identifier: Apache-2.0
// Fields of a message of the worker's, as other programs may have written it: nothing is taken for granted.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace shardboard {

/// Empty or 0 where the message has no such value.
std::string messageText(const nlohmann::json& message, const char* key);
std::int64_t messageWhole(const nlohmann::json& message, const char* key);
double messageNumber(const nlohmann::json& message, const char* key);

} // namespace shardboard
