// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/base/difftext.h"

#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QCoreApplication>
#include <QPlainTextEdit>
#include <QTextCharFormat>
#include <QTextCursor>

namespace shardboard {

namespace {

constexpr std::size_t kMostLines = 2000;

QString markOf(DiffLine::Kind kind)
{
    using Kind = DiffLine::Kind;
    return kind == Kind::Added  ? QStringLiteral("+ ")
        : kind == Kind::Removed ? QStringLiteral("− ")
        : kind == Kind::Same    ? QStringLiteral("  ")
                                : QString();
}

} // namespace

void showDiff(QPlainTextEdit* view, const std::vector<DiffLine>& lines, bool marked, const QString& ending)
{
    view->clear();
    const Theme& theme = Theme::of(view);
    QTextCursor cursor(view->document());
    cursor.beginEditBlock();
    for (std::size_t i = 0; i < lines.size() && i < kMostLines; ++i) {
        using Kind = DiffLine::Kind;
        const DiffLine& line = lines[i];
        QTextCharFormat format;
        format.setForeground(line.kind == Kind::Gap ? theme.quiet : theme.text);
        if (marked && (line.kind == Kind::Added || line.kind == Kind::Removed)) // beside the mark, never without it
            format.setBackground(blended(theme.panel, line.kind == Kind::Added ? theme.accent : theme.attention, 0.18));
        cursor.insertText((marked ? markOf(line.kind) : QString()) + shownText(line.text) + QLatin1Char('\n'), format);
    }
    if (lines.size() > kMostLines)
        cursor.insertText(
            QCoreApplication::translate("shardboard::DiffText", "… and %1 more lines").arg(lines.size() - kMostLines));
    else
        cursor.insertText(ending);
    cursor.endEditBlock();
    view->moveCursor(QTextCursor::Start);
}

} // namespace shardboard
