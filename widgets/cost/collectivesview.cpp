// SPDX-License-Identifier: Apache-2.0
#include "widgets/cost/collectivesview.h"

#include "model/plan/hostcopies.h"
#include "model/plan/pipeline.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/cost/collectivesmodel.h"
#include "widgets/edits/pickermenu.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"
#include "widgets/tables/weighthover.h"

#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QScopeGuard>
#include <QSignalBlocker>
#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <QTableView>

#include <algorithm>
#include <map>

namespace shardboard {

namespace {

constexpr int kNarrow = 700; ///< below this width the size of the group is left to the tool tip
constexpr int kWidestTensor = 200; ///< so that bytes, time and cause stay in sight
constexpr int kLeastTensor = 112;
constexpr int kWidestAxes = 100;
constexpr int kCellPadding = 28;
constexpr int kSpare = 12; ///< of the 40 pixels that frame and scroll bar are counted with
constexpr int kHeadingPadding = 24; ///< without room for a sort arrow
constexpr std::array kNumbers { CollectivesModel::TimeColumn, CollectivesModel::BytesColumn, CollectivesModel::CountColumn };
constexpr int kCause = 170; ///< what the cause needs to say something

/// Names of tensors without what all layers share, and with their ends when there is no room: what differs is there.
class TensorDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QString displayText(const QVariant& value, const QLocale&) const override
    {
        QString name = value.toString();
        if (const qsizetype from = name.indexOf(QLatin1String(" from ")); name.startsWith(QLatin1String("grad of ")) && from > 0)
            name.truncate(from); // the cause says what made it
        return name.remove(QStringLiteral("model.layers.*.")).remove(QStringLiteral(".weight"));
    }

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override
    {
        QStyledItemDelegate::initStyleOption(option, index);
        option->textElideMode = Qt::ElideMiddle;
    }
};

} // namespace

/// Rows that have a text in any column and are of a phase.
class PhaseFilter : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void setPhase(int phase) ///< -1: all
    {
        m_phase = phase;
        invalidateFilter();
    }

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override
    {
        if (m_phase >= 0 && sourceModel()->index(row, 0, parent).data(CollectivesModel::kPhaseRole).toInt() != m_phase)
            return false;
        return QSortFilterProxyModel::filterAcceptsRow(row, parent);
    }

private:
    int m_phase = -1;
};

CollectivesView::CollectivesView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_model(new CollectivesModel(this))
    , m_filter(new PhaseFilter(this))
    , m_picker(new PickerButton(document, this))
    , m_filterEdit(new QLineEdit(this))
    , m_phase(new ChoiceBox(false, this))
    , m_table(new QTableView(this))
    , m_total(new ElidedLabel(this))
    , m_empty(new QLabel(this))
{
    nameView("collectivesView", tr("Collectives"));
    m_filter->setSourceModel(m_model);
    m_filter->setSortRole(CollectivesModel::kSortRole);
    m_filter->setFilterKeyColumn(-1);
    m_filter->setFilterCaseSensitivity(Qt::CaseInsensitive);
    nameWidget(m_table, "collectivesTable", tr("Collectives"));
    m_table->setModel(m_filter);
    m_table->setItemDelegateForColumn(CollectivesModel::TensorColumn, new TensorDelegate(m_table));
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(-1, Qt::AscendingOrder); // execution order until a header is clicked
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setMinimumSectionSize(40);
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->setTabKeyNavigation(false);
    m_table->installEventFilter(this);
    makeCopyable(m_table);
    new WeightHover(m_table, selection(), [this](const QModelIndex& index) {
        const auto evaluation = this->document()->evaluation();
        const int row = m_filter->mapToSource(index).row();
        if (!evaluation || row < 0 || row >= static_cast<int>(evaluation->plan.collectives.size()))
            return std::vector<int>();
        const int weight = weightOfCollective(*evaluation, evaluation->plan.collectives[static_cast<std::size_t>(row)]);
        return weight < 0 ? std::vector<int>() : std::vector<int> { weight };
    });
    nameWidget(m_filterEdit, "collectivesFilter", tr("Filter of the collectives"));
    m_filterEdit->setPlaceholderText(tr("Filter"));
    m_filterEdit->setToolTip(tr("Shows the collectives that have this text in any column"));
    m_filterEdit->setClearButtonEnabled(true);
    m_filterEdit->setMinimumWidth(90);
    m_filterEdit->setMaximumWidth(180);
    m_filterEdit->installEventFilter(this);
    nameWidget(m_phase, "collectivesPhase", tr("Phase of the collectives"), tr("Shows the collectives of one phase of the step"));
    m_total->setObjectName(QStringLiteral("collectivesTotal"));
    m_empty->setObjectName(QStringLiteral("collectivesEmpty"));
    m_empty->setTextFormat(Qt::RichText); // it has a link
    m_empty->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    connect(m_empty, &QLabel::linkActivated, m_filterEdit, &QLineEdit::clear);
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 8);
    top->addWidget(m_total, 1);
    top->addWidget(m_picker);
    top->addWidget(m_phase);
    top->addWidget(m_filterEdit);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addLayout(top);
    auto* table = new QHBoxLayout;
    table->setContentsMargins(8, 0, 8, 0);
    table->addWidget(m_table);
    column->addLayout(table, 1);
    column->addWidget(m_empty, 1);
    connect(m_filterEdit, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_filter->setFilterFixedString(text);
        showState();
    });
    connect(m_picker, &PickerButton::refused, this, &CollectivesView::pickerRefused);
    connect(m_phase, &ChoiceBox::currentIndexChanged, this, [this] {
        m_filter->setPhase(m_phase->currentIndex() <= 0 ? -1 : m_phase->currentData().toInt());
        showState();
    });
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
        const QModelIndex current = m_filter->mapToSource(m_table->currentIndex());
        if (m_following || !current.isValid() || !m_table->selectionModel()->isSelected(m_table->currentIndex()))
            return;
        m_following = true;
        selection()->setCollective(CollectiveId(current.row()));
        m_following = false;
    });
    start();
}

