// SPDX-License-Identifier: Apache-2.0
#include "widgets/findings/findingsview.h"

#include "model/design/findings/findings.h"
#include "widgets/edits/repairs.h"
#include "widgets/jobs/longwork.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"
#include "widgets/tables/notedelegate.h"
#include "widgets/tables/tablecopy.h"
#include "widgets/tables/weighthover.h"

#include <QAction>
#include <QApplication>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QResizeEvent>
#include <QStyledItemDelegate>
#include <QTreeWidget>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kBesideButton = 12; ///< pixels, in its cell
constexpr int kIndexRole = Qt::UserRole;
constexpr int kRepairTextRole = Qt::UserRole + 1;
constexpr int kWeightRole = Qt::UserRole + 2; ///< that it is about, -1: about something else

/// So that the costs of a column compare at a glance; the tool tip has the bytes.
QString gibText(std::int64_t bytes)
{
    const double gib = static_cast<double>(bytes) / (1 << 30);
    return gib < 0.001 ? QStringLiteral("< 0.001") : digitsText(gib);
}

QColor colorOf(Severity severity, const Theme& theme)
{
    return severity == Severity::Error ? theme.error : severity == Severity::Warning ? theme.attention : theme.quiet;
}

/// Widgets of the column get all of their cell: the usual delegate leaves them the room of a text in it.
class WholeCell : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex&) const override
    {
        editor->setGeometry(option.rect);
    }
};

QString kindText(const std::string& kind) { return qstr(kind).replace(QLatin1Char('-'), QLatin1Char(' ')); }

} // namespace

FindingsView::FindingsView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_list(new QTreeWidget(this))
    , m_total(new QLabel(this))
    , m_empty(new QLabel(this))
    , m_refusal(new QLabel(this))
    , m_all(new QPushButton(this))
    , m_repair(new QAction(tr("Apply &Repair"), this))
    , m_work(new LongWork(this))
{
    nameView("findingsView", tr("Findings"));
    nameWidget(m_list, "findingsList", tr("Findings"));
    m_list->setRootIsDecorated(false);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setColumnCount(ColumnCount);
    m_list->setHeaderLabels({ tr("finding"), tr("GiB"), tr("repair") });
    m_list->headerItem()->setTextAlignment(CostColumn, Qt::AlignRight | Qt::AlignVCenter);
    m_list->headerItem()->setToolTip(CostColumn, tr("GiB that it costs on each device: memory, or what is moved in a step"));
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(NoteColumn, QHeaderView::Stretch);
    m_list->header()->setSectionsMovable(false);
    m_list->setItemDelegateForColumn(NoteColumn, new NoteDelegate(m_list));
    m_list->setItemDelegateForColumn(RepairColumn, new WholeCell(m_list));
    makeCopyable(m_list);
    new WeightHover(m_list, selection(), [](const QModelIndex& index) {
        const int weight = index.siblingAtColumn(NoteColumn).data(kWeightRole).toInt();
        return weight < 0 ? std::vector<int>() : std::vector<int> { weight };
    });
    m_total->setObjectName(QStringLiteral("findingsTotal"));
    m_empty->setObjectName(QStringLiteral("findingsEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_refusal->setObjectName(QStringLiteral("findingsRefusal"));
    m_refusal->setWordWrap(true);
    m_refusal->setTextFormat(Qt::PlainText);
    m_refusal->setContentsMargins(kPanelMargin, 4, kPanelMargin, 6);
    m_refusal->hide();
    nameWidget(m_all, "repairAll", {}, tr("Makes all repairs as one step of the history"));
    m_repair->setObjectName(QStringLiteral("finding.repair"));
    m_repair->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_Period));
    addAction(m_repair);
    auto* top = new QHBoxLayout;
    top->setContentsMargins(kPanelMargin, 6, kPanelMargin, 6);
    top->addWidget(m_total, 1);
    top->addWidget(m_work, 1);
    top->addWidget(m_all);
    auto* list = new QHBoxLayout;
    list->setContentsMargins(8, 0, 8, 0);
    list->addWidget(m_list);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addLayout(top);
    column->addLayout(list, 1);
    column->addWidget(m_empty, 1);
    column->addWidget(m_refusal);
    connect(m_list, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) { follow(item); });
    connect(m_list, &QTreeWidget::itemClicked, this, [this](QTreeWidgetItem* item) { follow(item); });
    connect(m_all, &QPushButton::clicked, this, [this] { repairAll(); });
    connect(m_repair, &QAction::triggered, this, [this] { repairCurrent(); });
    connect(document, &Document::evaluated, this, &FindingsView::enableRepair); // it is in a menu, whoever sees this view
    connect(m_work, &LongWork::ended, this, &FindingsView::showState);
    start();
}

