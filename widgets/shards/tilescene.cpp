// SPDX-License-Identifier: Apache-2.0
#include "widgets/shards/tilescene.h"

#include "model/design/deviceweights.h"
#include "widgets/edits/weightedits.h"
#include "widgets/look/format.h"

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kImageSide = 1024;

/// Which rules fill short tiles up: those of XLA and torch have tiles of one size.
bool pads(CutRule rule) { return rule == CutRule::CeilFlat || rule == CutRule::CeilNested; }

std::vector<Band> bandsOf(const ShardMap& shards, int dim, CutRule rule)
{
    if (dim < 0)
        return { Band { { 0, 1 }, 0, false, false } };
    std::vector<Band> out;
    const DimCut& cut = shards.cuts()[static_cast<std::size_t>(dim)];
    const std::int64_t largest = cut.largest();
    for (std::int64_t part = 0; part < cut.count(); ++part) {
        const bool smaller = cut.partSize(part) < largest;
        for (const Range& range : cut.part(part))
            if (range.size() > 0)
                out.push_back({ range, part, smaller, smaller && pads(rule) });
    }
    std::sort(out.begin(), out.end(), [](const Band& a, const Band& b) { return a.range.lo < b.range.lo; });
    if (out.empty())
        out.push_back({});
    return out;
}

/// The dims to draw: the cut ones first, then the first ones; in order, the last of them to the right.
std::pair<int, int> drawnDims(const ShardMap& shards)
{
    const int rank = static_cast<int>(shards.shape().size());
    if (rank == 0)
        return { -1, -1 };
    if (rank == 1)
        return { -1, 0 };
    std::vector<int> dims;
    for (int dim = 0; dim < rank && dims.size() < 2; ++dim)
        if (shards.cuts()[static_cast<std::size_t>(dim)].count() > 1)
            dims.push_back(dim);
    for (int dim = 0; dim < rank && dims.size() < 2; ++dim)
        if (std::find(dims.begin(), dims.end(), dim) == dims.end())
            dims.push_back(dim);
    std::sort(dims.begin(), dims.end());
    return { dims[0], dims[1] };
}

std::int64_t partAt(const ShardMap& shards, int dim, std::int64_t position)
{
    return dim < 0 ? 0 : partIndexOf(shards.cuts()[static_cast<std::size_t>(dim)].axes(), shards.mesh(), position);
}

std::int64_t partCount(const ShardMap& shards, int dim)
{
    return dim < 0 ? 1 : shards.cuts()[static_cast<std::size_t>(dim)].count();
}

/// Which no stage has: it is told as a finding.
bool isCutOverStages(const WeightLayout& weight, const PlannedPipeline& pipeline)
{
    return std::ranges::any_of(weight.layout.dims, [&](const auto& refs) {
        return std::ranges::any_of(refs, [&](const AxisRef& ref) { return ref.axis == pipeline.axis; });
    });
}

/// Of every device, which pair of parts it has: `row * columns + column`. Each mesh axis adds what it adds on its own, for parts
/// count in the coordinates of their axes.
std::vector<std::int64_t> pairsOf(const ShardMap& shards, int rowDim, int columnDim)
{
    const std::int64_t columns = partCount(shards, columnDim);
    const Mesh& mesh = shards.mesh();
    std::vector<std::int64_t> out { 0 };
    for (int axis = 0; axis < mesh.axisCount(); ++axis) { // the last one is the innermost
        const std::int64_t size = mesh.axis(axis).size;
        const std::int64_t stride = mesh.stride(axis);
        std::vector<std::int64_t> longer;
        longer.reserve(out.size() * static_cast<std::size_t>(size));
        std::vector<std::int64_t> own;
        for (std::int64_t coordinate = 0; coordinate < size; ++coordinate)
            own.push_back(partAt(shards, rowDim, coordinate * stride) * columns + partAt(shards, columnDim, coordinate * stride));
        for (const std::int64_t pair : out)
            for (const std::int64_t added : own)
                longer.push_back(pair + added);
        out = std::move(longer);
    }
    return out;
}

/// Of each pair of parts.
struct Owners {
    std::int64_t first = -1;
    std::int64_t count = 0;
    decltype(Tile::firstIds) ids {};
};

