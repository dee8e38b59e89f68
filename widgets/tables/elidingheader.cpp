// SPDX-License-Identifier: Apache-2.0
#include "widgets/tables/elidingheader.h"

#include <QStyleOptionHeader>

#include <algorithm>

namespace shardboard {

ElidingHeader::ElidingHeader(Qt::Orientation orientation, QWidget* parent)
    : QHeaderView(orientation, parent)
{
    setHighlightSections(false);
    setSectionsClickable(true);
}

QString ElidingHeader::shownTitle(int column) const
{
    const QString title = model()->headerData(column, orientation(), Qt::DisplayRole).toString();
    const int lacking = sectionSizeFromContents(column).width() - sectionSize(column);
    if (lacking > 0 && shortWidth(column) <= sectionSize(column))
        return model()->headerData(column, orientation(), kShortTitleRole).toString();
    return lacking <= 0
        ? title
        : fontMetrics().elidedText(title, Qt::ElideRight, std::max(0, fontMetrics().horizontalAdvance(title) - lacking));
}

int ElidingHeader::shortWidth(int column) const
{
    const int whole = sectionSizeFromContents(column).width();
    const QString title = model()->headerData(column, orientation(), Qt::DisplayRole).toString();
    const QString brief = model()->headerData(column, orientation(), kShortTitleRole).toString();
    return brief.isEmpty() ? whole : whole - fontMetrics().horizontalAdvance(title) + fontMetrics().horizontalAdvance(brief);
}

void ElidingHeader::initStyleOptionForIndex(QStyleOptionHeader* option, int column) const
{
    QHeaderView::initStyleOptionForIndex(option, column);
    option->text = shownTitle(column);
}

} // namespace shardboard
