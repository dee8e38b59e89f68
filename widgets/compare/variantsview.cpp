// SPDX-License-Identifier: Apache-2.0
#include "widgets/compare/variantsview.h"

#include "model/design/compare.h"
#include "model/hardware/hardware.h"
#include "model/plan/pipeline.h"
#include "widgets/compare/compareview.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPushButton>
#include <QScopeGuard>
#include <QTreeWidget>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

enum Column {
    MarkColumn,
    VariantColumn,
    MeshColumn,
    StepColumn,
    RateColumn,
    MemoryColumn,
    MovedColumn,
    DiffersColumn,
    ColumnCount
};

constexpr int kHeadingPadding = 28; ///< with a sign for the sorting
constexpr int kVariantRole = Qt::UserRole; ///< index into the others; -1: the design as it is now
constexpr int kSortRole = Qt::UserRole + 1;

/// Numbers are sorted by what they are, not by how they are written.
class Row : public QTreeWidgetItem {
public:
    using QTreeWidgetItem::QTreeWidgetItem;
    bool operator<(const QTreeWidgetItem& other) const override
    {
        const int column = treeWidget() != nullptr ? treeWidget()->sortColumn() : 0;
        const QVariant mine = data(column, kSortRole);
        return mine.isValid() ? mine.toDouble() < other.data(column, kSortRole).toDouble()
                              : text(column).localeAwareCompare(other.text(column)) < 0;
    }
};

QString namesOf(const DesignDifference& change)
{
    if (change.names.empty())
        return qstr(changePartName(change.part));
    const QString first = shortName(change.names.front());
    return change.names.size() == 1 ? first : QObject::tr("%1 and %2 more").arg(first).arg(change.names.size() - 1);
}

} // namespace

VariantsView::VariantsView(Document* document, CompareView* comparison, QWidget* parent)
    : DocumentView(document, parent)
    , m_comparison(comparison)
    , m_count(new QLabel(this))
    , m_keep(new QPushButton(tr("Keep This One"), this))
    , m_list(new QTreeWidget(this))
    , m_empty(new QWidget(this))
    , m_emptyText(new QLabel(m_empty))
    , m_keepFirst(new QPushButton(tr("Keep This One"), m_empty))
{
    nameView("variantsView", tr("Variants"));
    m_count->setObjectName(QStringLiteral("variantsCount"));
    const QString keeps = tr("Keep the design as it is now as a variant; it lasts as long as the design is open");
    nameWidget(m_keep, "variantsKeep", {}, keeps);
    nameWidget(m_keepFirst, "variantsKeepFirst", {}, keeps);
    nameWidget(m_list, "variantsList", tr("Variants of the design"));
    m_emptyText->setObjectName(QStringLiteral("variantsEmpty"));
    m_emptyText->setAlignment(Qt::AlignCenter);
    m_emptyText->setWordWrap(true);
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setColumnCount(ColumnCount);
    m_list->setHeaderLabels(
        { QString(), tr("variant"), tr("mesh"), tr("step"), tr("tok/s/device"), tr("memory"), tr("moved"), tr("what differs") });
    for (const int column : { StepColumn, RateColumn, MemoryColumn, MovedColumn })
        m_list->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_list->headerItem()->setToolTip(RateColumn, tr("Tokens a second on each device"));
    m_list->headerItem()->setToolTip(MovedColumn, tr("Bytes that the collectives of a step move"));
    m_list->setEditTriggers(QAbstractItemView::EditKeyPressed);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setTabKeyNavigation(false);
    m_list->header()->setMinimumSectionSize(20);
    m_list->header()->setStretchLastSection(true);
    m_list->setSortingEnabled(true);
    m_list->header()->setSortIndicator(StepColumn, Qt::AscendingOrder);
    m_list->installEventFilter(this);
    m_list->viewport()->installEventFilter(this);
    makeCopyable(m_list);
    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 8);
    top->addWidget(m_count, 1);
    top->addWidget(m_keep);
    auto* middle = boxLayout<QVBoxLayout>({ kPanelMargin, 0, kPanelMargin, 0 }, 12, m_empty);
    middle->addStretch(1);
    middle->addWidget(m_emptyText);
    middle->addWidget(m_keepFirst, 0, Qt::AlignHCenter);
    middle->addStretch(1);
    auto* list = boxLayout<QHBoxLayout>({ 8, 0, 8, 0 }, 0);
    list->addWidget(m_list);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 6 }, 0, this);
    column->addLayout(top);
    column->addLayout(list, 1);
    column->addWidget(m_empty, 1);
    connect(m_keep, &QPushButton::clicked, comparison, &CompareView::keep);
    connect(m_keepFirst, &QPushButton::clicked, comparison, &CompareView::keep);
    connect(m_list, &QTreeWidget::itemClicked, this, [this](const QTreeWidgetItem* item) {
        const int variant = item->data(MarkColumn, kVariantRole).toInt();
        if (m_modifiers & Qt::ControlModifier)
            m_comparison->chooseOther(variant);
        else
            m_comparison->chooseShown(variant);
    });
    const auto take = [this] { // later: the edit replaces the list
        if (const QTreeWidgetItem* item = m_list->currentItem())
            m_comparison->take(item->data(MarkColumn, kVariantRole).toInt());
    };
    connect(m_list, &QTreeWidget::itemActivated, this, take, Qt::QueuedConnection);
    connect(m_list, &QTreeWidget::itemChanged, this, [this](QTreeWidgetItem* item, int changed) {
        if (!m_filling && changed == VariantColumn)
            rename(item);
    });
    connect(m_list->itemDelegate(), &QAbstractItemDelegate::closeEditor, this, &VariantsView::catchUp, Qt::QueuedConnection);
    m_list->setMouseTracking(true);
    connect(m_list, &QTreeWidget::itemEntered, this,
            [this](const QTreeWidgetItem* item) { m_comparison->setHovered(item->data(MarkColumn, kVariantRole).toInt()); });
    connect(comparison, &CompareView::hoveredChanged, this, &VariantsView::showHovered);
    connect(comparison, &CompareView::chosenChanged, this, &VariantsView::showMarks);
    connect(comparison, &CompareView::othersChanged, this, [this] {
        m_missed = true; // until it is seen, or what is being named has its name
        QMetaObject::invokeMethod(this, &VariantsView::catchUp, Qt::QueuedConnection);
    });
    start();
}

