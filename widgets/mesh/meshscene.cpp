// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshscene.h"

#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshlegend.h"

#include "model/hardware/footprint.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("shardboard::MeshScene", text); }

} // namespace

void MeshScene::prepare(const Design& design, const Evaluation* evaluation, const WeightLayout* weight, const QString& wanted,
                        const MeshRoom& room, const Theme& theme)
{
    mesh = design.mesh;
    colors = DeviceColors(mesh, weight ? &weight->shards : nullptr);
    memory = {};
    if (evaluation) {
        const auto known = hardwareOf(design);
        hardware = known.ok() ? known.value() : Hardware {};
        memory = DeviceMemory(evaluation->plan, hardware.memoryBytes());
    }
    found = MeshPattern(wanted, mesh, hardware);
    grid = gridIn(room);
    color(theme);
    drawImage();
}

bool MeshScene::arrange(const MeshRoom& room)
{
    MeshGrid next = gridIn(room);
    if (next == grid)
        return false;
    grid = std::move(next);
    drawImage();
    return true;
}

/// Each colour is asked for once, not for every device.
void MeshScene::color(const Theme& theme)
{
    struct Ink {
        QRgb loud = 0;
        QRgb quiet = 0;
    };
    std::vector<Ink> inks;
    hatched = false;
    const auto add = [&](const PartColor& part) {
        hatched = hatched || part.hatch != Qt::NoBrush;
        inks.push_back({ part.fill.rgba(), blended(theme.window, part.fill, kQuiet).rgba() });
    };
    const auto count = static_cast<std::size_t>(mesh.deviceCount());
    std::vector<std::uint32_t> inkAt;
    if (coloring == Coloring::Memory) {
        std::vector<std::int64_t> shown(static_cast<std::size_t>(std::max<std::int64_t>(memory.stages(), 1)), -1);
        inkAt.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto stage = static_cast<std::size_t>(memory.stageAt(static_cast<std::int64_t>(i)));
            inkAt[i] = static_cast<std::uint32_t>(stage);
            if (shown[stage] < 0)
                shown[stage] = static_cast<std::int64_t>(i);
        }
        for (const std::int64_t position : shown)
            add(heatColor(position < 0 ? 0 : memory.fillAt(position), theme));
    } else {
        inkAt = colors.indices();
        const PartColors& parts = colors.parts();
        for (std::size_t i = 0; i < parts.inkCount(); ++i)
            add(parts.ink(i));
        std::vector<std::uint32_t> inkOf(static_cast<std::size_t>(parts.count()));
        for (std::size_t i = 0; i < inkOf.size(); ++i)
            inkOf[i] = static_cast<std::uint32_t>(parts.inkOf(static_cast<std::int64_t>(i)));
        for (std::uint32_t& ink : inkAt)
            ink = inkOf[ink];
    }
    const bool allLoud = found.isEmpty() && (highlight.isEmpty() || coloring == Coloring::Memory);
    m_pixels.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Ink& ink = inks[inkAt[i]];
        m_pixels[i] = allLoud || isLoud(static_cast<std::int64_t>(i)) ? ink.loud : ink.quiet;
    }
}

void MeshScene::drawImage()
{
    image = QImage(static_cast<int>(grid.columns()), static_cast<int>(grid.rows()), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    if (!grid.isSum()) {
        for (std::int64_t row = 0; row < grid.rows(); ++row) {
            auto* line = reinterpret_cast<QRgb*>(image.scanLine(static_cast<int>(row)));
            for (std::int64_t column = 0; column < grid.columns(); ++column)
                if (const std::int64_t position = grid.positionOf(column, row); position >= 0)
                    line[column] = m_pixels[static_cast<std::size_t>(position)];
        }
        return;
    }
    std::vector<std::int64_t> across; // what a column adds to the position
    for (std::int64_t column = 0; column < grid.columns(); ++column)
        across.push_back(grid.positionOf(column, 0));
    for (std::int64_t row = 0; row < grid.rows(); ++row) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(static_cast<int>(row)));
        const std::int64_t down = grid.positionOf(0, row);
        for (std::size_t column = 0; column < across.size(); ++column)
            line[column] = m_pixels[static_cast<std::size_t>(down + across[column])];
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
    if (grid.isElsewhere(position))
        out += tr("\nshown where its number belongs, not at its coordinates: device numbers are out of order");
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

QString MeshScene::colorText(std::int64_t position) const
{
    return colors.byShard() ? tr("shard %1").arg(colors.indexAt(position))
                            : QStringLiteral("%1 %2").arg(qstr(colors.axisName())).arg(colors.indexAt(position));
}

QString MeshScene::unitText(int tier, std::int64_t position) const
{
    const auto at = static_cast<std::size_t>(tier);
    const QString number = QString::number(grid.tiers().unitOf(at, position));
    switch (grid.tiers().tiers[at].kind) {
    case MeshTier::Kind::Node:
        return tr("node %1").arg(number);
    case MeshTier::Kind::Slice:
        return tr("slice %1").arg(number);
    case MeshTier::Kind::Network:
        return tr("switch %1").arg(number);
    case MeshTier::Kind::Group:
        break;
    }
    return qstr(grid.tiers().coordinates(at, position, mesh));
}

QString MeshScene::unitToolTip(int tier, std::int64_t position) const
{
    const auto at = static_cast<std::size_t>(tier);
    const MeshTier& it = grid.tiers().tiers[at];
    QString out = unitText(tier, position);
    if (it.kind != MeshTier::Kind::Group)
        out += QStringLiteral(" · ") + qstr(grid.tiers().coordinates(at, position, mesh));
    const QString devices = counted(it.devices, tr("device"), tr("devices"));
    if (tier > 0 && grid.tiers().tiers.front().kind == MeshTier::Kind::Node)
        out += QLatin1Char('\n')
            + tr("%1 in %2").arg(devices, counted(it.devices / grid.tiers().tiers.front().devices, tr("node"), tr("nodes")));
    else
        out += QLatin1Char('\n') + devices;
    return out;
}

QString MeshScene::groupText(const std::vector<int>& axes) const
{
    const std::int64_t size = mesh.groupSize(axes);
    QString out = tr("device group of %1 · %2 devices").arg(axesText(mesh, axes), countText(size));
    if (size > 1 && hardware.memoryBytes() > 0)
        out += QStringLiteral(" · ") + rateText(linkOf(axes, mesh, hardware).bytesPerSecond);
    return out;
}

} // namespace shardboard
