// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/codeview.h"

#include "widgets/look/theme.h"

#include <QEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QTextBlock>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kSide = 8; ///< free beside the numbers

bool isWordPart(QChar c) { return c.isLetterOrNumber() || c == QLatin1Char('_'); }

/// The place behind a string that begins at `from`.
int endOfString(const QString& line, int from)
{
    int at = from + 1;
    while (at < line.size() && line[at] != line[from])
        at += line[at] == QLatin1Char('\\') ? 2 : 1;
    return std::min(static_cast<int>(line.size()), at + 1);
}

/// Whether what ends at `at` is a key: a colon follows, or one equals sign.
bool isBeforeValue(const QString& line, int at)
{
    while (at < line.size() && line[at] == QLatin1Char(' '))
        ++at;
    if (at >= line.size())
        return false;
    return line[at] == QLatin1Char(':')
        || (line[at] == QLatin1Char('=') && (at + 1 == line.size() || line[at + 1] != QLatin1Char('=')));
}

class CodeColors : public QSyntaxHighlighter {
public:
    CodeColors(QTextDocument* document, const QWidget* view)
        : QSyntaxHighlighter(document)
        , m_view(view)
    {
    }
    void setOn(bool on) { m_on = on; }

protected:
    void highlightBlock(const QString& text) override
    {
        if (!m_on)
            return;
        const Theme& theme = Theme::of(m_view);
        for (const CodeToken& token : codeTokens(text)) {
            using Kind = CodeToken::Kind;
            setFormat(token.start, token.length,
                      token.kind == Kind::Key          ? theme.accent
                          : token.kind == Kind::String ? theme.good
                          : token.kind == Kind::Number ? theme.attention
                                                       : theme.quiet);
        }
    }

private:
    const QWidget* m_view;
    bool m_on = false;
};

} // namespace

/// The margin with the numbers.
class LineNumbers : public QWidget {
public:
    explicit LineNumbers(CodeView* view)
        : QWidget(view)
        , m_view(view)
    {
    }

protected:
    void paintEvent(QPaintEvent* event) override { m_view->paintNumbers(event); }

private:
    CodeView* m_view;
};

std::vector<CodeToken> codeTokens(const QString& line)
{
    using Kind = CodeToken::Kind;
    std::vector<CodeToken> out;
    const int size = static_cast<int>(line.size());
    const auto add = [&out](Kind kind, int from, int to) { out.push_back({ kind, from, to - from }); };
    bool first = true; // nothing but blanks and dashes before
    for (int at = 0; at < size;) {
        const QChar c = line[at];
        // Within a line MLIR has names such as #sdy.sharding.
        const bool hash = c == QLatin1Char('#') && (first || at + 1 == size || !line[at + 1].isLetter());
        if (hash || (c == QLatin1Char('/') && at + 1 < size && line[at + 1] == QLatin1Char('/'))) {
            add(Kind::Comment, at, size);
            return out;
        }
        if (c == QLatin1Char('"') || c == QLatin1Char('\'')) {
            const int end = endOfString(line, at);
            add(isBeforeValue(line, end) ? Kind::Key : Kind::String, at, end);
            at = end;
        } else if (c == QLatin1Char('-') && at + 2 < size && line[at + 1] == QLatin1Char('-') && line[at + 2].isLetter()) {
            int end = at + 2;
            while (end < size && (isWordPart(line[end]) || line[end] == QLatin1Char('-') || line[end] == QLatin1Char('.')))
                ++end;
            add(Kind::Key, at, end);
            at = end;
        } else if (isWordPart(c)) {
            int end = at;
            while (end < size && (isWordPart(line[end]) || (c.isDigit() && line[end] == QLatin1Char('.'))))
                ++end;
            if (c.isDigit())
                add(Kind::Number, at, end);
            else if (first && isBeforeValue(line, end))
                add(Kind::Key, at, end);
            at = end;
        } else {
            ++at;
            first = first && (c.isSpace() || c == QLatin1Char('-'));
            continue;
        }
        first = false;
    }
    return out;
}

