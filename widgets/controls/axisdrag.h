// SPDX-License-Identifier: Apache-2.0
// Mesh axes on the move: the mime type of a dragged axis, and the chip that stands for one in every view.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QRectF>
#include <QString>

class QMimeData;
class QPainter;
class QWidget;

namespace shardboard {

inline constexpr char kAxisMimeType[] = "application/x-shardboard-axis";

/// The caller owns it; plain text is the axis's name too.
QMimeData* axisMimeData(const QString& axis, QWidget* source = nullptr);
/// The name of the dragged axis, empty when it is something else.
QString axisFromMimeData(const QMimeData* data);
/// Where the axis was taken; null where that is not in this program.
QWidget* axisSource(const QMimeData* data);
/// Starts a drag of an axis in its colour from `source` and returns when it is over.
void dragAxis(QWidget* source, const QString& axis, const QColor& color);

/// A chip: rounded, in the axis's colour.
void paintChip(QPainter& painter, const QRectF& rect, const QString& text, const QColor& color, const QWidget* widget,
               const QFont& font);

} // namespace shardboard
