// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshlegend.h"

#include "widgets/look/format.h"

#include <QObject>
#include <QPainter>

namespace shardboard {

namespace {

constexpr std::int64_t kNamed = 4; ///< up to these have their whole name
constexpr std::int64_t kMost = 8; ///< more are one entry

void paintColor(QPainter& painter, const QRect& rect, std::int64_t index)
{
    const PartColor color = partColor(index);
    painter.fillRect(rect, color.fill);
    if (color.hatch != Qt::NoBrush)
        painter.fillRect(rect, QBrush(color.hatchColor, color.hatch));
}

LegendEntry allEntry(const DeviceColors& colors)
{
    const QString count = QString::number(colors.count());
    const QString text = colors.byShard() ? QObject::tr("%1 shards, one color each").arg(count)
                                          : QObject::tr("one color per position on %1").arg(qstr(colors.axisName()));
    return { QStringLiteral("all"), text,
             QObject::tr("Devices with the same color and hatching hold the same shard; after seven the colors repeat, hatched, "
                         "and after %1 the hatching repeats, too")
                 .arg(colorCount()),
             [](QPainter& painter, const QRectF& rect, const QWidget*) { paintStrips(painter, rect, paintColor); } };
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
        entry.paint = [i](QPainter& painter, const QRectF& rect, const QWidget*) {
            painter.setRenderHint(QPainter::Antialiasing, false);
            paintColor(painter, rect.toRect(), i);
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
