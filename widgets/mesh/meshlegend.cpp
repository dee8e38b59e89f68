// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshlegend.h"

#include "widgets/look/format.h"

#include <QObject>
#include <QPainter>

#include <algorithm>

namespace shardboard {

namespace {

constexpr std::int64_t kNamed = 4; ///< up to these have their whole name
constexpr std::int64_t kMost = 8; ///< more are one entry

void paintColor(QPainter& painter, const QRect& rect, const PartColors& parts, std::int64_t index)
{
    const PartColor color = parts.at(index);
    painter.fillRect(rect, color.fill);
    if (color.hatch != Qt::NoBrush)
        painter.fillRect(rect, QBrush(color.hatchColor, color.hatch));
}

LegendEntry allEntry(const DeviceColors& colors)
{
    const QString count = countText(colors.count());
    const QString text = colors.byShard() ? QObject::tr("%1 shards, dark to light").arg(count)
                                          : QObject::tr("positions on %1, dark to light").arg(qstr(colors.axisName()));
    return { QStringLiteral("all"), text,
             colors.parts().shiftAxis() < 0
                 ? QObject::tr("From dark to light along mesh axis %1").arg(qstr(colors.nameOf(colors.parts().rampAxis())))
                 : QObject::tr("From dark to light along mesh axis %1; the hue changes along %2")
                       .arg(qstr(colors.nameOf(colors.parts().rampAxis())), qstr(colors.nameOf(colors.parts().shiftAxis()))),
             [parts = colors.parts()](QPainter& painter, const QRectF& rect, const QWidget*) {
                 constexpr std::int64_t kLast = 2; // of the three strips
                 paintStrips(painter, rect, [&](QPainter& p, const QRect& strip, int i) {
                     paintColor(p, strip, parts, std::min<std::int64_t>(i, kLast) * (parts.count() - 1) / kLast);
                 });
             } };
}

} // namespace

std::vector<LegendEntry> meshLegend(const DeviceColors& colors, bool brief)
{
    std::vector<LegendEntry> out;
    if (colors.count() < 2)
        return out;
    if (colors.count() > kMost) {
        out.push_back(allEntry(colors));
        return out;
    }
    const std::vector<Shard> shards = colors.shardsHeld();
    for (std::int64_t i = 0; i < colors.count(); ++i) {
        const QString number = QString::number(i);
        const QString name =
            (colors.byShard() ? QObject::tr("shard %1") : qstr(colors.axisName()) + QStringLiteral(" %1")).arg(number);
        LegendEntry entry;
        entry.key = QStringLiteral("color/") + number;
        entry.text = brief || colors.count() > kNamed ? number : name;
        entry.name = name;
        entry.toolTip = colors.byShard()
            ? shardText(shards[static_cast<std::size_t>(i)])
            : QObject::tr("Nothing that is cut is selected: the colors are the positions along mesh axis %1")
                  .arg(qstr(colors.axisName()));
        entry.paint = [i, parts = colors.parts()](QPainter& painter, const QRectF& rect, const QWidget*) {
            painter.setRenderHint(QPainter::Antialiasing, false);
            paintColor(painter, rect.toRect(), parts, i);
        };
        out.push_back(std::move(entry));
    }
    return out;
}

bool isOfMeshLegend(std::int64_t color, const QString& key)
{
    return !key.startsWith(QStringLiteral("color/")) || key.section(QLatin1Char('/'), 1).toLongLong() == color;
}

} // namespace shardboard