QSize FindingsView::sizeHint() const { return { 720, 240 }; }

void FindingsView::refresh()
{
    const int current = m_list->indexOfTopLevelItem(m_list->currentItem());
    m_following = true;
    m_list->clear();
    const auto evaluation = document()->evaluation();
    for (std::size_t i = 0; evaluation && i < evaluation->findings.size(); ++i)
        addRow(evaluation->findings[i], static_cast<int>(i));
    if (current >= 0 && m_list->topLevelItemCount() > 0) // the next one is where the repaired one was
        m_list->setCurrentItem(m_list->topLevelItem(std::min(current, m_list->topLevelItemCount() - 1)));
    m_following = false;
    m_list->header()->setFont(uiFont(this, -1));
    m_refusal->hide();
    fitColumns();
    showState();
}

void FindingsView::addRow(const DesignFinding& finding, int index)
{
    const Theme& theme = Theme::of(this);
    auto* item = new QTreeWidgetItem(m_list);
    const QString where = shortName(finding.where);
    item->setData(NoteColumn, NoteDelegate::TitleRole, where + QStringLiteral(" · ") + kindText(finding.kind));
    item->setData(NoteColumn, NoteDelegate::TextRole, toldText(finding.message));
    item->setData(NoteColumn, NoteDelegate::TitleColorRole, colorOf(finding.severity, theme));
    item->setData(NoteColumn, kIndexRole, index);
    item->setData(NoteColumn, Qt::AccessibleTextRole,
                  tr("%1, %2: %3").arg(qstr(severityName(finding.severity)), where, toldText(finding.message)));
    if (finding.costBytes > 0) {
        item->setText(CostColumn, gibText(finding.costBytes));
        item->setFont(CostColumn, monoFont(this, -0.5));
        item->setTextAlignment(CostColumn, Qt::AlignRight | Qt::AlignVCenter);
    }
    QString tip = tr("%1 about %2").arg(qstr(severityName(finding.severity)), qstr(finding.where)) + QLatin1Char('\n')
        + toldText(finding.message);
    if (!finding.repair.empty())
        tip += QLatin1Char('\n') + tr("Repair: %1").arg(toldText(finding.repair));
    if (finding.costBytes > 0)
        tip += QLatin1Char('\n')
            + (costKind(finding.kind) == CostKind::Moved ? tr("moves %1 per device in a step")
                                                         : tr("costs %1 of memory per device"))
                  .arg(exactBytesText(finding.costBytes));
    for (int column = 0; column < ColumnCount; ++column)
        item->setToolTip(column, tip);
    const FindingPlace place = placeOf(*document(), finding);
    item->setData(NoteColumn, kWeightRole, place.kind == FindingPlace::Kind::Weight ? place.index : -1);
    if (finding.fix)
        addRepair(item, *finding.fix);
    else if (place.kind != FindingPlace::Kind::None)
        addShow(item, place);
}

void FindingsView::addRepair(QTreeWidgetItem* item, const Repair& repair)
{
    QPushButton* button = addButton(item, qstr(repair.text));
    nameWidget(button, "repairButton", {},
               qstr(repair.text) + QLatin1Char('\n')
                   + tr("One step of the history (%1 on the row)").arg(m_repair->shortcut().toString(QKeySequence::NativeText)));
    const int index = item->data(NoteColumn, kIndexRole).toInt();
    // Later: the repair replaces this list and with it the button. Only for the findings that were clicked on.
    const auto act = [this, index, shown = std::weak_ptr<const Evaluation>(document()->evaluation())] {
        if (shown.lock() == document()->evaluation())
            this->repair(index);
    };
    connect(button, &QPushButton::clicked, this, act, Qt::QueuedConnection);
}

/// What cannot be repaired by one edit can be looked at.
void FindingsView::addShow(QTreeWidgetItem* item, const FindingPlace& place)
{
    QPushButton* button = addButton(item, placeText(place));
    nameWidget(button, "showButton", {}, item->toolTip(NoteColumn));
    const int index = item->data(NoteColumn, kIndexRole).toInt();
    connect(
        button, &QPushButton::clicked, this,
        [this, index] {
            if (index < m_list->topLevelItemCount())
                follow(m_list->topLevelItem(index));
        },
        Qt::QueuedConnection);
}

