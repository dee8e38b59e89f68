// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshscene.h"

#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshlegend.h"

#include "model/hardware/footprint.h"

#include <QCoreApplication>
#include <QStringList>

namespace shardboard {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("shardboard::MeshScene", text); }

} // namespace

void MeshScene::prepare(const Design& design, const Evaluation* evaluation, const WeightLayout* weight, const QString& wanted,
                        const Theme& theme)
{
    mesh = design.mesh;
    grid = MeshGrid(mesh);
    colors = DeviceColors(mesh, weight ? &weight->shards : nullptr);
    memory = {};
    if (evaluation) {
        const auto known = hardwareOf(design);
        hardware = known.ok() ? known.value() : Hardware {};
        memory = DeviceMemory(evaluation->plan, hardware.memoryBytes());
    }
    found = MeshPattern(wanted, mesh, hardware);
    image = QImage(static_cast<int>(grid.columns()), static_cast<int>(grid.rows()), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    for (std::int64_t row = 0; row < grid.rows(); ++row) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(static_cast<int>(row)));
        for (std::int64_t column = 0; column < grid.columns(); ++column)
            if (const std::int64_t position = grid.positionOf(column, row); position >= 0) {
                const QColor fill = colorAt(position, theme).fill;
                line[column] = isLoud(position) ? fill.rgba() : blended(theme.window, fill, kQuiet).rgba();
            }
    }
}

PartColor MeshScene::colorAt(std::int64_t position, const Theme& theme) const
{
    return coloring == Coloring::Memory ? heatColor(memory.fillAt(position), theme) : colors.colorAt(position);
}

bool MeshScene::isLoud(std::int64_t position) const
{
    return found.matches(mesh, position)
        && (highlight.isEmpty() || coloring == Coloring::Memory || isOfMeshLegend(colors.indexAt(position), highlight));
}

QString MeshScene::deviceText(std::int64_t position, const WeightLayout* weight) const
{
    QStringList coordinates;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        coordinates << QStringLiteral("%1 %2").arg(qstr(mesh.axis(axis).name)).arg(mesh.coordinate(position, axis));
    QString out = tr("device %1").arg(mesh.deviceId(position));
    if (!coordinates.isEmpty())
        out += QStringLiteral(" · ") + coordinates.join(QStringLiteral(", "));
    if (weight) {
        const Shard shard = weight->shards.shardAt(position);
        out +=
            QStringLiteral("\n%1 %2 · %3")
                .arg(shortName(weight->spec.name), shardText(shard), exactBytesText(bytesOf(shard.elements(), weight->spec.dtype)));
    }
    const QString peak = exactBytesText(memory.peakAt(position));
    out += QLatin1Char('\n')
        + (memory.stages() > 1 ? tr("peak of stage %1: %2").arg(memory.stageAt(position)).arg(peak)
                               : tr("peak of memory: %1").arg(peak));
    return out;
}

QString MeshScene::groupText(const std::vector<int>& axes) const
{
    const std::int64_t size = mesh.groupSize(axes);
    QString out = tr("device group of %1 · %2 devices").arg(axesText(mesh, axes)).arg(size);
    if (size > 1 && hardware.memoryBytes() > 0)
        out += QStringLiteral(" · ") + rateText(linkOf(axes, mesh, hardware).bytesPerSecond);
    return out;
}

} // namespace shardboard
