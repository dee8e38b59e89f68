// SPDX-License-Identifier: Apache-2.0
#include "widgets/flow/flowlegend.h"

#include "widgets/look/format.h"
#include "widgets/look/theme.h"

#include <QPainter>

#include <algorithm>
#include <set>
#include <utility>

namespace shardboard {

namespace {

bool moves(const FlowItem& item) { return item.kind == FlowItem::CollectivePill && item.bytes > 0; }

LegendEntry lineEntry(const QString& key, const QString& text, const QString& toolTip, const FlowInk& ink, const Mesh& mesh)
{
    return { key, text, toolTip, [ink, hues = AxisHues(mesh)](QPainter& painter, const QRectF& rect, const QWidget* widget) {
                painter.setRenderHint(QPainter::Antialiasing, false);
                paintFlowLine(painter, QPointF(rect.left(), rect.center().y()), QPointF(rect.right(), rect.center().y()), ink, 5,
                              hues, widget);
            } };
}

} // namespace

void paintFlowLine(QPainter& painter, const QPointF& from, const QPointF& to, const FlowInk& ink, double width,
                   const AxisHues& hues, const QWidget* widget)
{
    const Theme& theme = Theme::of(widget);
    std::vector<std::pair<QColor, bool>> stripes;
    for (const int axis : ink.cut)
        stripes.emplace_back(hues.colorOf(axis), false);
    for (const int axis : ink.partial)
        stripes.emplace_back(hues.colorOf(axis), true);
    if (stripes.empty())
        stripes.emplace_back(blended(theme.window, theme.quiet, 0.7), false);
    const auto count = static_cast<double>(stripes.size());
    const double each = std::max(width, 2 * count) / count;
    double y = -each * (count - 1) / 2;
    for (const auto& [color, dashed] : stripes) {
        QPen pen(color, each);
        pen.setCapStyle(Qt::FlatCap);
        if (dashed)
            pen.setDashPattern({ std::max(0.6, 3 / each), std::max(0.5, 2 / each) });
        painter.setPen(pen);
        painter.drawLine(from + QPointF(0, y), to + QPointF(0, y));
        y += each;
    }
}

std::vector<LegendEntry> flowLegend(const FlowScene& scene, const Mesh& mesh, bool brief)
{
    std::set<int> cut(scene.residualInk.cut.begin(), scene.residualInk.cut.end());
    std::set<int> partial(scene.residualInk.partial.begin(), scene.residualInk.partial.end());
    bool whole = false;
    bool collective = false;
    for (const FlowItem& item : scene.items) {
        cut.insert(item.ink.cut.begin(), item.ink.cut.end());
        partial.insert(item.ink.partial.begin(), item.ink.partial.end());
        whole = whole || (item.ink.cut.empty() && item.ink.partial.empty());
        collective = collective || moves(item);
    }
    std::vector<LegendEntry> out;
    if (whole)
        out.push_back(lineEntry(QStringLiteral("whole"), QObject::tr("whole"),
                                QObject::tr("Lines of values that every device has whole"), {}, mesh));
    for (const int axis : cut) {
        const QString name = qstr(mesh.axis(axis).name);
        out.push_back(lineEntry(QStringLiteral("cut/") + name, QObject::tr("cut over %1").arg(name),
                                QObject::tr("Lines and lower edges of boxes in the color of %1").arg(name), { { axis }, {} },
                                mesh));
        if (brief)
            out.back().name = std::exchange(out.back().text, name);
    }
    if (!partial.empty()) {
        out.push_back(lineEntry(QStringLiteral("partial"),
                                partial.size() == 1 ? QObject::tr("partial over %1").arg(qstr(mesh.axis(*partial.begin()).name))
                                                    : QObject::tr("partial sums"),
                                QObject::tr("Partial sums: dashed lines, hatched lower edges of boxes"),
                                { {}, { partial.begin(), partial.end() } }, mesh));
        if (brief)
            out.back().name = std::exchange(out.back().text, QObject::tr("partial"));
    }
    if (collective)
        out.push_back({ QStringLiteral("collective"), QObject::tr("collective"),
                        QObject::tr("Moves data between devices; one that moves none is gray"),
                        [](QPainter& painter, const QRectF& rect, const QWidget* widget) {
                            const Theme& theme = Theme::of(widget);
                            painter.setPen(QPen(theme.attention, 1.2));
                            painter.setBrush(theme.attentionFill);
                            painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), rect.height() / 2, rect.height() / 2);
                        } });
    return out;
}

bool isOfLegend(const FlowItem& item, const Mesh& mesh, const QString& key)
{
    if (key.isEmpty())
        return true;
    if (key == QLatin1String("collective"))
        return moves(item);
    if (key == QLatin1String("whole"))
        return item.ink.cut.empty() && item.ink.partial.empty();
    if (key == QLatin1String("partial"))
        return !item.ink.partial.empty();
    const int axis = mesh.find(key.section(QLatin1Char('/'), 1).toStdString());
    return std::find(item.ink.cut.begin(), item.ink.cut.end(), axis) != item.ink.cut.end();
}

} // namespace shardboard