QPushButton* FindingsView::addButton(QTreeWidgetItem* item, const QString& text)
{
    auto* cell = new QWidget;
    auto* layout = new QHBoxLayout(cell);
    layout->setContentsMargins(kBesideButton, 3, kBesideButton, 3);
    auto* button = new QPushButton(cell);
    button->setAccessibleName(text);
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    item->setData(RepairColumn, kRepairTextRole, text);
    layout->addWidget(button);
    m_list->setItemWidget(item, RepairColumn, cell);
    return button;
}

/// The repairs get the room that their words take, up to two fifths; then they are elided.
void FindingsView::fitColumns()
{
    constexpr int kMargins = 2 * kBesideButton;
    constexpr int kBesideWords = 26; // of the style, which a button that is not in sight yet may not have
    int widest = 0;
    bool costs = false;
    const auto buttonAt = [this](int row) {
        const QWidget* cell = m_list->itemWidget(m_list->topLevelItem(row), RepairColumn);
        return cell ? cell->findChild<QPushButton*>() : nullptr;
    };
    for (int row = 0; row < m_list->topLevelItemCount(); ++row) {
        costs = costs || !m_list->topLevelItem(row)->text(CostColumn).isEmpty();
        if (QPushButton* button = buttonAt(row)) {
            button->ensurePolished();
            button->setText(menuText(m_list->topLevelItem(row)->data(RepairColumn, kRepairTextRole).toString()));
            const int words = button->fontMetrics().horizontalAdvance(button->text()) + kBesideWords;
            widest = std::max({ widest, button->sizeHint().width(), words });
        }
    }
    const int room = widest == 0 ? 0 : std::clamp(widest + kMargins, 100, std::max(140, width() * 2 / 5));
    m_list->setColumnHidden(RepairColumn, widest == 0);
    m_list->setColumnWidth(RepairColumn, room);
    m_list->setColumnHidden(CostColumn, !costs);
    const QFontMetrics digits(monoFont(this, -0.5));
    m_list->setColumnWidth(
        CostColumn,
        std::max(digits.horizontalAdvance(QStringLiteral("00,000")), digits.horizontalAdvance(QStringLiteral("< 0.001"))) + 24);
    for (int row = 0; row < m_list->topLevelItemCount(); ++row) {
        QPushButton* button = buttonAt(row);
        const int excess = button ? button->sizeHint().width() + kMargins - room : 0;
        if (excess <= 0)
            continue;
        const QFontMetrics metrics(button->font());
        const int text = metrics.horizontalAdvance(button->text());
        button->setText(metrics.elidedText(button->text(), Qt::ElideRight, text - excess));
    }
    m_list->doItemsLayout(); // texts wrap anew
    if (QTreeWidgetItem* item = m_list->currentItem())
        m_list->scrollToItem(item);
}

void FindingsView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    if (event->size().width() != event->oldSize().width())
        fitColumns();
}

void FindingsView::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    fitColumns(); // a hidden tab has no width
}

void FindingsView::showState()
{
    const Theme& theme = Theme::of(this);
    for (QLabel* label : { m_total, m_empty })
        setTextColor(label, theme.quiet);
    const auto evaluation = document()->evaluation();
    const int count = m_list->topLevelItemCount();
    const int known = evaluation ? std::min(count, static_cast<int>(evaluation->findings.size()))
                                 : 0; // asleep it lists those of an earlier design
    int repairs = 0;
    int together = 0;
    for (int i = 0; i < known; ++i) {
        const DesignFinding& finding = evaluation->findings[static_cast<std::size_t>(i)];
        repairs += finding.fix ? 1 : 0;
        together += isRepairedWithAll(finding) ? 1 : 0;
    }
    m_total->setText(repairs == 0
                         ? counted(count, tr("finding"), tr("findings"))
                         : tr("%1 · %2 with a repair of one edit").arg(counted(count, tr("finding"), tr("findings"))).arg(repairs));
    m_all->setText(tr("Repair All %1").arg(together));
    m_all->setVisible(together > 1);
    m_all->setEnabled(!m_work->isBusy());
    m_total->setVisible(count > 0);
    enableRepair();
    m_empty->setText(document()->hasDesign() ? tr("No findings.") : tr("No design is open."));
    m_empty->setVisible(count == 0);
    m_list->setVisible(count > 0);
}

