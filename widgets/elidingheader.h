// SPDX-License-Identifier: Apache-2.0
// The heading of a table whose columns may be narrower than their titles: these end in an ellipsis then. (A style sheet makes Qt cut
// them off instead.) The model's tool tip is to have all of the title.
#pragma once

#include <QHeaderView>

namespace shardboard {

class ElidingHeader : public QHeaderView {
    Q_OBJECT
public:
    explicit ElidingHeader(Qt::Orientation orientation, QWidget* parent = nullptr);
    /// As it is painted in the present width.
    QString shownTitle(int column) const;

protected:
    void initStyleOptionForIndex(QStyleOptionHeader* option, int column) const override;
};

} // namespace shardboard
