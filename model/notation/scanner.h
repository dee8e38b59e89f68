// SPDX-License-Identifier: Apache-2.0
// Walks over the text of a layout; blanks between tokens do not matter. Errors quote the place.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardboard {

class Scanner {
public:
    /// The text must live as long as the scanner. `form` is an example of a right text, the fix of every error.
    Scanner(std::string_view text, std::string where, std::string form);

    bool atEnd();
    /// The next character after blanks, or '\0' at the end.
    char peek();
    /// Takes this text if it is next.
    bool take(std::string_view token);
    /// Takes a word of letters, digits and _ (as much as there is); empty if there is none.
    std::string_view word();
    /// Takes a word only if it is this one.
    bool takeWord(std::string_view expected);
    /// Takes a text between ' or "; nothing (and nothing taken) when none is next or its end is missing.
    std::optional<std::string_view> quoted();
    /// Takes decimal digits, with an optional minus; nothing when there are none or too many.
    std::optional<std::int64_t> integer();

    Error fail(const std::string& what) const;
    const std::string& where() const { return m_where; }

private:
    void skipBlanks();

    std::string_view m_text;
    std::string m_where;
    std::string m_form;
    std::size_t m_at = 0;
};

} // namespace shardboard
