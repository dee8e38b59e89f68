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
enum Role { kComputeShare = Qt::UserRole, kExposedShare, kSegment, kOperation, kCollective };
constexpr int kMonoColumns[] = { TimeColumn, ComputeColumn, CollectivesColumn, ExposedColumn, MovedColumn, KeptColumn };

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

QString orDash(double seconds) { return seconds > 0 ? secondsText(seconds) : QStringLiteral("–"); }
QString bytesOrDash(std::int64_t bytes) { return bytes > 0 ? bytesText(bytes) : QStringLiteral("–"); }

} // namespace

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
    std::set<std::pair<QString, int>> open; // unfolded parts stay so
    for (int i = 0; i < m_tree->topLevelItemCount(); ++i)
        if (m_tree->topLevelItem(i)->isExpanded())
            open.emplace(m_tree->topLevelItem(i)->data(NameColumn, Qt::AccessibleTextRole).toString(), i);
    m_following = true;
    m_tree->clear();
    m_parts.clear();
    const auto evaluation = document()->evaluation();
    const bool plan = evaluation && !evaluation->plan.segments.empty();
    m_tree->setVisible(plan);
    m_total->setVisible(plan);
    m_legend->setVisible(plan);
    m_empty->setVisible(!plan);
    m_empty->setText(!evaluation ? tr("No design is open.") : tr("There is no plan to price: this model is open as weights only."));
    if (plan) {
        m_parts = partCosts(evaluation->graph, evaluation->plan);
        for (const PartCost& part : m_parts)
            addPart(part, evaluation->plan.seconds());
        for (int i = 0; i < m_tree->topLevelItemCount(); ++i)
            m_tree->topLevelItem(i)->setExpanded(
                open.contains({ m_tree->topLevelItem(i)->data(NameColumn, Qt::AccessibleTextRole).toString(), i }));
        showTotal();
    }
    m_following = false;
    fitColumns();
    selectionChanged();
}

void CostView::showTotal()
{
    const auto evaluation = document()->evaluation();
    const Plan& plan = evaluation->plan;
    const Performance& performance = plan.performance;
    QStringList parts { tr("step %1").arg(secondsText(plan.seconds())) };
    const DeviceStep& device = plan.device;
    const bool host = hostCopySeconds(evaluation->graph, plan) > 0;
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

void CostView::addPart(const PartCost& part, double step)
{
    const Theme& theme = Theme::of(this);
    auto* item = new QTreeWidgetItem(m_tree);
    const bool phases = std::any_of(m_parts.begin(), m_parts.end(), [](const PartCost& it) { return it.phase != Phase::Forward; });
    QString name = qstr(part.name);
    if (part.layers > 1)
        name += QStringLiteral(" × %1").arg(part.layers);
    if (phases && part.plannedSegment.valid())
        name += QStringLiteral(" · ") + qstr(phaseName(part.phase));
    item->setText(NameColumn, name);
    item->setToolTip(NameColumn, name);
    item->setData(NameColumn, Qt::AccessibleTextRole, name);
    item->setData(NameColumn, kSegment, part.plannedSegment.number());
    item->setData(NameColumn, kOperation, -1);
    item->setFont(NameColumn, uiFont(this, 0, true));
    // Of a pipeline the step is one device's, and so is what it has of the part.
    const double device = part.device;
    const auto bytesOnDevice = [device](std::int64_t bytes) { return qRound64(static_cast<double>(bytes) * device); };
    const double share = step > 0 ? device / step : 0;
    item->setData(ShareColumn, kComputeShare, part.compute * share);
    item->setData(ShareColumn, kExposedShare, part.exposed * share);
    item->setData(ShareColumn, Qt::AccessibleTextRole, percentText(part.seconds() * share));
    item->setToolTip(
        ShareColumn,
        tr("%1 of the step: %2 computing, %3 waiting for collectives or the host")
            .arg(percentText(part.seconds() * share), percentText(part.compute * share), percentText(part.exposed * share)));
    item->setText(TimeColumn, orDash(part.seconds() * device));
    item->setText(ComputeColumn, orDash(part.compute * device));
    const double host = part.plannedSegment.valid() ? document()->evaluation()->plan.segment(part.plannedSegment).host.seconds : 0;
    item->setText(CollectivesColumn, orDash((part.collectives - host) * device));
    item->setText(ExposedColumn, orDash(part.exposed * device));
    item->setText(MovedColumn, bytesOrDash(bytesOnDevice(part.moved)));
    item->setText(KeptColumn, bytesOrDash(bytesOnDevice(part.kept)));
    item->setToolTip(MovedColumn, exactBytesText(bytesOnDevice(part.moved)));
    item->setToolTip(KeptColumn, exactBytesText(bytesOnDevice(part.kept)));
    if (part.exposed * share > 0.1)
        item->setForeground(ExposedColumn, theme.attention);
    for (const int column : kMonoColumns) {
        item->setFont(column, monoFont(this, -0.5));
        item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    }
    for (const OperationCost& operation : part.operations)
        if (operation.compute > 0 || operation.collectives > 0)
            addOperation(item, part, operation, step);
}

void CostView::addOperation(QTreeWidgetItem* parent, const PartCost& part, const OperationCost& operation, double step)
{
    const auto evaluation = document()->evaluation();
    const Theme& theme = Theme::of(this);
    auto* item = new QTreeWidgetItem(parent);
    const std::string& name = evaluation->graph.op(operation.op).name;
    item->setText(NameColumn, qstr(name));
    item->setToolTip(NameColumn, qstr(name));
    item->setData(NameColumn, kSegment, part.plannedSegment.number());
    item->setData(NameColumn, kOperation, operation.index.number());
    item->setData(NameColumn, kCollective, operation.moves.empty() ? -1 : operation.moves.front().number());
    const double share = step > 0 ? part.device / step : 0;
    item->setData(ShareColumn, kComputeShare, operation.compute * share);
    item->setData(ShareColumn, kExposedShare, operation.exposed * share);
    item->setData(ShareColumn, Qt::AccessibleTextRole, percentText(operation.seconds() * share));
    item->setText(TimeColumn, orDash(operation.seconds() * part.device));
    item->setText(ComputeColumn, orDash(operation.compute * part.device));
    item->setText(CollectivesColumn, orDash(operation.collectives * part.device));
    item->setText(ExposedColumn, orDash(operation.exposed * part.device));
    QStringList moves;
    for (const CollectiveId move : operation.moves) {
        const Collective& collective = evaluation->plan.collective(move);
        moves << tr("%1, %2: %3")
                     .arg(qstr(collectiveName(collective.kind)), bytesText(collective.bytes),
                          secondsText(collective.seconds * static_cast<double>(collective.count) * part.device));
    }
    item->setToolTip(CollectivesColumn, moves.join(QLatin1Char('\n')));
    for (const int column : kMonoColumns) {
        item->setFont(column, monoFont(this, -0.5));
        item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
        item->setForeground(column, theme.quiet);
    }
    if (operation.exposed * share > 0.1)
        item->setForeground(ExposedColumn, theme.attention);
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