std::vector<Owners> ownersOf(const ShardMap& shards, int rowDim, int columnDim, const std::vector<bool>& holds)
{
    const std::int64_t columns = partCount(shards, columnDim);
    std::vector<Owners> out(static_cast<std::size_t>(partCount(shards, rowDim) * columns));
    const std::vector<std::int64_t> pairs = pairsOf(shards, rowDim, columnDim);
    for (std::int64_t position = 0; position < shards.mesh().deviceCount(); ++position) {
        if (!holds.empty() && !holds[static_cast<std::size_t>(position)])
            continue;
        auto& owners = out[static_cast<std::size_t>(pairs[static_cast<std::size_t>(position)])];
        if (owners.first < 0)
            owners.first = position;
        if (owners.count < static_cast<std::int64_t>(owners.ids.size()))
            owners.ids[static_cast<std::size_t>(owners.count)] = shards.mesh().deviceId(position);
        ++owners.count;
    }
    return out;
}

QImage aggregated(const TileScene& scene, const std::vector<Owners>& owners)
{
    const int width = static_cast<int>(std::min<std::size_t>(scene.columns.size(), kImageSide));
    const int height = static_cast<int>(std::min<std::size_t>(scene.rows.size(), kImageSide));
    QImage image(width, height, QImage::Format_RGB32);
    const std::int64_t columns = partCount(scene.shards, scene.columnDim);
    for (int y = 0; y < height; ++y) {
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        const auto& row = scene.rows[scene.rows.size() * static_cast<std::size_t>(y) / static_cast<std::size_t>(height)];
        for (int x = 0; x < width; ++x) {
            const auto& column =
                scene.columns[scene.columns.size() * static_cast<std::size_t>(x) / static_cast<std::size_t>(width)];
            const auto& tile = owners[static_cast<std::size_t>(row.part * columns + column.part)];
            line[x] = scene.colors.at(scene.shards.distinctIndex(std::max<std::int64_t>(tile.first, 0))).fill.rgb();
        }
    }
    return image;
}

void fillTiles(TileScene& scene, const std::vector<Owners>& owners)
{
    const std::int64_t columns = partCount(scene.shards, scene.columnDim);
    for (std::size_t r = 0; r < scene.rows.size(); ++r) {
        for (std::size_t c = 0; c < scene.columns.size(); ++c) {
            const auto& from = owners[static_cast<std::size_t>(scene.rows[r].part * columns + scene.columns[c].part)];
            Tile tile;
            tile.row = static_cast<int>(r);
            tile.column = static_cast<int>(c);
            tile.firstOwner = from.first;
            tile.owners = from.count;
            tile.color = scene.shards.distinctIndex(std::max<std::int64_t>(from.first, 0));
            tile.firstIds = from.ids;
            scene.tiles.push_back(tile);
        }
    }
}

QString otherDimsText(const WeightLayout& weight, const TileScene& scene)
{
    QStringList out;
    for (int dim = 0; dim < static_cast<int>(weight.spec.shape.size()); ++dim) {
        if (dim == scene.rowDim || dim == scene.columnDim)
            continue;
        QString text = dimText(weight.spec, dim);
        QStringList axes;
        for (const int axis : axesOnDim(weight.layout, dim))
            axes << qstr(weight.shards.mesh().axis(axis).name);
        if (!axes.isEmpty())
            text += QObject::tr(", cut over %1").arg(axes.join(QStringLiteral(", ")));
        out << text;
    }
    return out.join(QStringLiteral(" · "));
}

int bandAt(const std::vector<Band>& bands, double at)
{
    for (std::size_t i = 0; i < bands.size(); ++i)
        if (at >= static_cast<double>(bands[i].range.lo) && at < static_cast<double>(bands[i].range.hi))
            return static_cast<int>(i);
    return -1;
}

} // namespace

QString wholeText(const TileScene& scene)
{
    if (scene.deviceCount == 1)
        return QObject::tr("whole on the one device");
    if (scene.holders == scene.deviceCount)
        return QObject::tr("on all %1 devices").arg(countText(scene.deviceCount));
    if (scene.holders == 1)
        return QObject::tr("whole on the one device of its stage");
    return (scene.stages.size() == 1 ? QObject::tr("on all %1 devices of its stage")
                                     : QObject::tr("on all %1 devices of its stages"))
        .arg(countText(scene.holders));
}

QString Tile::devices() const
{
    QStringList texts;
    const bool all = owners <= static_cast<std::int64_t>(firstIds.size());
    for (std::size_t i = 0; i < (all ? static_cast<std::size_t>(owners) : firstIds.size() - 1); ++i)
        texts << QString::number(firstIds[i]);
    const QString out = texts.join(QStringLiteral(", "));
    return all ? out : out + QObject::tr(", … (%1)").arg(owners);
}

