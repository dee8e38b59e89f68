// SPDX-License-Identifier: Apache-2.0
#include "widgets/tiles/tilelegend.h"

#include "widgets/look/devicecolors.h"
#include "widgets/look/theme.h"
#include "widgets/shards/tileedge.h"
#include "widgets/shards/tilescene.h"

#include <QObject>
#include <QPainter>

namespace shardboard {

namespace {

LegendEntry edgeEntry(const QString& key, const QString& text, const QString& toolTip, bool padded)
{
    return { key, text, toolTip, [padded](QPainter& painter, const QRectF& rect, const QWidget*) {
                const PartColor color = partColor(1);
                const QRect tile = rect.toRect().adjusted(0, -1, 0, 1);
                painter.setRenderHint(QPainter::Antialiasing, false);
                painter.fillRect(tile, color.fill);
                paintTileEdge(painter, tile, {}, { { 0, 1 }, 0, true, padded }, color.label);
            } };
}

} // namespace

std::vector<LegendEntry> tileLegend(const TileKinds& kinds)
{
    std::vector<LegendEntry> out;
    if (kinds.cut)
        out.push_back({ QStringLiteral("cut"), QObject::tr("one color per shard"),
                        QObject::tr("Cut: tiles with the same color are the same shard; more than seven go from dark to light "
                                    "along the longest mesh axis"),
                        [](QPainter& painter, const QRectF& rect, const QWidget*) {
                            paintStrips(painter, rect,
                                        [](QPainter& p, const QRect& strip, int i) { p.fillRect(strip, partColor(i).fill); });
                        } });
    if (kinds.uneven)
        out.push_back(edgeEntry(QStringLiteral("uneven"), QObject::tr("uneven"),
                                QObject::tr("Dashed: smaller than the largest tile of its dim"), false));
    if (kinds.padded)
        out.push_back(edgeEntry(QStringLiteral("padded"), QObject::tr("padded"),
                                QObject::tr("Dotted: filled up to the size of the others"), true));
    if (kinds.whole)
        out.push_back({ QStringLiteral("whole"), QObject::tr("whole"), QObject::tr("Replicated: whole on every device"),
                        [](QPainter& painter, const QRectF& rect, const QWidget* widget) {
                            painter.setRenderHint(QPainter::Antialiasing, false);
                            painter.setPen(Theme::of(widget).quiet);
                            painter.setBrush(Theme::of(widget).track);
                            painter.drawRect(rect.toRect().adjusted(0, 0, -1, -1));
                        } });
    return out;
}

} // namespace shardboard
