// SPDX-License-Identifier: Apache-2.0
// Holds one widget and gives it all its room. The layout around it hears of the widget only when its wishes have changed: with a
// layout of Qt, each text that changes in a view would lay the whole window out.
#pragma once

#include <QSize>
#include <QWidget>

namespace shardboard {

class StillFrame : public QWidget {
    Q_OBJECT
public:
    /// `content` becomes its child.
    StillFrame(QWidget* content, QWidget* parent);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    bool event(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void follow();

    QWidget* m_held;
    QSize m_wanted;
    QSize m_least;
};

} // namespace shardboard
