// SPDX-License-Identifier: Apache-2.0
// What stands above a column of a table, as its model answers for it.
#pragma once

#include <QVariant>

#include <span>

namespace shardboard {

struct ColumnHeading {
    const char* title = "";
    const char* toolTip = "";
    bool isNumber = false; ///< at the right
};

/// `translate` is tr() of the model.
template <class Translate>
QVariant headingData(std::span<const ColumnHeading> columns, int section, Qt::Orientation orientation, int role,
                     Translate translate)
{
    if (orientation != Qt::Horizontal || section < 0 || section >= static_cast<int>(columns.size()))
        return {};
    const ColumnHeading& column = columns[static_cast<std::size_t>(section)];
    const auto text = [&](const char* of) { return *of == '\0' ? QString() : translate(of); };
    switch (role) {
    case Qt::DisplayRole:
        return text(column.title);
    case Qt::ToolTipRole:
        return text(column.toolTip);
    case Qt::TextAlignmentRole:
        return static_cast<int>((column.isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default:
        return {};
    }
}

} // namespace shardboard
