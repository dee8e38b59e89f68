// SPDX-License-Identifier: Apache-2.0
// JSON documents as text, whatever the names in them hold.
#pragma once

#include "model/text/visibletext.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace shardboard {

/// A copy in which texts that are not UTF-8 (names of files can be anything) are as visibleText shows them.
template <class Json>
Json withVisibleTexts(const Json& document)
{
    const auto shown = [](const std::string& text) { return isUtf8(text) ? text : visibleText(text); };
    if (document.is_string())
        return shown(document.template get_ref<const std::string&>());
    if (!document.is_structured())
        return document;
    Json out = document.is_array() ? Json::array() : Json::object();
    for (const auto& item : document.items()) {
        if (document.is_array())
            out.push_back(withVisibleTexts(item.value()));
        else
            out[shown(item.key())] = withVisibleTexts(item.value());
    }
    return out;
}

/// For files, pipes and terminals alike: never throws because of a text, and has no character that a terminal obeys. Compact
/// without an `indent`.
template <class Json>
std::string jsonText(const Json& document, int indent = -1)
{
    try {
        return visibleJson(document.dump(indent));
    } catch (const typename Json::type_error&) { // not UTF-8
        return visibleJson(withVisibleTexts(document).dump(indent));
    }
}

} // namespace shardboard
