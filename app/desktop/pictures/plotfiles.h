// SPDX-License-Identifier: Apache-2.0
// A plot as a file: a picture (png, svg, pdf), or its points as a table (csv).
#pragma once

#include "model/core/result.h"

#include <QString>

class QWidget;

namespace shardboard {

class Banner;
class Document;
class PlotView;
class Settings;

/// By the suffix. Errors name the path.
Status writePlot(PlotView* view, const QString& path);
/// Asks for the file, and says what came of it.
void savePlot(const Document* document, PlotView* view, Settings& settings, Banner* banner, QWidget* window);

} // namespace shardboard
