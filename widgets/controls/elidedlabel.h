// SPDX-License-Identifier: Apache-2.0
// A line of text that ends in an ellipsis where there is no room for it; the tool tip has all of it then.
#pragma once

#include <QWidget>

namespace shardboard {

class ElidedLabel : public QWidget {
    Q_OBJECT
public:
    explicit ElidedLabel(QWidget* parent = nullptr);
    void setText(const QString& text);
    QString text() const { return m_text; } ///< all of it
    QString shownText() const; ///< as it is painted in the present width
    void setElideMode(Qt::TextElideMode mode);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    QString m_text;
    Qt::TextElideMode m_mode = Qt::ElideRight;
};

} // namespace shardboard
