// SPDX-License-Identifier: Apache-2.0
// A plain text table for terminals: columns as wide as their content, numbers at the right.
#pragma once

#include <string>
#include <vector>

namespace shardboard {

class Table {
public:
    /// A heading that begins with `>` makes a right-aligned column.
    explicit Table(std::vector<std::string> headings);
    void add(std::vector<std::string> cells);
    bool empty() const { return m_rows.empty(); }
    /// Lines with `indent` blanks before them.
    std::string text(int indent = 2) const;

private:
    std::vector<std::string> m_headings;
    std::vector<bool> m_right;
    std::vector<std::vector<std::string>> m_rows;
};

} // namespace shardboard
