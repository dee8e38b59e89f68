// SPDX-License-Identifier: Apache-2.0
#include "widgets/explain/explainview.h"

#include "widgets/controls/choicebox.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/edits/repairs.h"
#include "widgets/explain/inspectorpage.h"
#include "widgets/explain/rowsmodel.h"
#include "widgets/jobs/background.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"

#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QResizeEvent>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTableView>
#include <QTimer>

#include <algorithm>

namespace shardboard {

namespace {

constexpr double kSlow = 0.5; ///< seconds that telling what the rows would do may take
constexpr int kMostEffects = 24;

} // namespace

std::optional<ExplainTarget> selectedTarget(const Document& document)
{
    const auto evaluation = document.evaluation();
    if (!evaluation)
        return std::nullopt;
    const Selection* selection = document.selection();
    const auto& segments = evaluation->plan.segments;
    if (selectedCollective(document) != nullptr)
        return collectiveTarget(*evaluation, selection->collective());
    if (selection->segment() < segments.size() && selection->operation() < segments[selection->segment()].ops.size())
        return operationTarget(*evaluation, selection->segment(), selection->operation());
    if (selectedWeight(document) != nullptr)
        return weightTarget(*evaluation, selection->weight());
    return std::nullopt;
}

bool selectCause(const Document& document, const CauseLink& link)
{
    const auto evaluation = document.evaluation();
    if (!evaluation)
        return false;
    if (link.kind == CauseLink::Kind::Layout && link.weight >= 0) {
        document.selection()->setWeight(link.weight);
        return true;
    }
    if (!link.op.valid())
        return false;
    const auto& segments = evaluation->plan.segments;
    PlannedSegmentId found;
    PlannedOpId at;
    for (PlannedSegmentId s { 0 }; s < segments.size(); ++s)
        for (PlannedOpId o { 0 }; o < segments[s].ops.size(); ++o)
            if (segments[s].ops[o].op == link.op && (!found.valid() || segments[s].count > segments[found].count)) {
                found = s;
                at = o;
            }
    document.selection()->setOperation(found, at);
    return found.valid();
}

void addCauseCards(InspectorPage& page, const Explanation& explanation, const std::function<void(const CauseLink&)>& clicked)
{
    int number = 0;
    for (const CauseLink& link : explanation.causes) {
        Card* card =
            page.card(QStringLiteral("%1  %2").arg(++number).arg(qstr(link.text)), QString(), qstr(link.detail), Card::Look::Plain);
        card->setObjectName(QStringLiteral("cause.%1").arg(number));
        if (link.pin < 0 && link.weight < 0 && !link.op.valid())
            continue;
        card->setActionable(link.pin >= 0                              ? QObject::tr("Show this pin")
                                : link.kind == CauseLink::Kind::Layout ? QObject::tr("Select this weight")
                                                                       : QObject::tr("Explain this operation"));
        QObject::connect(
            card, &Card::activated, &page, [clicked, link] { clicked(link); }, Qt::QueuedConnection);
    }
}

ExplainView::ExplainView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_title(new ElidedLabel(this))
    , m_operations(new ChoiceBox(false, this))
    , m_split(new QSplitter(Qt::Horizontal, this))
    , m_causes(new QScrollArea(this))
    , m_ranked(new QWidget(this))
    , m_table(new QTableView(this))
    , m_rows(new RowsModel(this))
    , m_note(new QLabel(this))
    , m_detail(new WrappedLabel(QString(), this))
    , m_timer(new QTimer(this))
    , m_effects(new LatestJob(this))
{
    nameView("explainView", tr("Explanation"));
    m_title->setObjectName(QStringLiteral("explainTitle"));
    nameWidget(m_operations, "explainOperation", tr("Operation to explain"), tr("Operation to explain"));
    m_operations->setMaxVisibleItems(24);
    nameWidget(m_causes, "explainCauses", tr("Causes, starting at the root"));
    m_causes->setWidgetResizable(true);
    m_causes->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_causes->setMinimumWidth(200);
    for (QWidget* part : std::initializer_list<QWidget*> { m_causes, m_table })
        part->setMinimumHeight(24); // large text above them has its room first
    nameWidget(m_table, "explainRows", tr("Rows that the picker considered"));
    m_table->setModel(m_rows);
    m_table->setItemDelegateForColumn(RowsModel::PriceColumn, new PriceDelegate(m_table));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setShowGrid(false);
    m_table->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel); // rows can be high
    m_table->setWordWrap(true);
    m_table->setTabKeyNavigation(false);
    m_table->viewport()->installEventFilter(this);
    makeCopyable(m_table);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setMinimumSectionSize(40);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_note->setObjectName(QStringLiteral("explainNote"));
    m_note->setWordWrap(true);
    m_note->setTextFormat(Qt::PlainText);
    m_note->setContentsMargins(kPanelMargin, 0, kPanelMargin, 4);
    m_detail->setObjectName(QStringLiteral("explainDetail"));
    m_detail->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_detail->setContentsMargins(8, 0, 8, 0);
    m_timer->setSingleShot(true);
    m_timer->setInterval(0);
    connect(m_timer, &QTimer::timeout, this, [this] { build(false); });

    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 12);
    top->addWidget(m_title, 1);
    top->addWidget(m_operations);
    auto* column = boxLayout<QVBoxLayout>({ 8, 0, 8, 6 }, 4, m_ranked);
    column->addWidget(m_table, 1);
    column->addWidget(m_detail);
    m_split->setObjectName(QStringLiteral("explainSplitter"));
    m_split->setChildrenCollapsible(false);
    m_split->setHandleWidth(1);
    m_split->addWidget(m_causes);
    m_split->addWidget(m_ranked);
    m_split->setStretchFactor(0, 2);
    m_split->setStretchFactor(1, 5);
    m_split->setSizes({ 250, 750 });
    auto* all = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    all->addLayout(top);
    all->addWidget(m_note);
    all->addWidget(m_split, 1);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] { showDetail(); });
    connect(m_operations, &ChoiceBox::activated, this, [this](int index) {
        const QPoint place = m_operations->itemData(index).toPoint();
        selection()->setOperation(PlannedSegmentId(place.x()), PlannedOpId(place.y()));
    });
    start();
}