QSize CollectivesView::sizeHint() const { return { 720, 240 }; }

void CollectivesView::refresh()
{
    const Theme& theme = Theme::of(this);
    m_following = true;
    m_model->setEvaluation(document()->evaluation(), theme.quiet, theme.attention, monoFont(this, -0.5), document()->notation());
    m_following = false;
    showPhases();
    const QString sizeFor = document()->hasDesign()
        ? qstr(document()->design().model.name) + (m_phase->count() > 2 ? QStringLiteral(" phases") : QString())
        : QString();
    if (sizeFor != m_sizedFor && m_model->rowCount() > 0) { // once; afterwards the widths are the user's
        fitColumns();
        m_sizedFor = sizeFor;
    } else if (!m_narrowed.empty() && m_digits != digitsOfNumbers()) {
        showGroups(); // to numbers that were shorter or longer
    }
    m_table->horizontalHeader()->setFont(uiFont(this, -1));
    m_table->verticalHeader()->setDefaultSectionSize(rowHeight(m_table));
    showState();
    selectionChanged();
    m_table->doItemsLayout(); // now: later it would be painted twice
}

/// The phases that the plan has; inference has one and needs no column for it.
void CollectivesView::showPhases()
{
    const auto evaluation = document()->evaluation();
    std::vector<Phase> phases;
    if (evaluation)
        for (const PlannedSegment& segment : evaluation->plan.segments)
            if (std::find(phases.begin(), phases.end(), segment.phase) == phases.end())
                phases.push_back(segment.phase);
    if (m_phases == phases && m_phaseFont == font())
        return;
    m_phases = phases;
    m_phaseFont = font();
    const bool several = phases.size() > 1;
    m_table->setColumnHidden(CollectivesModel::PhaseColumn, !several);
    m_phase->setVisible(several);
    const int before = m_phase->currentIndex() <= 0 ? -1 : m_phase->currentData().toInt();
    {
        const QSignalBlocker blocker(m_phase);
        m_phase->clear();
        m_phase->addItem(tr("All phases"));
        for (const Phase phase : phases)
            m_phase->addItem(qstr(phaseName(phase)), static_cast<int>(phase));
        m_phase->setFixedWidth(m_phase->widestEntry());
        m_phase->setCurrentIndex(std::max(0, several && before >= 0 ? m_phase->findData(before) : 0));
    }
    m_filter->setPhase(m_phase->currentIndex() <= 0 ? -1 : m_phase->currentData().toInt());
}

/// As narrow as headings and cells allow, without room for a sort arrow in each: the cause gets what is left.
void CollectivesView::fitColumns()
{
    const QFontMetrics heading(uiFont(this, -1));
    const QAbstractItemView* cells = m_table;
    const QFontMetrics number(monoFont(this, -0.5)); // what another plan may need
    const std::map<int, QString> widest { { CollectivesModel::BytesColumn, QStringLiteral("0.000 GiB") },
                                          { CollectivesModel::CountColumn, QStringLiteral("00,000") },
                                          { CollectivesModel::TimeColumn, QStringLiteral("0.000 ms") } };
    for (int column = 0; column < CollectivesModel::CauseColumn; ++column) {
        const QString text = m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        int width = std::max(cells->sizeHintForColumn(column), heading.horizontalAdvance(text) + kHeadingPadding);
        if (const auto known = widest.find(column); known != widest.end())
            width = std::max(width, number.horizontalAdvance(known->second) + kCellPadding);
        if (column == CollectivesModel::TensorColumn)
            width = m_wantedTensor = std::min(width, kWidestTensor);
        if (column == CollectivesModel::AxisColumn)
            width = std::min(width,
                             std::max(static_cast<int>(kWidestAxes * std::max(1.0, textScale(this))),
                                      heading.horizontalAdvance(text) + kHeadingPadding));
        m_table->setColumnWidth(column, width);
    }
    m_table->setColumnWidth(CollectivesModel::CauseColumn, 40);
    showGroups();
}

