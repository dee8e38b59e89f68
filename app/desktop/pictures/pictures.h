// SPDX-License-Identifier: Apache-2.0
// A view as a picture in a file.
#pragma once

#include "model/core/result.h"

#include <QString>

class QWidget;

namespace shardboard {

struct PictureOptions {
    int scale = 2; ///< pixels of a png for each of the screen: 1, 2 or 4
    bool whole = false; ///< lists to their end and canvases unzoomed; false: what is in sight
};

/// By the suffix: png, svg or pdf, in which lines and text stay such. Written as a whole or not at all. Errors name the path.
Status writePicture(QWidget* view, const QString& path, const PictureOptions& options = {});

/// `design-mesh`: how a picture is called if nobody says otherwise. Characters that are none of a file's name become `-`.
QString pictureName(const QString& design, const QString& view);
bool isPictureSuffix(const QString& suffix);

} // namespace shardboard
