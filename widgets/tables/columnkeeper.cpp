// SPDX-License-Identifier: Apache-2.0
#include "widgets/tables/columnkeeper.h"

#include <QEvent>
#include <QHeaderView>
#include <QTableView>
#include <QTreeView>

#include <utility>

namespace shardboard {

ColumnKeeper* ColumnKeeper::watch(QAbstractItemView* view)
{
    QHeaderView* header = nullptr;
    if (const auto* table = qobject_cast<QTableView*>(view))
        header = table->horizontalHeader();
    else if (const auto* tree = qobject_cast<QTreeView*>(view))
        header = tree->isHeaderHidden() ? nullptr : tree->header();
    return header == nullptr ? nullptr : new ColumnKeeper(view, header);
}

ColumnKeeper::ColumnKeeper(QAbstractItemView* view, QHeaderView* header)
    : QObject(header)
    , m_view(view)
    , m_header(header)
{
    if (qobject_cast<QTableView*>(view)) { // trees say themselves whether theirs can be moved
        header->setSectionsMovable(true);
        header->setFirstSectionMovable(true);
    }
    header->viewport()->installEventFilter(this);
    connect(header, &QHeaderView::sectionResized, this, [this](int column, int, int width) { resized(column, width); });
    connect(header, &QHeaderView::sectionMoved, this, [this] {
        if (m_pressed) {
            m_ordered = true;
            Q_EMIT changed();
        }
    });
    connect(header, &QHeaderView::sortIndicatorChanged, this, [this] {
        if (m_pressed) {
            m_sorted = true;
            Q_EMIT changed();
        }
    });
}

bool ColumnKeeper::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::MouseButtonPress)
        m_pressed = true;
    // The heading sorts and moves while it handles the release, so the mouse is up only after that.
    if (event->type() == QEvent::MouseButtonRelease)
        QMetaObject::invokeMethod(
            this, [this] { m_pressed = false; }, Qt::QueuedConnection);
    return QObject::eventFilter(watched, event);
}

void ColumnKeeper::resized(int column, int width)
{
    if (m_applying)
        return;
    if (m_pressed && m_header->sectionResizeMode(column) == QHeaderView::Interactive
        && !(m_header->stretchLastSection() && m_header->visualIndex(column) == m_header->count() - 1)) {
        if (width > 0) {
            m_widths.insert(column, width);
            Q_EMIT changed();
        }
        return;
    }
    // The view sized it: a column that a person sized gets its width back.
    if (width == 0 || !m_widths.contains(column) || m_widths.value(column) == width || m_pending)
        return;
    m_pending = true;
    const auto again = [this] {
        m_pending = false;
        apply();
    };
    QMetaObject::invokeMethod(this, again, Qt::QueuedConnection);
}

void ColumnKeeper::apply()
{
    const bool before = std::exchange(m_applying, true);
    for (auto it = m_widths.constBegin(); it != m_widths.constEnd(); ++it)
        if (it.key() < m_header->count() && !m_header->isSectionHidden(it.key()))
            m_header->resizeSection(it.key(), it.value());
    m_applying = before;
}

QVariantMap ColumnKeeper::state() const
{
    QVariantMap out;
    if (!m_widths.isEmpty()) {
        QVariantMap widths;
        for (auto it = m_widths.constBegin(); it != m_widths.constEnd(); ++it)
            widths.insert(QString::number(it.key()), it.value());
        out.insert(QStringLiteral("widths"), widths);
    }
    if (m_ordered) {
        QVariantList order;
        for (int place = 0; place < m_header->count(); ++place)
            order << m_header->logicalIndex(place);
        out.insert(QStringLiteral("order"), order);
    }
    if (m_sorted)
        out.insert(QStringLiteral("sort"),
                   QVariantList { m_header->sortIndicatorSection(), static_cast<int>(m_header->sortIndicatorOrder()) });
    return out;
}

void ColumnKeeper::restore(const QVariantMap& state)
{
    constexpr int kLeast = 8;
    constexpr int kMost = 4000;
    const QVariantMap widths = state.value(QStringLiteral("widths")).toMap();
    for (auto it = widths.constBegin(); it != widths.constEnd(); ++it) {
        bool number = false;
        const int column = it.key().toInt(&number);
        if (number && column >= 0 && it.value().toInt() >= kLeast && it.value().toInt() <= kMost)
            m_widths.insert(column, it.value().toInt());
    }
    const QVariantList order = state.value(QStringLiteral("order")).toList();
    if (order.size() == m_header->count()) {
        m_ordered = true;
        for (int place = 0; place < order.size(); ++place)
            if (const int from = m_header->visualIndex(order[place].toInt()); from >= 0)
                m_header->moveSection(from, place);
    }
    const QVariantList sort = state.value(QStringLiteral("sort")).toList();
    if (sort.size() == 2 && sort[0].toInt() < m_header->count()) {
        m_sorted = true;
        const auto by = sort[1].toInt() == 0 ? Qt::AscendingOrder : Qt::DescendingOrder;
        if (auto* table = qobject_cast<QTableView*>(m_view); table != nullptr && table->isSortingEnabled())
            table->sortByColumn(sort[0].toInt(), by);
        else if (auto* tree = qobject_cast<QTreeView*>(m_view); tree != nullptr && tree->isSortingEnabled())
            tree->sortByColumn(sort[0].toInt(), by);
    }
    apply();
}

} // namespace shardboard
