// SPDX-License-Identifier: Apache-2.0
#include "widgets/runs/runcomparison.h"

#include "widgets/controls/wrappedlabel.h"
#include "widgets/document/findingplace.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/columnfit.h"
#include "widgets/tables/rowdelegate.h"
#include "widgets/tables/tablecopy.h"

#include <QHeaderView>
#include <QLabel>
#include <QScrollBar>
#include <QTreeWidget>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardboard {

namespace {

enum RunColumn { OperationColumn, AColumn, BColumn, DifferenceColumn, ShareColumn, TimesColumn, RunColumnCount };
constexpr int kRunSortRole = Qt::UserRole;
constexpr int kSumRole = Qt::UserRole + 1; ///< the step, which stays below the rows that it is of

class RunRow : public QTreeWidgetItem {
public:
    using QTreeWidgetItem::QTreeWidgetItem;
    bool operator<(const QTreeWidgetItem& other) const override
    {
        const QTreeWidget* tree = treeWidget();
        const int column = tree != nullptr ? tree->sortColumn() : 0;
        if (data(0, kSumRole).toBool() || other.data(0, kSumRole).toBool())
            return (tree != nullptr && tree->header()->sortIndicatorOrder() == Qt::DescendingOrder) == data(0, kSumRole).toBool();
        const QVariant mine = data(column, kRunSortRole);
        return mine.isValid() ? mine.toDouble() < other.data(column, kRunSortRole).toDouble()
                              : text(column).localeAwareCompare(other.text(column)) < 0;
    }
};

QString signedSeconds(double seconds)
{
    return (seconds < 0 ? QStringLiteral("−") : QStringLiteral("+")) + secondsText(std::abs(seconds));
}

QString changeText(double a, double b)
{
    if (a <= 0)
        return {};
    return (b < a ? QStringLiteral("−") : QStringLiteral("+")) + percentText(std::abs(b / a - 1));
}

} // namespace