CodeView::CodeView(QWidget* parent)
    : QPlainTextEdit(parent)
    , m_margin(new LineNumbers(this))
    , m_colors(new CodeColors(document(), this))
{
    setReadOnly(true);
    setLineWrapMode(NoWrap);
    setTabChangesFocus(true);
    setFont(monoFont(this, -0.5));
    m_margin->hide();
    connect(this, &QPlainTextEdit::updateRequest, this, [this](const QRect& rect, int dy) {
        if (dy != 0)
            m_margin->scroll(0, dy);
        else
            m_margin->update(0, rect.y(), m_margin->width(), rect.height());
    });
    connect(this, &QPlainTextEdit::blockCountChanged, this, [this] { placeNumbers(); });
}

void CodeView::showCode(const QString& text, const QString& ending)
{
    static_cast<CodeColors*>(m_colors)->setOn(true);
    m_numbers = true;
    mark(0);
    setPlainText(ending.isEmpty() ? text : text + QLatin1Char('\n') + ending);
    placeNumbers();
}

void CodeView::setPlain()
{
    static_cast<CodeColors*>(m_colors)->setOn(false);
    m_numbers = false;
    mark(0);
    clear();
    placeNumbers();
}

bool CodeView::markLineWith(const QStringList& texts)
{
    for (const QString& text : texts) {
        const QTextCursor found = text.isEmpty() ? QTextCursor() : document()->find(text, 0, QTextDocument::FindCaseSensitively);
        if (found.isNull())
            continue;
        QTextCursor start = found;
        start.movePosition(QTextCursor::StartOfBlock);
        setTextCursor(start);
        mark(found.blockNumber() + 1);
        centerCursor();
        return true;
    }
    mark(0);
    return false;
}

void CodeView::mark(int line)
{
    m_marked = line;
    QList<QTextEdit::ExtraSelection> all;
    if (line > 0) {
        QTextEdit::ExtraSelection one;
        one.cursor = QTextCursor(document()->findBlockByNumber(line - 1));
        one.format.setBackground(Theme::of(this).selection);
        one.format.setProperty(QTextFormat::FullWidthSelection, true);
        all << one;
    }
    setExtraSelections(all);
    m_margin->update();
}

int CodeView::numbersWidth() const
{
    return m_numbers
        ? 2 * kSide + fontMetrics().horizontalAdvance(QLatin1Char('0')) * static_cast<int>(QString::number(blockCount()).size())
        : 0;
}

void CodeView::placeNumbers()
{
    const int width = numbersWidth();
    setViewportMargins(width, 0, 0, 0);
    m_margin->setVisible(width > 0);
    m_margin->setGeometry(contentsRect().left(), contentsRect().top(), width, viewport()->height());
}

void CodeView::resizeEvent(QResizeEvent* event)
{
    QPlainTextEdit::resizeEvent(event);
    placeNumbers();
}

void CodeView::changeEvent(QEvent* event)
{
    QPlainTextEdit::changeEvent(event);
    if (event->type() != QEvent::PaletteChange || m_colors == nullptr)
        return;
    QMetaObject::invokeMethod( // later: others are told of the palette before it holds
        this,
        [this] {
            m_colors->rehighlight();
            mark(m_marked);
        },
        Qt::QueuedConnection);
}

void CodeView::paintNumbers(QPaintEvent* event)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(m_margin);
    painter.fillRect(event->rect(), theme.panel);
    painter.setFont(font());
    for (QTextBlock block = firstVisibleBlock(); block.isValid(); block = block.next()) {
        const QRectF at = blockBoundingGeometry(block).translated(contentOffset());
        if (at.top() > event->rect().bottom())
            break;
        if (block.blockNumber() + 1 == m_marked) {
            painter.fillRect(QRectF(0, at.top(), m_margin->width(), at.height()), theme.selection);
            painter.fillRect(QRectF(0, at.top(), 3, at.height()), theme.accent);
        }
        painter.setPen(block.blockNumber() + 1 == m_marked ? theme.text : theme.quiet);
        painter.drawText(QRectF(0, at.top(), m_margin->width() - kSide, at.height()), Qt::AlignRight | Qt::AlignVCenter,
                         QString::number(block.blockNumber() + 1));
    }
}

} // namespace shardboard
