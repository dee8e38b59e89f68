// SPDX-License-Identifier: Apache-2.0
// Stands between a byte source and the JSON reader: ends the input at the first byte that breaks a limit, and knows
// line and column. One pass, no recursion, constant memory.
#pragma once

#include "model/io/json/jsontext.h"

#include <array>
#include <cstddef>
#include <iterator>
#include <string>

namespace shardboard {

class JsonGuard {
public:
    JsonGuard(const JsonSource& source, const JsonLimits& limits, bool cutLongTexts);

    /// The next byte for the reader, or -1 at the end or after a problem.
    int next();
    const std::string& problem() const { return m_problem; }
    /// `LINE:COLUMN`, from 1, of the byte that broke a limit, or else of the last one that the reader has looked at.
    std::string place() const;

    /// What the reader is given.
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = char;
        using difference_type = std::ptrdiff_t;
        using pointer = const char*;
        using reference = const char&;

        Iterator() = default;
        explicit Iterator(JsonGuard* guard)
            : m_guard(guard)
        {
            ++*this;
        }
        const char& operator*() const { return m_byte; }
        Iterator& operator++()
        {
            const int byte = m_guard->next();
            m_end = byte < 0;
            m_byte = static_cast<char>(byte);
            return *this;
        }
        Iterator operator++(int)
        {
            Iterator before = *this;
            ++*this;
            return before;
        }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.m_end == b.m_end; }
        friend bool operator!=(const Iterator& a, const Iterator& b) { return !(a == b); }

    private:
        JsonGuard* m_guard = nullptr;
        char m_byte = 0;
        bool m_end = true;
    };

private:
    int peekByte();
    int rawByte();
    int fail(std::string problem);
    int outside(int byte);
    int inside(int byte);
    int pythonNumber(int byte);
    bool skipRestOfText();

    const JsonSource& m_source;
    JsonLimits m_limits;
    bool m_cutLongTexts;
    std::array<char, 16384> m_buffer {};
    std::size_t m_filled = 0;
    std::size_t m_used = 0;
    std::size_t m_line = 1;
    std::size_t m_column = 0;
    std::size_t m_lineBefore = 1; ///< the reader's iterator is one byte ahead of the reader
    std::size_t m_columnBefore = 0;
    int m_depth = 0;
    std::size_t m_tokenBytes = 0;
    bool m_inText = false;
    int m_escapeLeft = 0; ///< bytes of an escape sequence still to come
    bool m_escapeBegan = false; ///< the last byte was its backslash
    bool m_blank = false; ///< the last byte handed out was a blank outside texts
    std::string m_pending; ///< handed out before anything else is read
    std::string m_problem;
};

} // namespace shardboard
