// SPDX-License-Identifier: Apache-2.0
#include "model/io/wire/jsonline.h"

#include <algorithm>

namespace shardboard {

int jsonDepth(std::string_view text)
{
    int depth = 0;
    int deepest = 0;
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inString) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                inString = false;
        } else if (c == '"') {
            inString = true;
        } else if (c == '[' || c == '{') {
            deepest = std::max(deepest, ++depth);
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return deepest;
}

constexpr const char* kSpeakProtocol = "use programs of the same version, which write one JSON message a line";

Result<nlohmann::json> parseJsonLine(std::string_view line, const std::string& where)
{
    if (jsonDepth(line) > kMaxJsonDepth)
        return inputError(where, "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels", kSpeakProtocol);
    try {
        return nlohmann::json::parse(line.begin(), line.end());
    } catch (const nlohmann::json::parse_error& e) {
        return inputError(where, "not JSON at byte " + std::to_string(e.byte), kSpeakProtocol);
    } catch (const nlohmann::json::exception&) {
        return inputError(where, "not JSON: a number is out of range", kSpeakProtocol);
    }
}

} // namespace shardboard
