// SPDX-License-Identifier: Apache-2.0
// The heading of a table whose columns may be narrower than their titles: the model's short title stands there then, if it has one
// and that fits, or the title ends in an ellipsis. (A style sheet makes Qt cut
// them off instead.) The model's tool tip is to have all of the title.
#pragma once

#include <QHeaderView>

namespace shardboard {

class ElidingHeader : public QHeaderView {
    Q_OBJECT
public:
    static constexpr int kShortTitleRole = Qt::UserRole + 40; ///< of headerData(): a title for little room

    explicit ElidingHeader(Qt::Orientation orientation, QWidget* parent = nullptr);
    /// As it is painted in the present width.
    QString shownTitle(int column) const;
    /// What the short title needs, in pixels; the whole one where there is none.
    int shortWidth(int column) const;

protected:
    void initStyleOptionForIndex(QStyleOptionHeader* option, int column) const override;
};

} // namespace shardboard