/// Causes and rows side by side, or in a column of the window one above the other.
void ExplainView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    const bool beside = event->size().width() >= static_cast<int>(560 * textScale(this));
    const auto wanted = beside ? Qt::Horizontal : Qt::Vertical;
    if (wanted == m_split->orientation())
        return;
    m_split->setOrientation(wanted);
    m_split->setSizes(beside ? QList<int> { 250, 750 } : QList<int> { 450, 550 });
}

QSize ExplainView::sizeHint() const { return { 900, 240 }; }

void ExplainView::refresh()
{
    fillOperations();
    later();
}

void ExplainView::selectionChanged() { later(); }

void ExplainView::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    later();
}

bool ExplainView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_table->viewport() && event->type() == QEvent::Resize)
        fitColumns();
    return DocumentView::eventFilter(watched, event);
}

// Rows are judged and their effects evaluated, so a hidden view does neither and a burst of changes it once.
void ExplainView::later()
{
    if (isVisible())
        m_timer->start();
}

void ExplainView::fillOperations()
{
    const QSignalBlocker blocker(m_operations);
    m_operations->clear();
    const auto evaluation = document()->evaluation();
    if (!evaluation)
        return;
    const auto& segments = evaluation->plan.segments;
    for (PlannedSegmentId s { 0 }; s < segments.size(); ++s)
        for (PlannedOpId o { 0 }; o < segments[s].ops.size(); ++o)
            m_operations->addItem(qstr(operationId(*evaluation, s, o)).remove(QStringLiteral("model.layers.*.")),
                                  QPoint(s.number(), o.number()));
}

