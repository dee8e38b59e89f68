// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/table.h"

#include "model/text/visibletext.h"

#include <algorithm>

namespace shardboard {

namespace {

/// Columns that UTF-8 text takes in a terminal: one for each character (the names and units here have no wide ones).
std::size_t columnsOf(const std::string& text)
{
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

} // namespace

Table::Table(std::vector<std::string> headings)
    : m_headings(std::move(headings))
{
    for (std::string& heading : m_headings) {
        m_right.push_back(heading.starts_with('>'));
        if (m_right.back())
            heading.erase(0, 1);
        heading = visibleText(heading);
    }
}

void Table::add(std::vector<std::string> cells)
{
    cells.resize(m_headings.size());
    for (std::string& cell : cells)
        cell = visibleText(cell); // here, because escapes take columns
    m_rows.push_back(std::move(cells));
}

std::string Table::text(int indent) const
{
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; column < m_headings.size(); ++column) {
        std::size_t width = columnsOf(m_headings[column]);
        for (const auto& row : m_rows)
            width = std::max(width, columnsOf(row[column]));
        widths.push_back(width);
    }
    std::string out;
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string text(static_cast<std::size_t>(indent), ' ');
        for (std::size_t column = 0; column < cells.size(); ++column) {
            const std::string blanks(widths[column] - columnsOf(cells[column]), ' ');
            text += m_right[column] ? blanks + cells[column] : cells[column] + blanks;
            text += "  ";
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + "\n";
    };
    line(m_headings);
    for (const auto& row : m_rows)
        line(row);
    return out;
}

} // namespace shardboard