RunComparison::RunComparison(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_what(new WrappedLabel({}, this))
    , m_table(new QTreeWidget(this))
    , m_empty(new QLabel(this))
{
    nameView("runComparisonView", tr("Two Runs"));
    m_what->setObjectName(QStringLiteral("runComparisonWhat"));
    nameWidget(m_table, "runComparisonTable", tr("Operations of two runs"));
    m_empty->setObjectName(QStringLiteral("runComparisonEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_table->setRootIsDecorated(false);
    m_table->setUniformRowHeights(true);
    m_table->setColumnCount(RunColumnCount);
    m_table->setHeaderLabels({ tr("operation"), tr("A, a step"), tr("B, a step"), tr("B takes"), tr("change"), tr("times") });
    for (int column = AColumn; column < RunColumnCount; ++column)
        m_table->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_table->headerItem()->setToolTip(DifferenceColumn, tr("Seconds of a step by which B takes longer"));
    m_table->headerItem()->setToolTip(TimesColumn, tr("Occurrences in a step"));
    m_table->setItemDelegate(new RowDelegate(m_table));
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setTabKeyNavigation(false);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->header()->setMinimumSectionSize(8);
    m_table->header()->setStretchLastSection(false);
    m_table->setSortingEnabled(true);
    makeCopyable(m_table);
    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 8);
    top->addWidget(m_what, 1);
    auto* rows = boxLayout<QHBoxLayout>({ 8, 0, 8, 0 }, 0);
    rows->addWidget(m_table);
    rows->addWidget(m_empty);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addLayout(top);
    column->addLayout(rows, 1);
    connect(m_table, &QTreeWidget::currentItemChanged, this, [this](const QTreeWidgetItem* item) {
        if (item == nullptr || item->data(0, kSumRole).toBool() || !this->document()->hasDesign())
            return;
        const std::string id = item->toolTip(OperationColumn).toStdString();
        const auto& collectives = this->document()->evaluation()->plan.collectives;
        for (CollectiveId i { 0 }; i < collectives.size(); ++i)
            if (collectives[i].id == id) {
                selection()->setCollective(i);
                return;
            }
        selectWhere(*this->document(), id);
    });
    start();
}

QSize RunComparison::sizeHint() const { return { 520, 240 }; }

void RunComparison::setRuns(const KeptRun& a, const KeptRun& b, const QString& titleA, const QString& titleB)
{
    m_runs = Runs { a, b, titleA, titleB };
    refresh();
}

void RunComparison::forget(const std::string& name)
{
    if (!m_runs || (m_runs->a.name != name && m_runs->b.name != name))
        return;
    m_runs.reset();
    refresh();
}

std::optional<KeptRun> RunComparison::other(const RunResult& than) const
{
    if (!m_runs)
        return std::nullopt;
    const auto is = [&](const KeptRun& run) { return toJson(run.result) == toJson(than); };
    if (is(m_runs->a))
        return m_runs->b;
    return is(m_runs->b) ? std::optional(m_runs->a) : std::nullopt;
}

void RunComparison::refresh()
{
    const Theme& theme = Theme::of(this);
    setTextColor(m_what, theme.quiet);
    setTextColor(m_empty, theme.quiet);
    m_what->setVisible(m_runs.has_value());
    m_table->setVisible(m_runs.has_value());
    m_empty->setVisible(!m_runs);
    m_empty->setText(tr("Select two of the runs that are kept, and Compare."));
    m_table->setSortingEnabled(false);
    m_table->clear();
    if (!m_runs)
        return;
    const auto& [a, b, titleA, titleB] = *m_runs;
    QStringList differs;
    const auto differ = [&](const QString& what, const QString& x, const QString& y) {
        if (x != y)
            differs << tr("%1: %2 and %3").arg(what, x, y);
    };
    differ(tr("mesh"), qstr(a.mesh), qstr(b.mesh));
    differ(tr("planned for"), qstr(a.hardware), qstr(b.hardware));
    differ(tr("on"), qstr(a.result.backend), qstr(b.result.backend));
    differ(tr("layers"), QString::number(a.result.layers), QString::number(b.result.layers));
    QString what =
        tr("A %1: %2 · B %3: %4").arg(titleA, secondsText(a.result.stepMedian), titleB, secondsText(b.result.stepMedian));
    if (!differs.isEmpty())
        what += QStringLiteral("\n") + differs.join(QStringLiteral(" · "));
    m_what->setFullText(what);
    const QFont mono = monoFont(this, -0.5);
    const auto add = [&](const RunDifference& one, bool sum) {
        auto* item = new RunRow(m_table);
        const double ofA = static_cast<double>(one.countA) * one.a;
        const double ofB = static_cast<double>(one.countB) * one.b;
        item->setText(OperationColumn, qstr(one.id));
        item->setToolTip(OperationColumn, qstr(one.id));
        item->setData(0, kSumRole, sum);
        const auto number = [&](int column, const QString& text, double value) {
            item->setText(column, text);
            item->setData(column, kRunSortRole, value);
            item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
            item->setFont(column, mono);
        };
        number(AColumn, one.countA > 0 ? secondsText(ofA) : QStringLiteral("–"), ofA);
        number(BColumn, one.countB > 0 ? secondsText(ofB) : QStringLiteral("–"), ofB);
        number(DifferenceColumn, signedSeconds(one.lost()), std::abs(one.lost()));
        number(ShareColumn, changeText(ofA, ofB), ofA > 0 ? std::abs(ofB / ofA - 1) : 0);
        number(TimesColumn,
               sum                            ? QString()
                   : one.countA == one.countB ? countText(one.countA)
                                              : tr("%1, %2").arg(one.countA).arg(one.countB),
               static_cast<double>(one.countB));
        if (sum)
            item->setFont(OperationColumn, uiFont(this, 0, true));
        else if (std::abs(one.lost()) >= 0.01 * std::max(a.result.stepMedian, b.result.stepMedian) && one.lost() > 0)
            item->setForeground(DifferenceColumn, theme.attention);
    };
    RunDifference step { "step", {}, a.result.stepMedian, b.result.stepMedian, 1, 1 };
    RunDifference rest { "medians that do not add up to the median step", {}, a.result.stepMedian, b.result.stepMedian, 1, 1 };
    for (const RunDifference& one : compareRuns(a.result, b.result)) {
        add(one, false);
        rest.a -= static_cast<double>(one.countA) * one.a;
        rest.b -= static_cast<double>(one.countB) * one.b;
    }
    if (std::abs(rest.a) > 1e-9 * step.a || std::abs(rest.b) > 1e-9 * step.b)
        add(rest, false);
    add(step, true);
    m_table->header()->setSortIndicator(-1, Qt::AscendingOrder); // the largest difference first until a heading is clicked
    m_table->setSortingEnabled(true);
    fitColumns();
}

void RunComparison::fitColumns()
{
    if (m_table->topLevelItemCount() == 0)
        return;
    const QAbstractItemView* cells = m_table; // protected in the class itself
    QHeaderView* header = m_table->header();
    const int em = QFontMetrics(m_table->font()).horizontalAdvance(QLatin1Char('m'));
    std::vector<ColumnWish> wishes(RunColumnCount);
    constexpr std::array kRanks { 0, 2, 3, 1, 4, 5 };
    for (int column = 0; column < RunColumnCount; ++column) {
        m_table->setColumnHidden(column, false); // a hidden one has no size
        ColumnWish& wish = wishes[static_cast<std::size_t>(column)];
        wish.natural = std::max(cells->sizeHintForColumn(column), header->sectionSizeHint(column)) + 8;
        wish.least = wish.natural;
        wish.rank = kRanks[static_cast<std::size_t>(column)];
        wish.mayHide = wish.rank > 1;
    }
    wishes[OperationColumn].natural = std::min(wishes[OperationColumn].natural, 30 * em);
    wishes[OperationColumn].least = std::min(wishes[OperationColumn].natural, 12 * em);
    wishes[OperationColumn].narrowest = std::min(wishes[OperationColumn].natural, 5 * em);
    const int room = std::min(m_table->viewport()->width(), m_table->width() - m_table->verticalScrollBar()->sizeHint().width());
    const std::vector<int> widths = shardboard::fitColumns(wishes, room);
    int left = room;
    for (const int width : widths)
        left -= width;
    for (int column = 0; column < RunColumnCount; ++column) {
        const int width = widths[static_cast<std::size_t>(column)];
        m_table->setColumnHidden(column, width == 0);
        if (width > 0)
            m_table->setColumnWidth(column, width + (column == OperationColumn ? std::max(0, left) : 0));
    }
}

void RunComparison::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    layout()->activate(); // the table has its new width only then
    fitColumns();
}

} // namespace shardboard