void FindingsView::enableRepair()
{
    const auto evaluation = document()->evaluation();
    m_repair->setEnabled(evaluation
                         && std::any_of(evaluation->findings.begin(), evaluation->findings.end(),
                                        [](const DesignFinding& finding) { return finding.fix.has_value(); }));
    m_repair->setProperty("whyNot",
                          document()->hasDesign() ? tr("no finding can be repaired by one edit") : tr("no design is open"));
}

void FindingsView::selectionChanged()
{
    const WeightLayout* weight = selectedWeight(*document());
    const auto evaluation = document()->evaluation();
    if (!weight || m_following || m_list->hasFocus())
        return;
    for (int row = 0; row < std::min(m_list->topLevelItemCount(), static_cast<int>(evaluation->findings.size())); ++row) {
        if (evaluation->findings[static_cast<std::size_t>(row)].where != weight->spec.name)
            continue;
        m_list->setCurrentItem(m_list->topLevelItem(row));
        return;
    }
    m_list->setCurrentItem(nullptr);
}

void FindingsView::follow(QTreeWidgetItem* item)
{
    const auto evaluation = document()->evaluation();
    const auto index = static_cast<std::size_t>(item->data(NoteColumn, kIndexRole).toInt());
    if (!evaluation || index >= evaluation->findings.size())
        return;
    m_following = true;
    const FindingPlace place = placeOf(*document(), evaluation->findings[index]);
    if (place.kind == FindingPlace::Kind::Memory) // and what is running then
        selectWhere(*document(), evaluation->findings[index].where);
    if (!selectPlace(*document(), place))
        Q_EMIT placeChosen(place);
    m_following = false;
}

void FindingsView::showNext(int by)
{
    wakeViewsAround(this);
    const int count = m_list->topLevelItemCount();
    if (count == 0)
        return;
    const int current = m_list->indexOfTopLevelItem(m_list->currentItem());
    const int next = current < 0 ? (by > 0 ? 0 : count - 1) : (current + by + count) % count;
    m_list->setCurrentItem(m_list->topLevelItem(next));
    follow(m_list->topLevelItem(next));
}

void FindingsView::repair(int index)
{
    const auto evaluation = document()->evaluation();
    if (!evaluation || index < 0 || index >= static_cast<int>(evaluation->findings.size()))
        return;
    const DesignFinding& finding = evaluation->findings[static_cast<std::size_t>(index)];
    if (!finding.fix)
        return;
    const QWidget* focused = QApplication::focusWidget();
    const bool here = focused != nullptr && m_list->isAncestorOf(focused);
    tell(applyRepair(*document(), *finding.fix));
    if (here) // the button went with its row
        m_list->setFocus(Qt::OtherFocusReason);
}

void FindingsView::repairCurrent()
{
    const auto evaluation = document()->evaluation();
    const int current =
        isAsleep() ? -1 : m_list->indexOfTopLevelItem(m_list->currentItem()); // asleep it lists those of an earlier design
    if (!evaluation)
        return;
    if (current >= 0 && evaluation->findings[static_cast<std::size_t>(current)].fix) {
        repair(current);
        return;
    }
    if (current >= 0) {
        tell(inputError({}, "this finding cannot be repaired by one edit",
                        evaluation->findings[static_cast<std::size_t>(current)].repair));
        return;
    }
    for (std::size_t i = 0; i < evaluation->findings.size(); ++i)
        if (evaluation->findings[i].fix)
            return repair(static_cast<int>(i));
}

void FindingsView::repairAll()
{
    const auto evaluation = document()->evaluation();
    if (!evaluation)
        return;
    const auto design = std::make_shared<const Design>(document()->design());
    m_work->start(tr("Repairing …"), [this, evaluation, design](LongWork::Control& control) -> LongWork::Answer {
        const auto all = std::make_shared<const RepairedAll>(repairedAll(*design, *evaluation, [&control](int tried) {
            control.tell(tried, 0);
            return control.stopped();
        }));
        return [this, evaluation, all] {
            if (document()->evaluation() == evaluation) // else it was edited meanwhile, and there are other findings
                tell(document()->edit(all->design, tr("Repair %1").arg(counted(all->made, tr("finding"), tr("findings")))));
        };
    });
    showState();
}

void FindingsView::tell(const Status& status)
{
    m_refusal->setText(status.ok() ? QString() : errorText(status.error()));
    m_refusal->setVisible(!status.ok());
    setTextColor(m_refusal, Theme::of(this).error);
}

} // namespace shardboard