QSize VariantsView::sizeHint() const { return { 720, 240 }; }

void VariantsView::rename(QTreeWidgetItem* item)
{
    const int variant = item->data(MarkColumn, kVariantRole).toInt();
    m_comparison->rename(variant, item->text(VariantColumn));
    if (variant < 0 || variant >= m_comparison->otherCount())
        return;
    m_filling = true;
    item->setText(VariantColumn, m_comparison->others()[static_cast<std::size_t>(variant)].name); // no name is none
    m_filling = false;
}

bool VariantsView::isNaming() const
{
    QTreeWidgetItem* item = m_list->currentItem();
    return item != nullptr && m_list->isPersistentEditorOpen(item, VariantColumn); // Qt says so of any editor
}

/// What came while it could not be shown.
void VariantsView::catchUp()
{
    if (m_missed && !isAsleep())
        refresh();
}

void VariantsView::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    if (m_missed)
        refresh();
}

void VariantsView::refresh()
{
    m_missed = isNaming();
    if (m_missed)
        return; // the list made anew would take its field away
    m_filling = true;
    const QTreeWidgetItem* current = m_list->currentItem();
    const QVariant selected = current != nullptr ? current->data(MarkColumn, kVariantRole) : QVariant();
    m_list->setSortingEnabled(false);
    m_list->clear();
    const auto evaluation = document()->evaluation();
    const auto& others = m_comparison->others();
    const bool changed = evaluation && !others.empty() && others.front().evaluation != evaluation;
    const bool any = evaluation && (others.size() > 1 || changed);
    if (any) {
        addRow(-1, tr("now"), document()->design(), *evaluation);
        for (std::size_t i = 0; i < others.size(); ++i)
            addRow(static_cast<int>(i), others[i].name, others[i].design, *others[i].evaluation);
    }
    showMarks();
    m_list->setSortingEnabled(true);
    for (int row = 0; row < m_list->topLevelItemCount(); ++row)
        if (selected.isValid() && m_list->topLevelItem(row)->data(MarkColumn, kVariantRole) == selected)
            m_list->setCurrentItem(m_list->topLevelItem(row));
    m_filling = false;
    const Theme& theme = Theme::of(this);
    setTextColor(m_count, theme.quiet);
    setTextColor(m_emptyText, theme.quiet);
    m_count->setVisible(any);
    m_keep->setVisible(any);
    m_list->setVisible(any);
    m_empty->setVisible(!any);
    m_keepFirst->setVisible(evaluation != nullptr);
    m_count->setText(tr("%1 · click: B · Ctrl+click: A · double click: take")
                         .arg(counted(m_list->topLevelItemCount(), tr("design"), tr("designs"))));
    m_emptyText->setText(evaluation ? tr("Nothing kept yet. Keep this design, or search for others.") : tr("No design is open."));
    fitColumns();
}

