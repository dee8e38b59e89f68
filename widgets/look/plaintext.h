// SPDX-License-Identifier: Apache-2.0
// Text is shown as it is and never obeyed. Names of weights, models, rules and files come from files that nobody
// vouches for; Qt takes for HTML what looks like it, in labels, tool tips and message boxes, and opens the files that
// it names. So all of these are plain text here, whoever makes them (showPlainText). What is not plain, for its links,
// says so itself and escapes what it inserts.
#pragma once

#include <QRect>
#include <QString>

#include <functional>
#include <string>

class QEvent;
class QPoint;
class QWidget;

namespace shardboard {

/// Characters that are shown of any text; no line of an error is longer (Error::text).
inline constexpr qsizetype kLongestText = 1300;
/// The same of a name in a question or in a file's name.
inline constexpr qsizetype kLongestName = 120;

/// At most so long. The middle is left out: what tells names apart stands at both ends.
QString shortened(const QString& text, qsizetype characters);

/// What somebody else wrote, as people may see it: on one line, control characters as escapes such as \n, \x1b and
/// \u202e (model/text/visibletext.h), the middle left out where it is very long.
QString shownText(const std::string& text);
QString shownText(const QString& text);
/// Of several lines, each of them so: what a program printed.
QString shownLines(const QString& text);

/// For menus and buttons, where an & would underline a letter.
QString menuText(const QString& text);
/// For the title of a window, where [*] would become the mark of changes.
QString titleText(const QString& text);
/// As a part of a file's name: what cannot stand in one, or names another folder, becomes -.
QString fileNamePart(const QString& text);

/// Tool tips of what is painted. Those of widgets, actions and lists are plain text, too.
void showToolTip(const QPoint& globalPos, const QString& text, QWidget* widget, const QRect& area = {}, int milliseconds = -1);
/// Of a widget that paints what it shows: shows what `textAt` says of a point of it, and none where that is empty. False: the event
/// asks for no tool tip.
bool answersToolTip(QEvent* event, QWidget* widget, const std::function<QString(const QPoint&)>& textAt);

/// From now on every label and tool tip of the program that does not say otherwise is plain text, also in Qt's own
/// dialogs (that of files asks whether one may be replaced), and no tool tip is larger than its screen. May be called
/// again.
void showPlainText();

} // namespace shardboard
