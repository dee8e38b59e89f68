// SPDX-License-Identifier: Apache-2.0
// A name of parts, `model.layers.0.mlp.up_proj`, in the room there is: the last part stays, what is before it is cut short.
#pragma once

#include <QFontMetrics>
#include <QString>

namespace shardboard {

QString elidedPath(const QString& name, const QFontMetrics& metrics, int room);

} // namespace shardboard