void ExplainView::build(bool wait)
{
    m_timer->stop();
    m_effects->forget();
    const auto evaluation = document()->evaluation();
    const auto target = selectedTarget(*document());
    m_title->setFont(uiFont(this, 0, true));
    m_operations->setMinimumWidth(static_cast<int>(100 * textScale(this)));
    m_operations->setMaximumWidth(static_cast<int>(260 * textScale(this)));
    m_table->verticalHeader()->setDefaultSectionSize(rowHeight(m_table));
    m_operations->setVisible(m_operations->count() > 0);
    if (!target) {
        m_title->setText(tr("Why"));
        showCauses({});
        showRows({});
        m_note->setText(evaluation ? tr("Select a collective, an operation or a weight to see its causes and alternatives.")
                                   : tr("No design is open."));
        m_note->show();
        return;
    }
    ExplainOptions options;
    if (document()->evaluationSeconds() > 0)
        options.effects = std::min(kMostEffects, static_cast<int>(kSlow / document()->evaluationSeconds()));
    if (target->kind == ExplainTarget::Kind::Weight)
        options.effects = 0; // the inspector tells of other layouts
    if (!wait && options.effects > 0) { // the rows are there at once, what they would do a moment later
        askForEffects(*target, options.effects);
        options.effects = 0;
    }
    Explanation explanation = explain(document()->design(), *evaluation, *target, options);
    QString title = qstr(target->name);
    if (target->kind == ExplainTarget::Kind::Collective) {
        const Collective& it = evaluation->plan.collective(target->collective);
        title = tr("%1 of %2").arg(qstr(collectiveName(it.kind)), qstr(evaluation->graph.tensor(it.tensor).name));
        if (target->op.valid())
            title += tr(", before %1").arg(qstr(operationId(*evaluation, target->segment, target->op)));
    }
    m_title->setText(title);
    {
        const QSignalBlocker blocker(m_operations);
        m_operations->setCurrentIndex(m_operations->findData(QPoint(target->segment.number(), target->op.number())));
    }
    if (target->kind == ExplainTarget::Kind::Collective) { // its own mesh axes first
        const auto& own = evaluation->plan.collective(target->collective).axes;
        std::stable_partition(explanation.axes.begin(), explanation.axes.end(), [&](const AxisExplanation& axis) {
            return std::find(own.begin(), own.end(), axis.axis) != own.end();
        });
    }
    showCauses(explanation);
    showRows(std::move(explanation));
}

void ExplainView::askForEffects(const ExplainTarget& target, int effects)
{
    const auto evaluation = document()->evaluation();
    m_effects->ask([this, evaluation, target, effects,
                    design = std::make_shared<const Design>(document()->design())](const std::atomic<bool>& stop) {
        if (!pauseUnlessStopped(stop))
            return LatestJob::Answer();
        const auto explanation = std::make_shared<const Explanation>(explain(*design, *evaluation, target, { effects, &stop }));
        return LatestJob::Answer([this, explanation] {
            m_rows->setEffects(*explanation);
            showDetail();
        });
    });
}

void ExplainView::showCauses(const Explanation& explanation)
{
    auto* page = new InspectorPage(m_causes);
    if (!m_refusal.isEmpty())
        page->card(tr("Not done"), QString(), m_refusal, Card::Look::Error);
    m_refusal.clear();
    addCauseCards(*page, explanation, [this](const CauseLink& link) { follow(link); });
    page->finish();
    page->setAutoFillBackground(true);
    page->setBackgroundRole(QPalette::Base);
    m_causes->setWidget(page); // deletes the page before
}

void ExplainView::showRows(Explanation explanation)
{
    const Theme& theme = Theme::of(this);
    const bool byTime = !document()->hasDesign() || document()->design().picker.profile == PickerProfile::Shardboard;
    QStringList notes;
    if (!explanation.notPicked.empty())
        notes << qstr(explanation.notPicked);
    for (const AxisExplanation& axis : explanation.axes)
        if (!axis.unmet.empty())
            notes << tr("Not met: %1").arg(qstr(axis.unmet));
    if (explanation.target.kind == ExplainTarget::Kind::Weight && !explanation.causes.empty())
        notes << tr("A weight's layout is written, not picked: the inspector shows alternatives, the strategy panel changes it.");
    m_note->setText(notes.join(QLatin1Char('\n')));
    m_note->setVisible(!notes.isEmpty());
    setTextColor(m_note, theme.quiet);
    m_rows->setExplanation(document()->evaluation(), std::move(explanation), byTime,
                           { theme.text, theme.quiet, theme.error, monoFont(this, -0.5), uiFont(this, -0.5, true) });
    m_ranked->setVisible(m_rows->rowCount() > 0); // else the causes have all the room
    m_detail->setFont(uiFont(this, -1));
    setTextColor(m_detail, theme.quiet);
    addButtons();
    fitColumns();
    choosePicked();
}

