// SPDX-License-Identifier: Apache-2.0
// A file of an export to read: line numbers, keys, strings, numbers and comments told apart, one line marked. Also shows what
// changes in a file (showDiff), which has neither numbers nor colours of its own.
#pragma once

#include <QPlainTextEdit>
#include <QString>
#include <QSyntaxHighlighter>

#include <vector>

namespace shardboard {

/// A run of characters that is told apart.
struct CodeToken {
    enum class Kind { Key, String, Number, Comment };
    Kind kind = Kind::Key;
    int start = 0;
    int length = 0;
    friend bool operator==(const CodeToken&, const CodeToken&) = default;
};

/// Of one line of Python, JSON, YAML, MLIR or a shell's arguments, as people read it; what goes over several lines (a long string
/// of Python) is not known.
std::vector<CodeToken> codeTokens(const QString& line);

class CodeView : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit CodeView(QWidget* parent = nullptr);

    /// A whole file; `ending` stands below what of it is shown.
    void showCode(const QString& text, const QString& ending = {});
    /// What is shown next is no file: without numbers.
    void setPlain();
    bool hasNumbers() const { return m_numbers; }
    /// Marks the first line with one of these texts, and brings it into sight; false, and no line, where none has it.
    bool markLineWith(const QStringList& texts);
    int markedLine() const { return m_marked; } ///< from 1; 0: none

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    friend class LineNumbers;
    int numbersWidth() const;
    void placeNumbers();
    void paintNumbers(QPaintEvent* event);
    void mark(int line);

    QWidget* m_margin;
    QSyntaxHighlighter* m_colors;
    bool m_numbers = false;
    int m_marked = 0;
};

} // namespace shardboard
