// SPDX-License-Identifier: Apache-2.0
#include "widgets/timeline/errorsview.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/columnfit.h"
#include "widgets/tables/rowdelegate.h"
#include "widgets/tables/tablecopy.h"
#include "widgets/timeline/errorsmodel.h"

#include <QHeaderView>
#include <QLabel>
#include <QScrollBar>
#include <QSortFilterProxyModel>
#include <QTableView>

#include <algorithm>

namespace shardboard {

/// The sum stays below the rows that it is of.
class ErrorsFilter : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;

protected:
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override
    {
        const bool leftTotal = left.data(ErrorsModel::kTotalRole).toBool();
        const bool rightTotal = right.data(ErrorsModel::kTotalRole).toBool();
        if (leftTotal || rightTotal) {
            const bool before = leftTotal && rightTotal ? left.row() < right.row() : rightTotal;
            return sortOrder() == Qt::AscendingOrder ? before : !before;
        }
        return QSortFilterProxyModel::lessThan(left, right);
    }
};

ErrorsView::ErrorsView(Document* document, TimelineSource* source, QWidget* parent)
    : DocumentView(document, parent)
    , m_source(source)
    , m_model(new ErrorsModel(this))
    , m_filter(new ErrorsFilter(this))
    , m_table(new QTableView(this))
    , m_total(new ElidedLabel(this))
    , m_empty(new QLabel(this))
{
    nameView("errorsView", tr("Errors"));
    m_filter->setSourceModel(m_model);
    m_filter->setSortRole(ErrorsModel::kSortRole);
    nameWidget(m_table, "errorsTable", tr("Predicted and measured times"));
    m_table->setModel(m_filter);
    m_table->setItemDelegate(new RowDelegate(m_table));
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(-1, Qt::AscendingOrder); // the most seconds first until a heading is clicked
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setTabKeyNavigation(false);
    m_table->verticalHeader()->hide();
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setMinimumSectionSize(8);
    makeCopyable(m_table);
    m_total->setObjectName(QStringLiteral("errorsTotal"));
    m_empty->setObjectName(QStringLiteral("errorsEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 8);
    top->addWidget(m_total, 1);
    auto* rows = boxLayout<QHBoxLayout>({ 8, 0, 8, 0 }, 0);
    rows->addWidget(m_table);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addLayout(top);
    column->addLayout(rows, 1);
    column->addWidget(m_empty, 1);
    connect(m_source, &TimelineSource::changed, this, [this] { refresh(); });
    const auto show = [this](const QModelIndex& index) {
        const int item = m_model->itemOf(m_filter->mapToSource(index).row());
        if (m_following || item < 0)
            return;
        m_following = true;
        m_source->select(item);
        Q_EMIT m_source->itemWanted(item);
        m_following = false;
    };
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, show);
    connect(m_table, &QTableView::clicked, this, show);
    start();
}

QSize ErrorsView::sizeHint() const { return { 520, 240 }; }

void ErrorsView::refresh()
{
    const Theme& theme = Theme::of(this);
    const ErrorTable* errors = m_source->errors();
    const bool there = errors != nullptr && (!errors->rows.empty() || !m_source->unmatched().empty());
    const bool ofRun = m_source->shown() != TimelineSource::Shown::Trace;
    m_following = true;
    m_model->setTable(there ? *errors : ErrorTable {}, m_source->unmatched(),
                      { theme.attention, theme.quiet, monoFont(this, -0.5), uiFont(this, 0, true), ofRun && m_source->isStale() });
    m_following = false;
    m_table->horizontalHeader()->setFont(uiFont(this, -1));
    m_table->verticalHeader()->setDefaultSectionSize(rowHeight(m_table));
    m_table->setVisible(there);
    m_total->setVisible(there);
    m_empty->setVisible(!there);
    setTextColor(m_total, theme.quiet);
    setTextColor(m_empty, theme.quiet);
    m_empty->setText(
        tr("Nothing is measured yet: Run (F5) executes the plan, and this table says where the prediction was wrong."));
    if (there) {
        QStringList parts;
        if (!ofRun) {
            std::int64_t missed = 0;
            for (const auto& [reason, count] : m_source->unmatched())
                missed += count;
            parts << tr("%1 of %2 in the plan")
                         .arg(m_source->collectives() - missed)
                         .arg(counted(m_source->collectives(), tr("collective"), tr("collectives")));
        }
        parts << tr("predicted %1, measured %2").arg(secondsText(errors->predicted), secondsText(errors->measured));
        parts << tr("most seconds first");
        if (ofRun && m_source->isStale())
            parts << tr("older design");
        m_total->setText(parts.join(QStringLiteral(" · ")));
    }
    fitColumns();
    selectionChanged();
}

/// The row of what is selected, which it follows without showing it anew.
void ErrorsView::selectionChanged()
{
    if (m_following)
        return;
    m_following = true;
    const int row = m_model->rowOf(m_source->selected());
    if (row < 0) {
        m_table->setCurrentIndex({});
        m_table->clearSelection();
    } else {
        const QModelIndex index = m_filter->mapFromSource(m_model->index(row, 0));
        m_table->setCurrentIndex(index);
        m_table->scrollTo(index);
    }
    m_following = false;
}

void ErrorsView::fitColumns()
{
    if (m_model->rowCount() == 0)
        return;
    const QAbstractItemView* cells = m_table; // protected in the class itself
    QHeaderView* header = m_table->horizontalHeader();
    const int em = QFontMetrics(m_table->font()).horizontalAdvance(QLatin1Char('m'));
    std::vector<ColumnWish> wishes(ErrorsModel::ColumnCount);
    for (int column = 0; column < ErrorsModel::ColumnCount; ++column) {
        m_table->setColumnHidden(column, false); // a hidden one has no size
        ColumnWish& wish = wishes[static_cast<std::size_t>(column)];
        wish.natural = std::max(cells->sizeHintForColumn(column), header->sectionSizeHint(column));
        wish.least = wish.natural;
    }
    ColumnWish& names = wishes[ErrorsModel::Operation];
    names.natural = std::min(names.natural, 30 * em);
    names.least = std::min(names.natural, 9 * em);
    names.narrowest = std::min(names.natural, 5 * em);
    ColumnWish& bound = wishes[ErrorsModel::Bound]; // the name of a link may be long
    bound.least = std::min(bound.natural, 8 * em);
    int rank = 0;
    for (const int column : { ErrorsModel::Operation, ErrorsModel::Measured, ErrorsModel::Predicted, ErrorsModel::RelativeError,
                              ErrorsModel::Bound, ErrorsModel::Lost, ErrorsModel::Constant, ErrorsModel::Count }) {
        wishes[static_cast<std::size_t>(column)].rank = rank;
        wishes[static_cast<std::size_t>(column)].mayHide = rank > 1;
        ++rank;
    }
    const int room = std::min(m_table->viewport()->width(), m_table->width() - m_table->verticalScrollBar()->sizeHint().width());
    const std::vector<int> widths = shardboard::fitColumns(wishes, room);
    int left = room;
    for (const int width : widths)
        left -= width;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        const int column = static_cast<int>(i);
        m_table->setColumnHidden(column, widths[i] == 0);
        if (widths[i] > 0)
            m_table->setColumnWidth(column, widths[i] + (column == ErrorsModel::Operation ? std::max(0, left) : 0));
    }
}

void ErrorsView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    layout()->activate(); // the table has its new width only then
    fitColumns();
}

} // namespace shardboard
