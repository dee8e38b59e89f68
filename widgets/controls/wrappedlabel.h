// SPDX-License-Identifier: Apache-2.0
// A label that wraps long dotted names too, after a dot, slash, comma or underscore, so that a name of a tensor never makes
// a view wider than its panel. What is copied from it is the text without the places where it may be broken.
#pragma once

#include <QLabel>

namespace shardboard {

/// The text with a place without width where a line may end behind each separator of a name, and within a very long word.
QString breakable(const QString& text);
/// The text as it was before breakable().
QString unbroken(QString text);

class WrappedLabel : public QLabel {
    Q_OBJECT
public:
    explicit WrappedLabel(const QString& text, QWidget* parent = nullptr);
    void setFullText(const QString& text);
    QString fullText() const { return unbroken(text()); }
    QSize minimumSizeHint() const override;

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void copy() const; ///< what is selected, or else all of it
};

} // namespace shardboard
