// SPDX-License-Identifier: Apache-2.0
#include "widgets/controls/wrappedlabel.h"
#include "widgets/controls/contextmenu.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMenu>

#include <algorithm>

namespace shardboard {

namespace {

constexpr QChar kBreak(0x200B);

} // namespace

QString breakable(const QString& text)
{
    constexpr qsizetype kLongestWord = 40; // one without separators
    QString out;
    qsizetype word = 0;
    for (qsizetype i = 0; i < text.size(); ++i) {
        out += text[i];
        word = text[i].isSpace() ? 0 : word + 1;
        const bool separator = QStringLiteral("._/,@:=").contains(text[i]);
        const bool inside = i > 0 && i + 1 < text.size() && !text[i - 1].isSpace() && !text[i + 1].isSpace();
        const bool number = inside && text[i - 1].isDigit() && text[i + 1].isDigit(); // 4.93 stays together
        if ((separator && inside && !number) || (word >= kLongestWord && inside && !text[i].isHighSurrogate())) {
            out += kBreak;
            word = 0;
        }
    }
    return out;
}

QString unbroken(QString text) { return text.remove(kBreak); }

WrappedLabel::WrappedLabel(const QString& text, QWidget* parent)
    : QLabel(breakable(text), parent)
{
    setTextFormat(Qt::PlainText);
    setWordWrap(true);
    setAccessibleName(text);
}

void WrappedLabel::setFullText(const QString& text)
{
    setText(breakable(text));
    setAccessibleName(text);
}

/// Of a wrapping label Qt wants the width at which it looks well; a panel may be narrower than that.
QSize WrappedLabel::minimumSizeHint() const
{
    constexpr int kNarrowest = 60;
    const QSize wanted = QLabel::minimumSizeHint();
    return { std::min(kNarrowest, wanted.width()), wanted.height() };
}

void WrappedLabel::copy() const
{
    QGuiApplication::clipboard()->setText(hasSelectedText() ? unbroken(selectedText()) : fullText());
}

void WrappedLabel::keyPressEvent(QKeyEvent* event)
{
    if (event->matches(QKeySequence::Copy))
        copy();
    else
        QLabel::keyPressEvent(event);
}

void WrappedLabel::contextMenuEvent(QContextMenuEvent* event)
{
    if (!(textInteractionFlags() & Qt::TextSelectableByMouse)) {
        QLabel::contextMenuEvent(event);
        return;
    }
    showContextMenu(this, event->globalPos(), [this](QMenu* menu) { menu->addAction(tr("&Copy"), this, [this] { copy(); }); });
}

} // namespace shardboard
