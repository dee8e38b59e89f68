// SPDX-License-Identifier: Apache-2.0
// A cursor over large JSON that becomes no tree of values: problems with tens of millions of numbers, traces with millions of
// events. The general reader takes twenty times as long.
#pragma once

#include "model/core/result.h"
#include "model/io/json/jsontext.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// The first problem sticks: later calls do nothing and give zeros and empty texts. Views that it hands out hold until the next
/// call.
class JsonCursor {
public:
    /// The whole document, which has to live as long.
    JsonCursor(std::string_view text, std::string where);
    /// A document that is read piece by piece; no more than a piece and the longest of its texts is in memory.
    JsonCursor(JsonSource source, std::string where);

    /// Calls `each()` for the elements of a list.
    template <class Each>
    void list(Each each)
    {
        if (!open('['))
            return;
        if (closes(']'))
            return;
        do
            each();
        while (goesOn(']'));
        --m_depth;
    }
    /// Calls `each(key)` for the members of an object; it has to read or skip the value.
    template <class Each>
    void object(Each each)
    {
        if (!open('{'))
            return;
        if (closes('}'))
            return;
        do {
            const std::string key(text());
            if (!take(':'))
                return fail(kNoColon, kCheckJson);
            each(std::string_view(key));
        } while (goesOn('}'));
        --m_depth;
    }
    std::int64_t integer();
    /// A list of whole numbers, appended.
    void integers(std::vector<std::int64_t>& out)
    {
        list([&] { out.push_back(integer()); });
    }
    std::string_view number(); ///< any number, as it is written
    std::string_view text();
    void skip(); ///< any value
    bool takesNull(); ///< true where the value is null, which is then read
    char next(); ///< first byte of the next value, which stays where it is; 0 at the end
    void end(); ///< nothing may follow

    void fail(const std::string& what, const std::string& fix);
    bool good() const { return !m_error; }
    /// The problem is that the document ended before it was whole.
    bool cutOff() const { return m_cutOff; }
    const std::optional<Error>& error() const { return m_error; }

private:
    static constexpr const char* kCheckJson = "check that the file is JSON and whole";
    static constexpr const char* kNoColon = "':' is missing after a key";

    bool more();
    bool has() { return m_at < m_text.size() || more(); }
    void blanks();
    bool take(char byte);
    bool open(char byte);
    bool closes(char byte);
    bool goesOn(char end);
    bool word(std::string_view expected);
    void skipObject();
    void escape();
    unsigned hexDigits();

    std::string_view m_text; ///< what is in memory of the document
    std::string m_where;
    JsonSource m_source;
    std::string m_buffer; ///< of a source: m_text lies in it
    std::string m_decoded; ///< a text that had escapes
    std::size_t m_at = 0;
    std::size_t m_keep = 0; ///< begin of the token that is being read: m_text has it until it is over
    bool m_inToken = false;
    std::size_t m_lines = 0; ///< line ends before m_text
    std::size_t m_column = 0; ///< bytes of its first line before it
    int m_depth = 0;
    bool m_cutOff = false;
    std::optional<Error> m_error;
};

} // namespace shardboard
