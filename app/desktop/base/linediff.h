// SPDX-License-Identifier: Apache-2.0
// Two texts compared line by line, as a list of lines to show.
#pragma once

#include <QString>
#include <QStringList>

#include <vector>

namespace shardboard {

struct DiffLine {
    enum class Kind { Same, Added, Removed, Gap };
    Kind kind = Kind::Same;
    QString text; ///< of a gap: how many equal lines were left out
};

struct LineDiff {
    std::vector<DiffLine> lines; ///< changes with the lines around them; empty where nothing differs
    int added = 0;
    int removed = 0;
    bool same() const { return added == 0 && removed == 0; }
};

/// `around` equal lines are kept beside each change. Where very many lines differ, all old ones come before all new ones.
LineDiff lineDiff(const QString& before, const QString& after, int around = 2);

} // namespace shardboard