/// So that what was decided on the first mesh axis, and why, is read without a click.
void ExplainView::choosePicked()
{
    int row = 0;
    while (row < m_rows->rowCount() && m_rows->rowAt(row)->verdict != RankedRow::Verdict::Picked)
        ++row;
    if (row < m_rows->rowCount())
        m_table->selectionModel()->setCurrentIndex(m_rows->index(row, RowsModel::RowColumn),
                                                   QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    m_table->scrollToTop();
    showDetail();
}

void ExplainView::showDetail()
{
    const QString text = m_rows->detail(m_table->currentIndex().row());
    m_detail->setText(breakable(text));
    m_detail->setAccessibleName(text);
    m_detail->setVisible(!text.isEmpty());
}

void ExplainView::addButtons()
{
    for (int row = 0; row < m_rows->rowCount(); ++row) {
        const RankedRow& ranked = *m_rows->rowAt(row);
        const AxisExplanation& axis = *m_rows->axisAt(row);
        const bool unpins = ranked.verdict == RankedRow::Verdict::Picked && axis.unpin;
        const std::optional<Repair>& edit = unpins ? axis.unpin : ranked.edit;
        if (!edit)
            continue;
        auto* button = new QPushButton(unpins ? tr("Unpin") : tr("Pin this"), m_table);
        const QString axisName = qstr(document()->evaluation()->plan.mesh.axis(axis.axis).name);
        button->setObjectName(unpins ? QStringLiteral("unpin.%1").arg(axisName)
                                     : QStringLiteral("pin.%1.%2").arg(axisName, qstr(ranked.row)));
        button->setAccessibleName(qstr(edit->text));
        QString tip = tr("%1 (can be undone)").arg(qstr(edit->text));
        if (unpins && axis.pin >= 0 && !document()->design().pins[static_cast<std::size_t>(axis.pin)].source.empty())
            tip += tr("\nIt is one of %1 and may apply to other operations too.")
                       .arg(qstr(document()->design().pins[static_cast<std::size_t>(axis.pin)].source));
        button->setToolTip(tip);
        button->setFont(uiFont(this, -1));
        // Later: the edit replaces the table and with it the button.
        connect(
            button, &QPushButton::clicked, this, [this, repair = *edit] { apply(repair); }, Qt::QueuedConnection);
        m_table->setIndexWidget(m_rows->index(row, RowsModel::ActionColumn), button);
    }
}

/// All columns are in sight, the buttons above all: what has no room is told below the table and in tool tips.
void ExplainView::fitColumns()
{
    const QAbstractItemView* cells = m_table;
    const int room = m_table->viewport()->width();
    if (room < 100)
        return;
    constexpr int kPadding = 12;
    constexpr int kAction = 92;
    constexpr int kStep = 76;
    constexpr int kNarrow = 90; // what a text needs to say anything
    constexpr int kReadable = 150; // in less a sentence is a column of single words: it is told below the table alone
    const int axis = std::clamp(cells->sizeHintForColumn(RowsModel::AxisColumn) + kPadding, 80, 100);
    const int row = std::clamp(cells->sizeHintForColumn(RowsModel::RowColumn) + kPadding, 80, 200);
    const int price = PriceDelegate::kTextWidth + (room > 760 ? 64 : 16);
    int left = room - kAction - axis - row - price;
    const bool step = left >= kStep + kNarrow;
    left -= step ? kStep : 0;
    const bool moves = left >= 2 * kNarrow + 40;
    const int moved = moves ? std::clamp(cells->sizeHintForColumn(RowsModel::MovesColumn) + kPadding, kNarrow, left / 2) : 0;
    m_table->setColumnHidden(RowsModel::StepColumn, !step);
    m_table->setColumnHidden(RowsModel::MovesColumn, !moves);
    const bool notes = left - moved >= kReadable;
    m_table->setColumnHidden(RowsModel::NoteColumn, !notes);
    const std::pair<int, int> widths[] {
        { RowsModel::AxisColumn, axis },     { RowsModel::RowColumn, row + (notes ? 0 : std::max(0, left - moved)) },
        { RowsModel::PriceColumn, price },   { RowsModel::MovesColumn, moved },
        { RowsModel::StepColumn, kStep },    { RowsModel::NoteColumn, notes ? left - moved : 0 },
        { RowsModel::ActionColumn, kAction }
    };
    for (const auto& [column, width] : widths)
        if (width > 0)
            m_table->setColumnWidth(column, width);
    for (int it = 0; it < m_rows->rowCount(); ++it) // texts wrap, so that they are read in full
        m_table->setRowHeight(it, std::max(rowHeight(m_table), cells->sizeHintForRow(it)));
}

void ExplainView::follow(const CauseLink& link)
{
    if (link.pin >= 0)
        Q_EMIT pinNamed(link.pin);
    else
        selectCause(*document(), link);
}

void ExplainView::apply(const Repair& repair)
{
    const Status status = applyRepair(*document(), repair);
    m_refusal = status.ok() ? QString() : errorText(status.error());
    if (!status.ok())
        build(false);
}

} // namespace shardboard
