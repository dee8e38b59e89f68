// SPDX-License-Identifier: Apache-2.0
#include "widgets/strategy/strategylist.h"

#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/elidingheader.h"
#include "widgets/tables/narrowrows.h"
#include "widgets/tables/notedelegate.h"
#include "widgets/tables/tablecopy.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QTreeWidget>

#include <algorithm>
#include <vector>

namespace shardboard {

namespace {

enum StrategyColumn { NumberColumn, NamesColumn, SaysColumn, CountColumn, ColumnCount };

} // namespace

StrategyList::StrategyList(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_title(new WrappedLabel({}, this))
    , m_list(new QTreeWidget(this))
{
    nameView("strategyListView", tr("Strategies"));
    nameWidget(m_list, "strategyList", tr("Strategies, the one that counts first"));
    m_title->setObjectName(QStringLiteral("strategyListTitle"));
    m_list->setRootIsDecorated(false);
    m_list->setHeader(new ElidingHeader(Qt::Horizontal, m_list));
    m_list->header()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_list->header()->setSectionsClickable(false);
    m_list->setColumnCount(ColumnCount);
    m_list->setHeaderLabels({ QString(), tr("names"), tr("says"), tr("weights") });
    m_list->headerItem()->setTextAlignment(CountColumn, Qt::AlignRight | Qt::AlignVCenter);
    m_list->setTabKeyNavigation(false);
    makeCopyable(m_list);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->header()->setMinimumSectionSize(20);
    constexpr int kNarrow = 400;
    new NarrowRows(m_list, NamesColumn, { SaysColumn, CountColumn }, kNarrow);
    m_list->installEventFilter(this);
    auto* list = boxLayout<QHBoxLayout>({ 8, 0, 8, 0 }, 0);
    list->addWidget(m_list);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 6 }, 0, this);
    auto* title = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 0); // a label forgets margins of its own
    title->addWidget(m_title);
    column->addLayout(title);
    column->addLayout(list, 1);
    connect(m_list, &QTreeWidget::itemClicked, this,
            [this](const QTreeWidgetItem* item) { select(item->data(NumberColumn, Qt::UserRole).toInt()); });
    connect(m_list, &QTreeWidget::itemActivated, this, [this](const QTreeWidgetItem* item) {
        if (select(item->data(NumberColumn, Qt::UserRole).toInt()))
            Q_EMIT editRequested();
    });
    start();
}

void StrategyList::refresh()
{
    const Theme& theme = Theme::of(this);
    const int current = m_list->indexOfTopLevelItem(m_list->currentItem());
    m_list->clear();
    setTextColor(m_title, theme.quiet);
    const auto evaluation = document()->evaluation();
    if (!evaluation) {
        m_title->setFullText(tr("No design is open."));
        return;
    }
    const auto& entries = document()->design().strategies;
    std::vector<int> decided(entries.size(), 0);
    for (const WeightLayout& weight : evaluation->weights)
        if (weight.entry >= 0 && weight.entry < static_cast<int>(entries.size()))
            ++decided[static_cast<std::size_t>(weight.entry)];
    m_title->setFullText(entries.empty() ? tr("No strategy: rules, or nothing, decide.") : tr("Strategies · later ones win"));
    const int numberWidth = QFontMetrics(uiFont(this)).horizontalAdvance(countText(static_cast<std::int64_t>(entries.size()))) + 24;
    for (std::size_t i = entries.size(); i-- > 0;) {
        auto* item = new QTreeWidgetItem(m_list);
        item->setData(NumberColumn, Qt::UserRole, static_cast<int>(i));
        item->setText(NumberColumn, QString::number(i + 1));
        item->setText(NamesColumn, qstr(entries[i].match));
        item->setText(SaysColumn, qstr(entries[i].strategy.text()));
        item->setText(CountColumn, countText(decided[i]));
        item->setTextAlignment(CountColumn, Qt::AlignRight | Qt::AlignVCenter);
        item->setForeground(NumberColumn, theme.quiet);
        item->setData(NamesColumn, NoteDelegate::TitleRole, shortName(entries[i].match));
        item->setData(NamesColumn, NoteDelegate::TextRole, item->text(SaysColumn));
        item->setSizeHint(NumberColumn, { numberWidth, rowHeight(this) });
        for (int column = 0; column < ColumnCount; ++column)
            item->setToolTip(
                column,
                tr("%1\n%2\ndecides %3")
                    .arg(item->text(NamesColumn), item->text(SaysColumn), counted(decided[i], tr("weight"), tr("weights"))));
    }
    if (current >= 0) // the next one is where the deleted one was
        m_list->setCurrentItem(m_list->topLevelItem(std::min(current, m_list->topLevelItemCount() - 1)));
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(NamesColumn, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(SaysColumn, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(NumberColumn, QHeaderView::ResizeToContents);
    m_list->header()->setSectionResizeMode(CountColumn, QHeaderView::ResizeToContents);
}

bool StrategyList::select(int entry)
{
    const auto evaluation = document()->evaluation();
    std::vector<int> weights;
    for (std::size_t i = 0; evaluation && i < evaluation->weights.size(); ++i)
        if (evaluation->weights[i].entry == entry)
            weights.push_back(static_cast<int>(i));
    if (!weights.empty())
        selection()->setWeights(weights, weights.front());
    return !weights.empty();
}

void StrategyList::remove(int entry)
{
    Design edited = document()->design();
    if (entry < 0 || entry >= static_cast<int>(edited.strategies.size()))
        return;
    const QString match = qstr(edited.strategies[static_cast<std::size_t>(entry)].match);
    edited.strategies.erase(edited.strategies.begin() + entry);
    (void)document()->edit(edited, tr("Remove the strategy for %1").arg(match), Misfits::Replicate);
}

bool StrategyList::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_list && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Delete) {
        if (const QTreeWidgetItem* item = m_list->currentItem())
            remove(item->data(NumberColumn, Qt::UserRole).toInt());
        return true;
    }
    return DocumentView::eventFilter(watched, event);
}

} // namespace shardboard
