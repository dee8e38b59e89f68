// SPDX-License-Identifier: Apache-2.0
// A cursor over JSON that is nearly all whole numbers. Files of problems have tens of millions of them and the time to read them
// counts: the general reader takes twenty times as long.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardboard {

/// The first problem sticks: later calls do nothing and give zeros and empty texts.
class NumberText {
public:
    NumberText(std::string_view text, std::string where)
        : m_text(text)
        , m_where(std::move(where))
    {
    }

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
            const std::string key = text();
            if (!take(':'))
                return fail("':' is missing after a key", "check that the file is JSON and whole");
            each(key);
        } while (goesOn('}'));
        --m_depth;
    }
    std::int64_t integer();
    /// A list of whole numbers, appended.
    void integers(std::vector<std::int64_t>& out)
    {
        list([&] { out.push_back(integer()); });
    }
    std::string text();
    void skip(); ///< any value
    bool takesNull(); ///< true where the value is null, which is then read
    void end(); ///< nothing may follow

    void fail(const std::string& what, const std::string& fix);
    bool good() const { return !m_error; }
    const std::optional<Error>& error() const { return m_error; }

private:
    void blanks();
    bool take(char byte);
    bool open(char byte);
    bool closes(char byte);
    bool goesOn(char end);
    bool word(std::string_view expected);

    std::string_view m_text;
    std::string m_where;
    std::size_t m_at = 0;
    int m_depth = 0;
    std::optional<Error> m_error;
};

} // namespace shardboard
