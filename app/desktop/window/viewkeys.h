// SPDX-License-Identifier: Apache-2.0
// The keys that views have for themselves, beside the commands' keys, which are the same everywhere: what the shortcut sheet tells
// of them. They cannot be changed.
#pragma once

#include <QKeySequence>
#include <QList>
#include <QString>

#include <vector>

namespace shardboard {

struct ViewKey {
    QList<QKeySequence> keys;
    QString where; ///< kind of view: `Flow`
    QString does; ///< `plays the plan, or pauses`
};

std::vector<ViewKey> viewKeys();

} // namespace shardboard