QString dimText(const TensorSpec& spec, int dim)
{
    const auto index = static_cast<std::size_t>(dim);
    QString out = QObject::tr("dim %1").arg(dim);
    if (index < spec.dimLabels.size() && !spec.dimLabels[index].empty())
        out += QStringLiteral(" · ") + qstr(spec.dimLabels[index]).replace(QLatin1String(" x "), QStringLiteral(" × "));
    return out + QLatin1Char(' ') + QString::number(spec.shape[index]);
}

std::vector<std::pair<int, int>> TileScene::tilesOf(std::int64_t position) const
{
    std::vector<std::pair<int, int>> out;
    const std::int64_t row = partAt(shards, rowDim, position);
    const std::int64_t column = partAt(shards, columnDim, position);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r].part != row)
            continue;
        for (std::size_t c = 0; c < columns.size(); ++c)
            if (columns[c].part == column)
                out.emplace_back(static_cast<int>(r), static_cast<int>(c));
    }
    return out;
}

int TileScene::rowAt(double y) const { return bandAt(rows, y * static_cast<double>(rowSize)); }
int TileScene::columnAt(double x) const { return bandAt(columns, x * static_cast<double>(columnSize)); }

std::int64_t TileScene::ownerAt(double x, double y) const
{
    const int row = rowAt(y);
    const int column = columnAt(x);
    if (row < 0 || column < 0 || tiles.empty())
        return -1;
    return tiles[static_cast<std::size_t>(row) * columns.size() + static_cast<std::size_t>(column)].firstOwner;
}

std::int64_t colorOfParts(const TileScene& scene, const Band& row, const Band& column)
{
    std::int64_t index = 0; // row-major, the dims that are not drawn at their first part
    for (std::size_t dim = 0; dim < scene.shards.cuts().size(); ++dim) {
        index *= scene.shards.cuts()[dim].count();
        if (static_cast<int>(dim) == scene.rowDim)
            index += row.part;
        if (static_cast<int>(dim) == scene.columnDim)
            index += column.part;
    }
    return index;
}

TileScene makeTileScene(const WeightLayout& weight, const Evaluation* evaluation)
{
    TileScene out = makeTileFrame(weight);
    std::vector<bool> holds; // by position; empty: every one
    if (evaluation != nullptr && evaluation->plan.pipeline && !isCutOverStages(weight, *evaluation->plan.pipeline)) {
        const PlannedPipeline& pipeline = *evaluation->plan.pipeline;
        out.stages = stagesOf(*evaluation, weight);
        for (std::int64_t position = 0; !out.stages.empty() && position < out.deviceCount; ++position)
            holds.push_back(std::ranges::find(out.stages, weight.shards.mesh().coordinate(position, pipeline.axis))
                            != out.stages.end());
        if (!holds.empty())
            out.holders = std::ranges::count(holds, true);
    }
    const auto owners = ownersOf(weight.shards, out.rowDim, out.columnDim, holds);
    if (out.tileCount > kMaxTiles)
        out.image = aggregated(out, owners);
    else
        fillTiles(out, owners);
    out.otherDims = otherDimsText(weight, out);
    return out;
}

TileScene makeTileFrame(const WeightLayout& weight)
{
    TileScene out;
    out.shards = weight.shards;
    out.colors = PartColors(weight.shards);
    std::tie(out.rowDim, out.columnDim) = drawnDims(weight.shards);
    const auto sizeOfDim = [&weight](int dim) { return dim < 0 ? 1 : weight.shards.shape()[static_cast<std::size_t>(dim)]; };
    out.rowSize = std::max<std::int64_t>(sizeOfDim(out.rowDim), 1);
    out.columnSize = std::max<std::int64_t>(sizeOfDim(out.columnDim), 1);
    out.rows = bandsOf(weight.shards, out.rowDim, weight.cut);
    out.columns = bandsOf(weight.shards, out.columnDim, weight.cut);
    out.deviceCount = weight.shards.mesh().deviceCount();
    out.holders = out.deviceCount;
    out.replicated = weight.shards.distinctCount() <= 1;
    out.tileCount = static_cast<std::int64_t>(out.rows.size() * out.columns.size());
    return out;
}

} // namespace shardboard
