// SPDX-License-Identifier: Apache-2.0
// Numbers and names as people read them; numbers as model/text/figures.h makes them.
#pragma once

#include "model/core/cutcomparison.h"
#include "model/core/shards.h"
#include "model/core/tensor.h"

#include <QString>

#include <cstdint>
#include <string>
#include <vector>

namespace shardboard {

/// Text of the model for a view: shownText(), on one line, without control characters, not endless.
QString qstr(const std::string& text);
/// The same as it is, for what is edited, copied or compared and never only shown.
inline QString verbatim(const std::string& text) { return QString::fromStdString(text); }

/// Three significant digits without a needless fraction: 26,516, 131, 43.1, 0.36, 8.
QString digitsText(double value);
/// Behind a rounded one, for tool tips: 26,515.8255.
QString exactText(double value);
/// `8 MiB`, `43.1 GiB`; exact below 1 KiB.
QString bytesText(std::int64_t bytes);
QString percentText(double share); ///< of 1
/// `131 ms`, `5.5 µs`, `1.2 s`: one to three digits before the point; `0 s`.
QString secondsText(double seconds);
/// `370 GB/s`.
QString rateText(double bytesPerSecond);
/// `8,030,261,248`.
QString countText(std::int64_t count);
/// `1 device`, `8 devices`.
QString counted(std::int64_t count, const QString& singular, const QString& plural);
/// `4096 × 14336`; `scalar` for rank 0.
QString shapeLabel(const Shape& shape);
/// `[0:4096, 2048:3072]`; pieces of a joined shard are separated by ` + `.
QString shardText(const Shard& shard);
/// A tensor's name without what its neighbours share: `self_attn.o_proj` for `model.layers.*.self_attn.o_proj.weight`.
QString shortName(const std::string& tensor);
/// Of mesh axes: `model`, `data, model`.
QString axesText(const Mesh& mesh, const std::vector<int>& axes);
/// `−2.3 % step time`, `same step time`; empty where there is no time to compare with.
QString stepDeltaText(double now, double then);
/// `+768 MiB`, `same memory`.
QString bytesDeltaText(std::int64_t now, std::int64_t then);
/// `1024 × 4`, `3 × 2, 2 × 2`: sizes of parts in order, equal neighbours counted; cut short after `most` runs.
QString sizesText(const std::vector<SizeRun>& runs, std::size_t most = 8);
/// Exact value behind a rounded one, for tool tips: `8,388,608 bytes`.
QString exactBytesText(std::int64_t bytes);

} // namespace shardboard