/// The tool tip has the size of the group too, so it is the first to go where the cause has no room.
void CollectivesView::showGroups()
{
    // The box above filters by phase where the column has no room.
    m_table->setColumnHidden(CollectivesModel::PhaseColumn, !m_phases || m_phases->size() < 2 || width() < kNarrow);
    for (const int column : { CollectivesModel::CauseColumn, CollectivesModel::CountColumn, CollectivesModel::TensorColumn })
        m_table->setColumnHidden(column, false);
    // The last column in sight is stretched, and Qt takes that for its width until it has laid the cells out.
    m_table->horizontalHeader()->setStretchLastSection(false);
    const auto stretchAgain = qScopeGuard([this] { m_table->horizontalHeader()->setStretchLastSection(true); });
    for (const auto& [column, widths] : std::exchange(m_narrowed, {}))
        if (m_table->columnWidth(column) == widths.second) // and no person has sized it since
            m_table->setColumnWidth(column, widths.first);
    int others = 0;
    for (int column = 0; column < CollectivesModel::CauseColumn; ++column)
        if (column != CollectivesModel::GroupColumn
            && !(column == CollectivesModel::PhaseColumn && m_table->isColumnHidden(column)))
            others += m_table->columnWidth(column);
    // Then the tensor's name gives way, which is elided in its middle.
    if (m_wantedTensor > 0) {
        const int rest = others - m_table->columnWidth(CollectivesModel::TensorColumn);
        m_table->setColumnWidth(CollectivesModel::TensorColumn,
                                std::clamp(width() - 40 - rest - kCause, std::min(kLeastTensor, m_wantedTensor), m_wantedTensor));
        others = rest + m_table->columnWidth(CollectivesModel::TensorColumn);
    }
    const QFontMetrics heading(uiFont(this, -1));
    const int group =
        heading.horizontalAdvance(m_model->headerData(CollectivesModel::GroupColumn, Qt::Horizontal, Qt::DisplayRole).toString())
        + 20;
    m_table->setColumnHidden(CollectivesModel::GroupColumn, width() < kNarrow || width() - 40 - others - group < kCause);
    // At last what is said elsewhere too: the cause on a row's tool tip, times a step, the tensor.
    int left = width() - 40 - others;
    if (!m_table->isColumnHidden(CollectivesModel::GroupColumn))
        left -= m_table->columnWidth(CollectivesModel::GroupColumn);
    const QString cause = m_model->headerData(CollectivesModel::CauseColumn, Qt::Horizontal, Qt::DisplayRole).toString();
    const bool caused = left >= heading.horizontalAdvance(cause) + kHeadingPadding;
    m_table->setColumnHidden(CollectivesModel::CauseColumn, !caused);
    for (const int column : { CollectivesModel::CountColumn, CollectivesModel::TensorColumn }) {
        m_table->setColumnHidden(column, left < 0);
        if (left < 0)
            left += m_table->columnWidth(column);
    }
    if (m_table->isColumnHidden(CollectivesModel::TensorColumn))
        return;
    if (!caused && left > 0) // names before an empty last column
        widenTensor(left + kSpare);
    narrowNumbers();
}

void CollectivesView::widenTensor(int by)
{
    const int now = m_table->columnWidth(CollectivesModel::TensorColumn);
    m_table->setColumnWidth(CollectivesModel::TensorColumn, std::min(now + by, std::max(now, m_wantedTensor)));
}

/// What numbers of another plan might need goes to a name that is elided.
/// Characters of the longest number of each column that can be narrowed; all are as wide. Far down nobody looks.
std::array<qsizetype, 3> CollectivesView::digitsOfNumbers() const
{
    constexpr int kMostRows = 1000;
    std::array<qsizetype, 3> out {};
    const QAbstractItemModel& rows = *m_table->model();
    for (int row = 0; row < std::min(rows.rowCount(), kMostRows); ++row)
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = std::max(out[i], rows.index(row, kNumbers[i]).data().toString().size());
    return out;
}

