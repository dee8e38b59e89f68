// SPDX-License-Identifier: Apache-2.0
#include "widgets/cost/costview.h"

#include "model/plan/hostcopies.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/legend.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/rowdelegate.h"
#include "widgets/tables/tablecopy.h"
#include "widgets/tables/weighthover.h"

#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QScrollBar>
#include <QTreeWidget>

#include <algorithm>
#include <set>

namespace shardboard {

namespace {

enum Column {
    NameColumn,
    ShareColumn,
    TimeColumn,
    ComputeColumn,
    CollectivesColumn,
    ExposedColumn,
    MovedColumn,
    KeptColumn,
    ColumnCount
};
enum Role { kComputeShare = Qt::UserRole, kExposedShare, kSegment, kOperation };
constexpr int kMonoColumns[] = { TimeColumn, ComputeColumn, CollectivesColumn, ExposedColumn, MovedColumn, KeptColumn };

constexpr double kMuch = 0.1; ///< of the step; exposed collectives of more are told in another color
constexpr double kQuiet = 0.25; ///< opacity of the part of a bar that is not shown

void paintWaiting(QPainter& painter, const QRectF& rect, const Theme& theme)
{
    painter.fillRect(rect, theme.attentionFill);
    painter.fillRect(rect, QBrush(theme.attention, Qt::BDiagPattern));
}

/// Rows that have nothing of what the legend shows alone are quiet.
class PartDelegate : public RowDelegate {
public:
    PartDelegate(const QString& shown, QObject* parent)
        : RowDelegate(parent)
        , m_shown(shown)
    {
    }

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override
    {
        RowDelegate::initStyleOption(option, index);
        const QModelIndex share = index.siblingAtColumn(ShareColumn);
        if ((shows("waits") || share.data(kComputeShare).toDouble() > 0)
            && (shows("computes") || share.data(kExposedShare).toDouble() > 0))
            return;
        const Theme& theme = Theme::of(option->widget);
        for (const QPalette::ColorRole role : { QPalette::Text, QPalette::HighlightedText })
            option->palette.setColor(role, blended(theme.panel, theme.quiet, 0.5));
    }
    /// Everything, or this alone.
    bool shows(const char* key) const { return m_shown.isEmpty() || m_shown == QLatin1String(key); }

private:
    const QString& m_shown;
};

/// A bar as long as the share of the step: computing filled, waiting for collectives hatched behind it.
class ShareDelegate : public PartDelegate {
public:
    using PartDelegate::PartDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        RowDelegate::paint(painter, option, index);
        const Theme& theme = Theme::of(option.widget);
        const QRect track = option.rect.adjusted(8, 0, -8, 0);
        const double compute = index.data(kComputeShare).toDouble();
        const double exposed = index.data(kExposedShare).toDouble();
        const int height = 8;
        const QRectF bar(track.left(), track.center().y() - height / 2, track.width(), height);
        painter->save();
        painter->setPen(Qt::NoPen);
        painter->fillRect(bar, theme.track);
        const QRectF left(bar.left(), bar.top(), bar.width() * std::clamp(compute, 0.0, 1.0), height);
        painter->setOpacity(shows("computes") ? 1 : kQuiet);
        painter->fillRect(left, theme.accent);
        painter->setOpacity(shows("waits") ? 1 : kQuiet);
        const QRectF right(left.right(), bar.top(), bar.width() * std::clamp(exposed, 0.0, 1.0 - std::clamp(compute, 0.0, 1.0)),
                           height);
        paintWaiting(*painter, right, theme);
        painter->restore();
    }
};

bool hasRow(const OperationCost& operation) { return operation.compute > 0 || operation.collectives > 0; }
/// Of the operations before this one, those that have a row.
int rowOf(const PartCost& part, std::size_t operation)
{
    return static_cast<int>(
        std::count_if(part.operations.begin(), part.operations.begin() + static_cast<std::ptrdiff_t>(operation), hasRow));
}

QString orDash(double seconds) { return seconds > 0 ? secondsText(seconds) : QStringLiteral("–"); }
QString bytesOrDash(std::int64_t bytes) { return bytes > 0 ? bytesText(bytes) : QStringLiteral("–"); }

QVariant shareCell(double compute, double exposed, bool toolTip, int role)
{
    const QString all = percentText(compute + exposed);
    switch (role) {
    case kComputeShare:
        return compute;
    case kExposedShare:
        return exposed;
    case Qt::AccessibleTextRole:
        return all;
    case Qt::ToolTipRole:
        return toolTip ? CostView::tr("%1 of the step: %2 computing, %3 waiting for collectives or the host")
                             .arg(all, percentText(compute), percentText(exposed))
                       : QVariant();
    default:
        return {};
    }
}

} // namespace

