// SPDX-License-Identifier: Apache-2.0
// Names that somebody could put into a file to have them obeyed instead of shown, for every test of a path that text
// takes.
#pragma once

#include "model/text/visibletext.h"

#include <string>
#include <vector>

namespace shardboard {

struct HostileName {
    std::string what; ///< for the test's message
    std::string name;
};

/// Well-formed and printable: a design may hold them, and every view, export and message has to show them as they are.
inline std::vector<HostileName> printableHostileNames()
{
    return {
        { "single quote", "it's" },
        { "double quote", "say \"x\"" },
        { "Python ends its text", "'''\"\"\"\\" },
        { "Python call", "')+__import__('os').system('false')+('" },
        { "backslash at the end", "a\\" },
        { "escape of a newline", "a\\nimport os" },
        { "HTML picture", "<img src=\"file:///nonexistent/fifo\">" },
        { "HTML bold", "<b>bold</b><h1>x</h1>" },
        { "HTML entity", "&lt;&amp;&#0;&nbsp;" },
        { "XML cdata", "]]><![CDATA[<!--" },
        { "XML instruction", "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b SYSTEM \"file:///nonexistent\">]>" },
        { "format of printf", "%n%s%99999d" },
        { "place of QString::arg", "%1 %2 %L1" },
        { "mnemonic", "a&b&&c" },
        { "shell", "$(false); `false` | & > x" },
        { "YAML", "!!python/object: {a: [" },
        { "path", "../../../etc/passwd" },
        { "glob", "*?[a-z]{a,b}" },
        { "spaces", "  two  spaces  " },
        { "wide letters", "\xe5\xb1\x82\xe5\xb1\x82" }, // two Chinese characters
        { "combining marks", "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81" },
        { "beyond the basic plane", "\xf0\x9f\xa7\xa9" },
        { "100,000 characters", std::string(100'000, 'x') },
    };
}

/// With characters that are obeyed rather than shown: refused or escaped where they enter.
inline std::vector<HostileName> controlHostileNames()
{
    return {
        { "newline", "a\nimport os; os.system(\"false\")\n#" },
        { "carriage return", "a\rb" },
        { "NUL", std::string("a\0b", 3) },
        { "tab", "a\tb" },
        { "escape of a terminal", "\x1b[31mred\x1b[0m" },
        { "title of a terminal", "\x1b]0;title\x07" },
        { "backspaces", "abc\b\b\b" },
        { "DEL", "a\x7f" },
        { "C1 control",
          "a\xc2\x9b"
          "31m" },
        { "line separator",
          "a\xe2\x80\xa8"
          "b" },
        { "right-to-left override",
          "a\xe2\x80\xae"
          "txt.exe" },
        { "isolate",
          "a\xe2\x81\xa6"
          "b\xe2\x81\xa9" },
        { "byte order mark",
          "\xef\xbb\xbf"
          "a" },
    };
}

/// Byte sequences that are no UTF-8: as names of files and folders, and raw in files.
inline std::vector<HostileName> malformedHostileNames()
{
    return {
        { "lone byte", "o\xff" },         { "cut character", "o\xe2\x82" },          { "overlong slash", "o\xc0\xaf" },
        { "surrogate", "o\xed\xa0\x80" }, { "beyond Unicode", "o\xf4\x90\x80\x80" },
    };
}

} // namespace shardboard