void CollectivesView::narrowNumbers()
{
    m_digits = digitsOfNumbers();
    const QAbstractItemView* cells = m_table;
    const QFontMetrics heading(uiFont(this, -1));
    for (const int column : kNumbers) {
        const int missing = m_wantedTensor - m_table->columnWidth(CollectivesModel::TensorColumn);
        const QString title = m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        const int needed = std::max(cells->sizeHintForColumn(column), heading.horizontalAdvance(title) + kHeadingPadding);
        const int less = std::min(missing, m_table->columnWidth(column) - needed);
        if (less <= 0 || m_table->isColumnHidden(column))
            continue;
        m_narrowed[column] = { m_table->columnWidth(column), m_table->columnWidth(column) - less };
        m_table->setColumnWidth(column, m_narrowed[column].second);
        widenTensor(less);
    }
}

void CollectivesView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    showGroups();
}

void CollectivesView::showState()
{
    const Theme& theme = Theme::of(this);
    setTextColor(m_total, theme.quiet);
    setTextColor(m_empty, theme.quiet);
    const int all = m_model->rowCount();
    const int shown = m_filter->rowCount();
    if (const auto evaluation = document()->evaluation()) {
        const Plan& plan = evaluation->plan;
        const double host = hostCopySeconds(evaluation->graph, plan);
        const QString time = secondsText(collectiveSecondsAlone(evaluation->graph, plan));
        const QString exposed = secondsText(plan.device.exposed);
        // Where there is little room the end is left out: the count stands in the tab, too.
        m_total->setText(tr("%1 · %2 · %3")
                             .arg(host > 0              ? time // what is exposed is told with the copies to the host
                                      : time == exposed ? tr("%1 exposed").arg(time)
                                                        : tr("%1, %2 exposed").arg(time, exposed),
                                  bytesText(collectiveBytesOfDevice(evaluation->graph, plan)),
                                  counted(plan.movingCollectives(), tr("collective"), tr("collectives"))));
        const std::int64_t slices = static_cast<std::int64_t>(plan.collectives.size()) - plan.movingCollectives();
        QString tip = tr("Of a step: bytes of all collectives on one device, predicted time in them, and the part of it in which "
                         "the device does not compute; a step takes %1")
                          .arg(secondsText(plan.seconds()));
        if (host > 0)
            tip += tr("\nWith %1 to and from the host, which are no collectives, %2 are exposed").arg(secondsText(host), exposed);
        if (slices > 0)
            tip += tr("\n%1 not counted: nothing moves").arg(counted(slices, tr("local slice is"), tr("local slices are")));
        if (plan.pipeline)
            tip += tr("\nOf a device of the busiest stage; rows add up the stages");
        m_total->setToolTip(tip);
    }
    if (!document()->hasDesign())
        m_empty->setText(tr("No design is open."));
    else if (!document()->design().model.hasGraph())
        m_empty->setText(tr("There is no plan: this model is open as weights only."));
    else if (all == 0)
        m_empty->setText(tr("No collective: every operation finds its operands where it needs them."));
    else if (m_filterEdit->text().isEmpty())
        m_empty->setText(tr("No collective in this phase."));
    else
        m_empty->setText(
            tr("No collective matches “%1”. <a href=\"clear\">Clear filter</a> (Esc)").arg(m_filterEdit->text().toHtmlEscaped()));
    m_empty->setVisible(shown == 0);
    m_table->setVisible(shown > 0);
    m_filterEdit->setVisible(all > 0);
    m_total->setVisible(all > 0);
}

void CollectivesView::selectionChanged()
{
    if (m_following)
        return;
    m_following = true;
    const CollectiveId row = selection()->collective();
    const QModelIndex index = row.valid() ? m_filter->mapFromSource(m_model->index(row.number(), 0)) : QModelIndex();
    if (!index.isValid()) {
        m_table->selectionModel()->clear();
    } else if (!m_table->selectionModel()->isSelected(index)) {
        // Not the view's own way, which minds keys that are held: Ctrl of an undo would toggle the row.
        m_table->selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
        m_table->scrollTo(index);
    }
    m_following = false;
}

bool CollectivesView::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress) {
        auto* key = static_cast<QKeyEvent*>(event);
        if (watched == m_table && key->matches(QKeySequence::Find)) {
            m_filterEdit->setFocus(Qt::ShortcutFocusReason);
            return true;
        }
        if (watched == m_filterEdit && key->key() == Qt::Key_Escape && !m_filterEdit->text().isEmpty()) {
            m_filterEdit->clear();
            return true;
        }
    }
    return DocumentView::eventFilter(watched, event);
}

} // namespace shardboard
