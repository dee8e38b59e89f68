// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/elidedpath.h"

#include <algorithm>

namespace shardboard {

QString elidedPath(const QString& name, const QFontMetrics& metrics, int room)
{
    const qsizetype dot = name.lastIndexOf(QLatin1Char('.'));
    if (dot <= 0 || metrics.horizontalAdvance(name) <= room)
        return metrics.elidedText(name, Qt::ElideMiddle, room);
    const QString last = name.mid(dot);
    const QString before = metrics.elidedText(name.left(dot), Qt::ElideRight, std::max(0, room - metrics.horizontalAdvance(last)));
    const QString out = (before.isEmpty() ? QString(QChar(0x2026)) : before) + last;
    return metrics.horizontalAdvance(out) <= room ? out : metrics.elidedText(last.mid(1), Qt::ElideMiddle, room);
}

} // namespace shardboard
