// SPDX-License-Identifier: Apache-2.0
// What a picture of a sharded tensor shows, ready to draw: which dim lies along which side, the tiles with their owners
// and colours. Pure and without sizes in pixels; made once per evaluation or selection, never while painting.
#pragma once

#include "widgets/look/partcolors.h"
#include "widgets/shards/tileedge.h"

#include "model/design/evaluation.h"

#include <QImage>
#include <QString>

#include <array>
#include <cstdint>
#include <vector>

namespace shardboard {

/// More tiles than this are drawn as one image instead.
inline constexpr std::int64_t kMaxTiles = 4096;

/// One band of a dim: a range of indices that belongs to a part.
struct Band {
    Range range;
    std::int64_t part = 0;
    bool uneven = false; ///< smaller than the largest part
    bool padded = false; ///< uneven, and filled up to the size of the largest part
};

struct Tile {
    int row = 0; ///< index into TileScene::rows
    int column = 0;
    std::int64_t color = 0; ///< colour index of its owners
    std::int64_t firstOwner = 0; ///< mesh position
    std::int64_t owners = 0; ///< devices that hold it; of a pipeline those of the stages that have it
    std::array<std::int64_t, 4> firstIds {}; ///< of the first of them; behind `owners`: nothing
    /// `0, 4` or `0, 4, 8, … (16)`; made when it is asked for: of many tiles few show it.
    QString devices() const;
};

struct TileScene {
    int rowDim = -1; ///< tensor dim drawn downwards, -1: none (rank 0 or 1)
    int columnDim = -1; ///< tensor dim drawn to the right
    std::int64_t rowSize = 1;
    std::int64_t columnSize = 1;
    std::vector<Band> rows;
    std::vector<Band> columns;
    std::vector<Tile> tiles; ///< row-major over bands; empty when `image` is used
    QImage image; ///< one pixel a tile (or less), for many tiles
    std::int64_t tileCount = 0;
    std::int64_t deviceCount = 1;
    std::vector<std::int64_t> stages {}; ///< of a pipeline: those whose devices have it, as stagesOf(); empty: all devices
    std::int64_t holders = 1; ///< devices of those stages
    bool replicated = false; ///< whole on every one of them
    QString otherDims; ///< `dim 2 · head dim 128, cut over model`, for ranks above 2

    /// Band indices of what a device holds, as (row, column); several where a shard is joined of pieces.
    std::vector<std::pair<int, int>> tilesOf(std::int64_t position) const;
    /// Tile under relative coordinates in [0, 1), as mesh position of the first owner; -1 outside.
    std::int64_t ownerAt(double x, double y) const;
    int rowAt(double y) const;
    int columnAt(double x) const;

    ShardMap shards;
    PartColors colors; ///< of the colour indices
};

/// Of a pipeline's weight its owners are those of one copy, as replicationOf() counts them; without an evaluation all devices.
TileScene makeTileScene(const WeightLayout& weight, const Evaluation* evaluation = nullptr);
/// The same without owners, tiles and image, which need a look at every device: bands, sizes and dims alone.
TileScene makeTileFrame(const WeightLayout& weight);
/// Of a weight that nothing cuts: who has it.
QString wholeText(const TileScene& scene);
/// Colour index of the tile where two bands meet, as Tile::color has it, by the parts alone.
std::int64_t colorOfParts(const TileScene& scene, const Band& row, const Band& column);

/// `dim 1 · in (heads x head_dim) 4096`, numbers as they are.
QString dimText(const TensorSpec& spec, int dim);

} // namespace shardboard
