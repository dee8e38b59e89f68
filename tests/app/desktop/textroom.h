// SPDX-License-Identifier: Apache-2.0
// Every text that a window paints, with the place where it stands and what of it is seen: labels, rows, canvases, all alike, for
// it is read from the painting itself. What is wrong with their room is one line each; an empty list is what a test wants.
#pragma once

#include <QList>
#include <QRectF>
#include <QString>
#include <QStringList>

class QWidget;

namespace shardboard {

struct PaintedText {
    const QWidget* widget = nullptr;
    QString text;
    QRectF ink; ///< its letters, in the window
    QRectF seen; ///< of that, what neither a clip nor another widget takes away; empty where nothing is
    QRectF room; ///< the same with what a drawer or a list in front of it covers for a while
    QRectF area; ///< where the widget is in sight, in the window
};

/// Of the window and all its children that are in sight; what is scrolled or zoomed away is not among them.
QList<PaintedText> paintedTexts(QWidget* window);

/// Texts of which a part is missing, sideways anywhere, upright unless a scroll bar brings it.
QStringList cutTexts(const QList<PaintedText>& texts);
/// Two texts in one place.
QStringList overlappingTexts(const QList<PaintedText>& texts);
/// Names that end in dots while a neighbor in the same table or row has room to spare.
QStringList needlesslyElided(QWidget* window, const QList<PaintedText>& texts);

struct SaidText {
    const QWidget* widget = nullptr;
    QString text;
};

/// All that the window says or would say: labels, rows, commands and tool tips, in sight or not. Code that is shown is not among
/// them.
QList<SaidText> saidTexts(QWidget* window);
/// Of these, those with an option of a command line, a key of a file or a keyword of MAX.
QStringList foreignWords(const QList<SaidText>& said);
/// Those with a number of four digits or more without commas. Shapes, ranges and ids of devices have none, and neither have
/// numbers of papers, names of products and what is being edited.
QStringList ungroupedNumbers(const QList<SaidText>& said);

} // namespace shardboard
