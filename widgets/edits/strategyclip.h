// SPDX-License-Identifier: Apache-2.0
// A weight's strategy on the clipboard, between weights and between windows: a form of our own beside text to read.
#pragma once

#include "model/core/strategy.h"

#include <QByteArray>
#include <QString>

#include <optional>

class QMimeData;

namespace shardboard {

inline constexpr char kStrategyMimeType[] = "application/x-shardboard-strategy";

/// Our own form alone.
QByteArray strategyData(const Strategy& strategy);
/// Our own form beside `text`, which is for other programs.
QMimeData* strategyMimeData(const Strategy& strategy, const QString& text);
/// Ours, or a text that is a spec in JAX notation. None where it is neither; whether it fits a weight is for an edit to say.
std::optional<Strategy> strategyFromMimeData(const QMimeData* data);

} // namespace shardboard
