// SPDX-License-Identifier: Apache-2.0
// JSON from files that nobody vouches for: bounded depth, size and time, one error line with line and column.
#pragma once

#include "model/core/result.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <string>

namespace shardboard {

struct JsonLimits {
    int depth = 64; ///< nested objects and arrays
    std::size_t values = 400'000; ///< numbers, texts, objects, … in the whole document
    std::size_t token = std::size_t { 1 } << 20; ///< bytes of one text or number
    bool lastDuplicateWins = false; ///< as Python reads; otherwise a key that is twice in one object is refused
    bool pythonNumbers = false; ///< NaN and Infinity, which Python writes, are read as null
};

/// `where` names the file; errors add line and column.
Result<nlohmann::json> parseJson(const std::string& text, const std::string& where, const JsonLimits& limits = {});

/// Fills a buffer of `size` bytes and returns how many it got, 0 at the end.
using JsonSource = std::function<std::size_t(char* buffer, std::size_t size)>;
/// A text, which has to live as long.
JsonSource jsonSource(const std::string& text);
JsonSource jsonSource(std::string&& text) = delete;

/// A document whose top object has a long list under `key`: its elements are given to `take` one by one, with what of the document
/// was read before, and are not kept, so that the list is empty in the result. The first error that `take` returns is that of all.
using JsonTake = std::function<Status(const nlohmann::json& before, nlohmann::json element)>;
Result<nlohmann::json> parseJsonList(const JsonSource& source, const std::string& where, const std::string& key,
                                     const JsonTake& take, const JsonLimits& limits = {});

/// Receives a document piece by piece; a handler stops reading by returning refuse(…).
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
public:
    bool parse_error(std::size_t position, const std::string& token, const nlohmann::json::exception& problem) override;
    const std::string& problem() const { return m_problem; }
    const std::string& fix() const { return m_fix; }

protected:
    bool refuse(std::string problem, std::string fix = {});

private:
    std::string m_problem;
    std::string m_fix;
};

/// Reads one document to the end of the source; memory stays bounded whatever the source holds. Texts longer than 64
/// KiB are cut at 64 KiB when `cutLongTexts`, so that a handler which does not keep them never pays for them.
Status readJsonEvents(const JsonSource& source, JsonEvents& events, const std::string& where, const JsonLimits& limits,
                      bool cutLongTexts = false);

} // namespace shardboard
