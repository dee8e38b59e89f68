// SPDX-License-Identifier: Apache-2.0
#include "app/worker/messagefields.h"

namespace shardboard {

using nlohmann::json;

std::string messageText(const json& message, const char* key)
{
    const auto it = message.find(key);
    return it != message.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::int64_t messageWhole(const json& message, const char* key)
{
    const auto it = message.find(key);
    return it != message.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}

double messageNumber(const json& message, const char* key)
{
    const auto it = message.find(key);
    return it != message.end() && it->is_number() ? it->get<double>() : 0;
}

} // namespace shardboard