void VariantsView::addRow(int variant, const QString& name, const Design& design, const Evaluation& evaluation)
{
    const Theme& theme = Theme::of(this);
    auto* item = new Row(m_list);
    const Plan& plan = evaluation.plan;
    const bool graph = design.model.hasGraph();
    const double rate = plan.performance.tokensPerSecondPerDevice;
    item->setData(MarkColumn, kVariantRole, variant);
    item->setData(MarkColumn, kSortRole, variant);
    item->setToolTip(MarkColumn, tr("A and B are the two designs compared: a click or Space is B, with Ctrl it is A"));
    item->setText(VariantColumn, name);
    item->setToolTip(VariantColumn, name);
    item->setText(MeshColumn, qstr(design.mesh.text()));
    const auto number = [&](int column, const QString& text, double value) {
        item->setText(column, text);
        item->setData(column, kSortRole, value);
        item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
        item->setFont(column, monoFont(this, -0.5));
    };
    number(StepColumn, graph ? secondsText(plan.seconds()) : QStringLiteral("–"), plan.seconds());
    number(RateColumn, rate <= 0 ? QStringLiteral("–") : digitsText(rate), rate);
    number(MemoryColumn, bytesText(plan.memory.peak), static_cast<double>(plan.memory.peak));
    const std::int64_t moved = collectiveBytesOfDevice(evaluation.graph, plan);
    number(MovedColumn, bytesText(moved), static_cast<double>(moved));
    item->setFont(MeshColumn, monoFont(this, -0.5));
    if (const auto hardware = hardwareOf(design); hardware.ok()) {
        const Fit fit = fitOf(plan.memory, static_cast<std::int64_t>(hardware.value().memoryBytes()));
        if (fit != Fit::Fits) {
            item->setForeground(MemoryColumn, fit == Fit::Tight ? theme.attention : theme.error);
            item->setToolTip(MemoryColumn,
                             fit == Fit::Tight ? tr("tight: it depends on the allocator") : tr("more than a device has"));
        }
    }
    QString differs = QStringLiteral("–");
    if (variant >= 0) {
        const DesignComparison comparison = compareDesigns(design, evaluation, document()->design(), *document()->evaluation());
        QStringList parts;
        for (std::size_t i = 0; i < comparison.changes.size() && i < 3; ++i)
            parts << namesOf(comparison.changes[i]);
        if (comparison.changes.size() > static_cast<std::size_t>(parts.size()))
            parts << tr("%1 more").arg(comparison.changes.size() - static_cast<std::size_t>(parts.size()));
        differs = parts.isEmpty() ? tr("same") : parts.join(QStringLiteral(", "));
        item->setFlags(item->flags() | Qt::ItemIsEditable);
    }
    item->setText(DiffersColumn, differs);
    item->setToolTip(DiffersColumn, differs);
    item->setForeground(DiffersColumn, theme.quiet);
    item->setSizeHint(MarkColumn, { 20, rowHeight(this) });
}

/// In place: what was clicked on may be clicked on once more.
void VariantsView::showMarks()
{
    const bool filling = std::exchange(m_filling, true);
    for (int row = 0; row < m_list->topLevelItemCount(); ++row) {
        QTreeWidgetItem* item = m_list->topLevelItem(row);
        const int variant = item->data(MarkColumn, kVariantRole).toInt();
        const bool a = variant == m_comparison->chosen();
        const bool b = variant == m_comparison->shown();
        item->setText(MarkColumn, (a ? QStringLiteral("A") : QString()) + (b ? QStringLiteral("B") : QString()));
        item->setFont(VariantColumn, uiFont(this, 0, a || b));
    }
    m_filling = filling;
}