/// A part, or one of its operations: it shows what the view has of it at the time.
class CostRow : public QTreeWidgetItem {
public:
    CostRow(const CostView& shownIn, std::size_t part, int operation)
        : m_view(shownIn)
        , m_part(part)
        , m_operation(operation)
    {
    }
    QVariant data(int column, int role) const override { return m_view.cell(m_part, m_operation, column, role); }

private:
    const CostView& m_view;
    std::size_t m_part;
    int m_operation; ///< index into those of the part; -1: the part itself
};

CostView::CostView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_tree(new QTreeWidget(this))
    , m_total(new ElidedLabel(this))
    , m_empty(new QLabel(this))
    , m_legend(new Legend(this))
{
    nameView("costView", tr("Cost"));
    m_total->setObjectName(QStringLiteral("costTotal"));
    m_empty->setObjectName(QStringLiteral("costEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    nameWidget(m_tree, "costTree", tr("Cost of each part of the model"));
    m_tree->setColumnCount(ColumnCount);
    m_tree->setHeaderLabels(
        { tr("part"), tr("share"), tr("time"), tr("compute"), tr("collectives"), tr("exposed"), tr("moved"), tr("kept") });
    const std::pair<int, QString> tips[] = {
        { ShareColumn, tr("Share of the step. Filled: computing. Hatched: in collectives while nothing is computed") },
        { TimeColumn, tr("Of a step on one device, all its layers and micro-batches: compute and exposed collectives") },
        { CollectivesColumn, tr("Time in collectives, hidden or not") },
        { ExposedColumn,
          tr("Time in collectives, and in copies to and from the host, in which the devices do not compute (Design ▸ Workload ▸ "
             "Overlap)") },
        { MovedColumn, tr("Bytes of its collectives (their larger side) on one device in a step") },
        { KeptColumn,
          tr("Activations that its layers save for the backward pass, for one micro-batch; those that are offloaded lie in the "
             "host") }
    };
    for (const auto& [column, tip] : tips)
        m_tree->headerItem()->setToolTip(column, tip);
    for (const int column : kMonoColumns)
        m_tree->headerItem()->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    m_tree->setItemDelegate(new PartDelegate(m_shown, m_tree));
    m_tree->setItemDelegateForColumn(ShareColumn, new ShareDelegate(m_shown, m_tree));
    m_tree->setTextElideMode(Qt::ElideMiddle);
    m_tree->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_tree->setIndentation(16);
    m_tree->header()->setMinimumSectionSize(40);
    m_tree->header()->setStretchLastSection(false);
    m_tree->header()->setSectionsMovable(false);
    makeCopyable(m_tree);
    new WeightHover(m_tree, selection(), [this](const QModelIndex& index) {
        const auto evaluation = this->document()->evaluation();
        const QModelIndex name = index.siblingAtColumn(NameColumn);
        const PlannedSegmentId segment(name.data(kSegment).toInt());
        const PlannedOpId operation(name.data(kOperation).toInt());
        if (!evaluation || segment >= evaluation->plan.segments.size())
            return std::vector<int>();
        const auto& ops = evaluation->plan.segment(segment).ops;
        const int weight = operation < ops.size() ? weightOfOp(*evaluation, ops[operation].op) : -1;
        return weight < 0 ? std::vector<int>() : std::vector<int> { weight };
    });
    auto* top = new QHBoxLayout;
    top->setContentsMargins(kPanelMargin, 6, kPanelMargin, 6);
    top->addWidget(m_total, 1);
    m_legend->setObjectName(QStringLiteral("costLegend"));
    m_legend->setEntries({ { QStringLiteral("computes"), tr("computes"), tr("Share of the step in which the devices compute"),
                             [](QPainter& painter, const QRectF& rect, const QWidget* widget) {
                                 painter.fillRect(rect, Theme::of(widget).accent);
                             } },
                           { QStringLiteral("waits"), tr("waits for collectives or the host, nothing is computed"),
                             tr("Hatched: collectives, and copies to and from the host, that nothing hides"),
                             [](QPainter& painter, const QRectF& rect, const QWidget* widget) {
                                 paintWaiting(painter, rect, Theme::of(widget));
                             } } });
    connect(m_legend, &Legend::chosenChanged, this, [this](const QString& key) {
        m_shown = key;
        m_tree->viewport()->update();
    });
    auto* legend = new QHBoxLayout;
    legend->setContentsMargins(kPanelMargin - 6, 0, kPanelMargin, 2);
    legend->addWidget(m_legend);
    legend->addStretch(1);
    auto* tree = new QHBoxLayout;
    tree->setContentsMargins(8, 0, 8, 0);
    tree->addWidget(m_tree);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addLayout(top);
    column->addLayout(tree, 1);
    column->addLayout(legend);
    column->addWidget(m_empty, 1);
    connect(m_tree, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) { choose(item); });
    start();
}

QSize CostView::sizeHint() const { return { 720, 240 }; }

void CostView::refresh()
{
    const Theme& theme = Theme::of(this);
    setTextColor(m_total, theme.quiet);
    setTextColor(m_empty, theme.quiet);
    m_bold = uiFont(this, 0, true);
    m_digits = monoFont(this, -0.5);
    m_following = true;
    // Rows look up what they show, so that all of it changes before anything else does.
    m_evaluation = document()->evaluation();
    const bool plan = m_evaluation && !m_evaluation->plan.segments.empty();
    m_parts = plan ? partCosts(m_evaluation->graph, m_evaluation->plan) : std::vector<PartCost>();
    if (std::vector<QStringList> names = rowNames(); names != m_names) {
        const std::vector<QStringList> before = std::exchange(m_names, std::move(names));
        makeRows(before);
    }
    m_tree->setVisible(plan);
    m_total->setVisible(plan);
    m_legend->setVisible(plan);
    m_empty->setVisible(!plan);
    m_empty->setText(!m_evaluation ? tr("No design is open.")
                                   : tr("There is no plan to price: this model is open as weights only."));
    renewRows();
    if (plan)
        showTotal();
    m_following = false;
    fitColumns();
    selectionChanged();
}

void CostView::showTotal()
{
    const Plan& plan = m_evaluation->plan;
    const Performance& performance = plan.performance;
    QStringList parts { tr("step %1").arg(secondsText(plan.seconds())) };
    const DeviceStep& device = plan.device;
    const bool host = hostCopySeconds(m_evaluation->graph, plan) > 0;
    QString sum = (host ? tr("compute %1 + exposed collectives and host copies %2") : tr("compute %1 + exposed collectives %2"))
                      .arg(secondsText(device.compute), secondsText(device.exposed));
    if (plan.pipeline)
        sum += tr(" + bubble %1 (%2 of the step)")
                   .arg(secondsText(device.bubble), percentText(plan.seconds() > 0 ? device.bubble / plan.seconds() : 0));
    parts << sum;
    if (performance.tokensPerSecondPerDevice > 0)
        parts << tr("%1 tok/s/device").arg(digitsText(performance.tokensPerSecondPerDevice));
    if (performance.mfu > 0)
        parts << tr("MFU %1").arg(percentText(performance.mfu));
    if (performance.hfu > performance.mfu)
        parts << tr("HFU %1").arg(percentText(performance.hfu));
    m_total->setText(parts.join(QStringLiteral(" · ")));
}

/// Of each part, and of its operations that take time.
std::vector<QStringList> CostView::rowNames() const
{
    const bool phases = std::any_of(m_parts.begin(), m_parts.end(), [](const PartCost& it) { return it.phase != Phase::Forward; });
    std::vector<QStringList> out;
    for (const PartCost& part : m_parts) {
        QString name = qstr(part.name);
        if (part.layers > 1)
            name += QStringLiteral(" × %1").arg(part.layers);
        if (phases && part.plannedSegment.valid())
            name += QStringLiteral(" · ") + qstr(phaseName(part.phase));
        QStringList& names = out.emplace_back(QStringList { name });
        for (const OperationCost& operation : part.operations)
            if (hasRow(operation))
                names << qstr(m_evaluation->graph.op(operation.op).name);
    }
    return out;
}

/// Those of before stay as long as they are of the same parts and operations, which they are after most edits.
void CostView::makeRows(const std::vector<QStringList>& before)
{
    std::set<QString> open; // unfolded parts stay so
    for (int i = 0; i < m_tree->topLevelItemCount() && i < static_cast<int>(before.size()); ++i)
        if (m_tree->topLevelItem(i)->isExpanded())
            open.insert(before[static_cast<std::size_t>(i)].first());
    m_tree->clear();
    for (std::size_t i = 0; i < m_parts.size(); ++i) {
        auto* part = new CostRow(*this, i, -1);
        const std::vector<OperationCost>& operations = m_parts[i].operations;
        for (std::size_t k = 0; k < operations.size(); ++k)
            if (hasRow(operations[k]))
                part->addChild(new CostRow(*this, i, static_cast<int>(k)));
        m_tree->addTopLevelItem(part);
        part->setExpanded(open.contains(m_names[i].first()));
    }
}

/// Rows look up what they show: the tree is told at once that all of it may be another.
void CostView::renewRows()
{
    QAbstractItemModel* model = m_tree->model();
    const auto tell = [model](const QModelIndex& parent) {
        if (const int rows = model->rowCount(parent); rows > 0)
            Q_EMIT model->dataChanged(model->index(0, 0, parent), model->index(rows - 1, ColumnCount - 1, parent));
    };
    tell({});
    for (int i = 0; i < m_tree->topLevelItemCount(); ++i)
        tell(model->index(i, 0));
}

QVariant CostView::cell(std::size_t part, int operation, int column, int role) const
{
    if (part >= m_parts.size()) // the tree looks while it is emptied
        return {};
    const PartCost& of = m_parts[part];
    const auto index = static_cast<std::size_t>(operation);
    if (operation >= 0 && index >= of.operations.size())
        return {};
    const bool digits = std::ranges::find(kMonoColumns, column) != std::end(kMonoColumns);
    if (role == Qt::TextAlignmentRole && digits)
        return int(Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::FontRole && digits)
        return m_digits;
    if (role == Qt::FontRole && operation < 0)
        return m_bold;
    if (column == NameColumn && (role == Qt::DisplayRole || role == Qt::ToolTipRole))
        return m_names[part][operation < 0 ? 0 : rowOf(of, index) + 1];
    return operation < 0 ? partCell(of, m_names[part].front(), column, role)
                         : operationCell(of, of.operations[index], column, role);
}

QVariant CostView::partCell(const PartCost& part, const QString& name, int column, int role) const
{
    // Of a pipeline the step is one device's, and so is what it has of the part.
    const double device = part.device;
    const auto bytesOnDevice = [device](std::int64_t bytes) { return qRound64(static_cast<double>(bytes) * device); };
    const double step = m_evaluation->plan.seconds();
    const double share = step > 0 ? device / step : 0;
    switch (column) {
    case NameColumn:
        switch (role) {
        case Qt::AccessibleTextRole:
            return name;
        case kSegment:
            return part.plannedSegment.number();
        case kOperation:
            return -1;
        default:
            return {};
        }
    case ShareColumn:
        return shareCell(part.compute * share, part.exposed * share, true, role);
    case TimeColumn:
        return role == Qt::DisplayRole ? orDash(part.seconds() * device) : QVariant();
    case ComputeColumn:
        return role == Qt::DisplayRole ? orDash(part.compute * device) : QVariant();
    case CollectivesColumn: {
        if (role != Qt::DisplayRole)
            return {};
        const double host = part.plannedSegment.valid() ? m_evaluation->plan.segment(part.plannedSegment).host.seconds : 0;
        return orDash((part.collectives - host) * device);
    }
    case ExposedColumn:
        if (role == Qt::ForegroundRole && part.exposed * share > kMuch)
            return QBrush(Theme::of(this).attention);
        return role == Qt::DisplayRole ? orDash(part.exposed * device) : QVariant();
    default: {
        const std::int64_t bytes = bytesOnDevice(column == MovedColumn ? part.moved : part.kept);
        return role == Qt::DisplayRole ? bytesOrDash(bytes) : role == Qt::ToolTipRole ? exactBytesText(bytes) : QVariant();
    }
    }
}

QVariant CostView::operationCell(const PartCost& part, const OperationCost& operation, int column, int role) const
{
    const double step = m_evaluation->plan.seconds();
    const double share = step > 0 ? part.device / step : 0;
    if (role == Qt::ForegroundRole && column > ShareColumn) {
        const Theme& theme = Theme::of(this);
        return QBrush(column == ExposedColumn && operation.exposed * share > kMuch ? theme.attention : theme.quiet);
    }
    if (column == NameColumn)
        return role == kSegment  ? QVariant(part.plannedSegment.number())
            : role == kOperation ? QVariant(operation.index.number())
                                 : QVariant();
    if (column == ShareColumn)
        return shareCell(operation.compute * share, operation.exposed * share, false, role);
    if (column == CollectivesColumn && role == Qt::ToolTipRole) {
        QStringList moves;
        for (const CollectiveId move : operation.moves) {
            const Collective& collective = m_evaluation->plan.collective(move);
            moves << tr("%1, %2: %3")
                         .arg(qstr(collectiveName(collective.kind)), bytesText(collective.bytes),
                              secondsText(collective.seconds * static_cast<double>(collective.count) * part.device));
        }
        return moves.join(QLatin1Char('\n'));
    }
    if (role != Qt::DisplayRole)
        return {};
    switch (column) {
    case TimeColumn:
        return orDash(operation.seconds() * part.device);
    case ComputeColumn:
        return orDash(operation.compute * part.device);
    case CollectivesColumn:
        return orDash(operation.collectives * part.device);
    case ExposedColumn:
        return orDash(operation.exposed * part.device);
    default:
        return {};
    }
}

void CostView::choose(const QTreeWidgetItem* item)
{
    if (m_following || !item || item->data(NameColumn, kOperation).toInt() < 0)
        return;
    m_following = true;
    selection()->setOperation(PlannedSegmentId(item->data(NameColumn, kSegment).toInt()),
                              PlannedOpId(item->data(NameColumn, kOperation).toInt()));
    m_following = false;
}

void CostView::selectionChanged()
{
    if (m_following)
        return;
    m_following = true;
    PlannedSegmentId segment = selection()->segment();
    PlannedOpId operation = selection()->operation();
    if (const Collective* collective = selectedCollective(*document())) {
        segment = collective->plannedSegment;
        const auto& ops = document()->evaluation()->plan.segment(segment).ops;
        const auto op = std::find_if(ops.begin(), ops.end(), [&](const PlannedOp& it) { return it.op == collective->op; });
        operation = op == ops.end() ? PlannedOpId {} : PlannedOpId(op - ops.begin());
    }
    QTreeWidgetItem* found = nullptr;
    for (int i = 0; i < m_tree->topLevelItemCount() && operation.valid(); ++i)
        for (int k = 0; k < m_tree->topLevelItem(i)->childCount(); ++k) {
            QTreeWidgetItem* item = m_tree->topLevelItem(i)->child(k);
            if (item->data(NameColumn, kSegment).toInt() == segment.number()
                && item->data(NameColumn, kOperation).toInt() == operation.number())
                found = item;
        }
    if (found && found->parent()->isExpanded()) {
        m_tree->setCurrentItem(found);
        m_tree->scrollToItem(found);
    } else if (found) {
        m_tree->setCurrentItem(found->parent()); // does not unfold by itself
    } else {
        m_tree->setCurrentItem(nullptr);
    }
    m_following = false;
}

/// Numbers as wide as they are; the name and the bar share what is left, and where there is little the last columns go.
void CostView::fitColumns()
{
    int name = 0; // whole names before long bars, and before the last columns
    for (int i = 0; i < m_tree->topLevelItemCount(); ++i) {
        const QTreeWidgetItem* item = m_tree->topLevelItem(i);
        name = std::max(
            name, QFontMetrics(item->font(NameColumn)).horizontalAdvance(item->text(NameColumn)) + m_tree->indentation() + 28);
    }
    const int leastName = std::clamp(name, static_cast<int>(150 * textScale(this)), static_cast<int>(220 * textScale(this)));
    const int leastBar = m_tree->header()->sectionSizeHint(ShareColumn);
    const bool kept = std::any_of(m_parts.begin(), m_parts.end(), [](const PartCost& part) { return part.kept > 0; });
    int others = 0;
    for (const int column : kMonoColumns) {
        m_tree->setColumnHidden(column, column == KeptColumn && !kept);
        if (m_tree->isColumnHidden(column))
            continue;
        m_tree->resizeColumnToContents(column);
        others += m_tree->columnWidth(column);
    }
    // With room for the scroll bar, which comes and goes as parts are unfolded.
    const int room = std::min(m_tree->viewport()->width(),
                              m_tree->width() - 2 * m_tree->frameWidth() - m_tree->verticalScrollBar()->sizeHint().width());
    for (const int column : { MovedColumn, CollectivesColumn, KeptColumn, ComputeColumn })
        if (room - others < leastName + leastBar && !m_tree->isColumnHidden(column)) {
            others -= m_tree->columnWidth(column);
            m_tree->setColumnHidden(column, true);
        }
    const int left = std::max(room - others, leastBar);
    const int bar = std::clamp(std::min(left * 45 / 100, left - name), leastBar, std::max(260, leastBar));
    m_tree->setColumnWidth(ShareColumn, bar);
    m_tree->setColumnWidth(NameColumn, left - bar);
}

void CostView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    layout()->activate(); // the tables have their new width only then
    fitColumns();
}

} // namespace shardboard
