// SPDX-License-Identifier: Apache-2.0
#include "model/io/wire/greeting.h"

#include "model/io/wire/jsonline.h"

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

bool isMessage(const nlohmann::json& json)
{
    const auto type = json.is_object() ? json.find("type") : json.end();
    return json.is_object() && type != json.end() && type->is_string();
}

bool isHello(const nlohmann::json& message) { return isMessage(message) && message["type"] == "hello"; }

} // namespace

Greeting greetingOf(std::string_view line)
{
    using Kind = Greeting::Kind;
    constexpr int kMostBraces = 100;
    constexpr std::size_t kLongestHello = std::size_t { 1 } << 20;
    if (auto whole = parseJsonLine(line, "engine"); whole.ok()) {
        if (!isMessage(whole.value()))
            return {};
        return { isHello(whole.value()) ? Kind::Hello : Kind::Stranger, std::move(whole).value() };
    }
    line.remove_prefix(line.size() - std::min(line.size(), kLongestHello)); // a line of chatter may be as long as it likes
    if (line.find("\"hello\"") == std::string_view::npos)
        return {};
    auto brace = line.find('{');
    for (int i = 0; i < kMostBraces && brace != std::string_view::npos; ++i) {
        auto rest = parseJsonLine(line.substr(brace), "engine");
        if (rest.ok() && isHello(rest.value()))
            return { Kind::Hello, std::move(rest).value() };
        brace = line.find('{', brace + 1);
    }
    return {};
}

} // namespace shardboard
