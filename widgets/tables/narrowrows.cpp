// SPDX-License-Identifier: Apache-2.0
#include "widgets/tables/narrowrows.h"

#include "widgets/look/theme.h"
#include "widgets/tables/notedelegate.h"

#include <QEvent>
#include <QHeaderView>
#include <QTreeView>

#include <utility>

namespace shardboard {

NarrowRows::NarrowRows(QTreeView* list, int title, std::vector<int> others, int least)
    : QObject(list)
    , m_list(list)
    , m_title(title)
    , m_others(std::move(others))
    , m_least(least)
    , m_notes(new NoteDelegate(list))
    , m_plain(new QStyledItemDelegate(list))
{
    m_list->setItemDelegateForColumn(m_title, m_plain);
    m_list->installEventFilter(this);
}

bool NarrowRows::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Resize || event->type() == QEvent::FontChange)
        fit();
    return QObject::eventFilter(watched, event);
}

void NarrowRows::fit()
{
    const bool narrow = m_list->width() < m_least * textScale(m_list);
    if (narrow == m_narrow)
        return;
    m_narrow = narrow;
    m_list->setHeaderHidden(narrow); // there is one thing alone
    for (const int column : m_others)
        m_list->setColumnHidden(column, narrow);
    m_list->setItemDelegateForColumn(m_title, narrow ? m_notes : m_plain);
    if (narrow)
        m_stretched = m_list->header()->sectionResizeMode(m_title);
    m_list->header()->setSectionResizeMode(m_title, narrow ? QHeaderView::Stretch : m_stretched);
    m_list->doItemsLayout();
    Q_EMIT changed();
}

} // namespace shardboard
