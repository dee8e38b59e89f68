// SPDX-License-Identifier: Apache-2.0
// What stands at the head of generated files: usage lines, what of the design they do not say, how many weights there are.
#pragma once

#include "model/io/exports/exportrefusals.h"
#include "model/io/exports/pythontext.h"

#include <algorithm>
#include <string>
#include <vector>

namespace shardboard {

/// Every line as a comment of Python, YAML or a shell.
inline std::string commented(const std::string& text)
{
    std::string out;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        out += "#   " + text.substr(from, end - from) + "\n";
        from = end + 1;
    }
    return out;
}

/// `LEFT_OUT = (...)` of a Python file: sentences of what the export does not say.
inline std::string leftOutCode(const std::vector<std::string>& lines)
{
    std::string out = "LEFT_OUT = (";
    for (const std::string& line : lines)
        out += "\n    " + pythonLiteral(line) + ",";
    return out + (lines.empty() ? ")" : "\n)") + "  # of the design\n";
}

/// The same as comments; nothing where there is nothing.
inline std::string leftOutComment(const std::vector<std::string>& lines)
{
    std::string out = lines.empty() ? "" : "# Left out of the design:\n";
    for (const std::string& line : lines)
        out += commented(line);
    return out;
}

/// The number of weights in shards.json, without which a check would pass on a file that has lost some.
inline std::string weightsCode(const Evaluation& evaluation)
{
    return "WEIGHTS = " + std::to_string(weightCount(evaluation)) + "  # in shards.json, each layer apart\n";
}

} // namespace shardboard