/// The row of the design that is under the mouse, here or elsewhere.
void VariantsView::showHovered()
{
    const bool filling = std::exchange(m_filling, true);
    const QBrush lit(blended(Theme::of(this).panel, Theme::of(this).selection, 0.7));
    for (int row = 0; row < m_list->topLevelItemCount(); ++row) {
        QTreeWidgetItem* item = m_list->topLevelItem(row);
        const bool hovered = item->data(MarkColumn, kVariantRole).toInt() == m_comparison->hovered();
        for (int column = 0; column < ColumnCount; ++column)
            item->setBackground(column, hovered ? lit : QBrush());
    }
    m_filling = filling;
}

/// Numbers as wide as they are; where there is little room, what was moved and what differs go.
void VariantsView::fitColumns()
{
    if (m_list->topLevelItemCount() == 0)
        return;
    constexpr int kNarrow = 780;
    const bool narrow = m_list->viewport()->width() < kNarrow;
    m_list->setColumnHidden(MovedColumn, narrow);
    m_list->setColumnHidden(DiffersColumn, narrow);
    // The last column in sight is stretched, and Qt takes that for its width.
    m_list->header()->setStretchLastSection(false);
    const auto stretchAgain = qScopeGuard([this] { m_list->header()->setStretchLastSection(true); });
    int left = m_list->viewport()->width();
    const QAbstractItemView* cells = m_list;
    const QFontMetrics headings(m_list->header()->font());
    for (int column = 0; column < ColumnCount; ++column) {
        if (column == VariantColumn || column == MeshColumn || column == DiffersColumn || m_list->isColumnHidden(column))
            continue;
        const int heading = headings.horizontalAdvance(m_list->headerItem()->text(column)) + kHeadingPadding;
        m_list->setColumnWidth(column, std::max(cells->sizeHintForColumn(column) + 8, heading));
        left -= m_list->columnWidth(column);
    }
    const auto wanted = [this](int column) {
        m_list->resizeColumnToContents(column);
        return m_list->columnWidth(column) + 8;
    };
    const int name = wanted(VariantColumn);
    const int mesh = wanted(MeshColumn);
    // Whole where there is room; what differs has the rest, and where it is not shown the name has it.
    const int differs = std::max(cells->sizeHintForColumn(DiffersColumn),
                                 headings.horizontalAdvance(m_list->headerItem()->text(DiffersColumn)) + kHeadingPadding);
    const int most = narrow ? left : std::max(left * 2 / 3, left - differs - 8);
    const int meshWidth = std::min(mesh, std::max(most / 2, most - name));
    m_list->setColumnWidth(MeshColumn, std::max(60, meshWidth));
    m_list->setColumnWidth(VariantColumn, std::max(60, narrow ? most - meshWidth : std::min(name, most - meshWidth)));
}

void VariantsView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    layout()->activate(); // the table has its new width only then
    fitColumns();
}

bool VariantsView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_list->viewport() && event->type() == QEvent::Leave)
        m_comparison->setHovered(CompareView::kNoVariant);
    if (watched == m_list->viewport() && event->type() == QEvent::Resize)
        fitColumns(); // also when the first variant brings the list, or a scroll bar comes
    if (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::MouseButtonRelease)
        m_modifiers = static_cast<QMouseEvent*>(event)->modifiers();
    if (watched == m_list && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const QTreeWidgetItem* item = m_list->currentItem();
        if (key->key() == Qt::Key_Delete && item != nullptr) {
            m_comparison->forget(item->data(MarkColumn, kVariantRole).toInt());
            return true;
        }
        if (key->key() == Qt::Key_Space && item != nullptr) { // as a click does
            const int variant = item->data(MarkColumn, kVariantRole).toInt();
            if (key->modifiers() & Qt::ControlModifier)
                m_comparison->chooseOther(variant);
            else
                m_comparison->chooseShown(variant);
            return true;
        }
        if (key->key() == Qt::Key_F2 && item != nullptr && (item->flags() & Qt::ItemIsEditable)) {
            m_list->editItem(m_list->currentItem(), VariantColumn);
            return true;
        }
    }
    return DocumentView::eventFilter(watched, event);
}

} // namespace shardboard
