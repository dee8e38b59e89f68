// SPDX-License-Identifier: Apache-2.0
// A view as a picture in a file.
#pragma once

#include "model/core/result.h"

#include <QString>

class QWidget;

namespace shardboard {

/// As it is shown, by the suffix: png (twice the pixels), svg or pdf (lines and text stay such, but for charts). Written as a
/// whole or not at all. Errors name the path.
Status writePicture(QWidget* view, const QString& path);

/// For file dialogs.
QString pictureFilter();
/// `name` with a suffix of the chosen filter where it has none.
QString withPictureSuffix(const QString& name, const QString& filter);

} // namespace shardboard
