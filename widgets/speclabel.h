// SPDX-License-Identifier: Apache-2.0
// A spec in monospace that is broken where the panel ends, so that a long HloSharding is never cut off. Its context
// menu copies it.
#pragma once

#include <QFont>
#include <QWidget>

namespace shardboard {

class SpecLabel : public QWidget {
    Q_OBJECT
public:
    explicit SpecLabel(QWidget* parent = nullptr);

    void setText(const QString& text);
    QString text() const { return m_text; }
    void setAlignment(Qt::Alignment alignment);
    void setTextFont(const QFont& font);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    QString m_text;
    QFont m_font;
    Qt::Alignment m_alignment = Qt::AlignLeft;
};

} // namespace shardboard
