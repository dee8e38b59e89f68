// SPDX-License-Identifier: Apache-2.0
// The hovered weight in a list or a table: the row under the mouse says which weight it is about, and rows about a weight that is
// hovered in another view have a frame. It lies over the view and paints nothing else, so no row is laid out or drawn anew for it.
#pragma once

#include <QPointer>
#include <QWidget>

#include <functional>
#include <vector>

class QAbstractItemView;
class QModelIndex;

namespace shardboard {

class Selection;

class WeightHover : public QWidget {
    Q_OBJECT
public:
    /// Indices into Evaluation::weights that a row is about; asked for rows that are in sight.
    using Weights = std::function<std::vector<int>(const QModelIndex& index)>;

    WeightHover(QAbstractItemView* view, Selection* selection, Weights weights);
    /// Only shows what is hovered elsewhere: of a list whose rows are about many weights each.
    void setSilent() { m_silent = true; }
    /// Rows with a frame, in coordinates of the view's viewport.
    std::vector<QRect> marked() const;

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void follow();
    void say(const QPoint& at);
    void fall();

    QAbstractItemView* m_view;
    QPointer<Selection> m_selection;
    Weights m_weights;
    bool m_silent = false;
    bool m_own = false; ///< the mouse is over this view
};

} // namespace shardboard
