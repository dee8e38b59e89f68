// SPDX-License-Identifier: Apache-2.0
#include "widgets/runs/runsview.h"

#include "widgets/controls/contextmenu.h"
#include "widgets/controls/viewheader.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/runs/runlist.h"
#include "widgets/runs/runshelf.h"
#include "widgets/tables/tablecopy.h"

#include <QDir>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QScopedValueRollback>
#include <QScrollBar>
#include <QToolButton>

#include <algorithm>

namespace shardboard {

RunsView::RunsView(Document* document, RunShelf* shelf, QWidget* parent)
    : DocumentView(document, parent)
    , m_shelf(shelf)
    , m_header(new ViewHeader(tr("Runs kept"), this))
    , m_compare(new QToolButton(this))
    , m_menu(new QToolButton(this))
    , m_list(new RunList(this))
    , m_empty(new QLabel(this))
{
    nameView("runsView", tr("Runs kept"));
    nameWidget(m_compare, "runsCompare", tr("Compare two runs"));
    m_compare->setText(tr("Compare"));
    m_compare->setAutoRaise(true);
    nameWidget(m_menu, "runsMenu", tr("What can be done with runs"), tr("Rename, delete, and where runs are kept"));
    m_menu->setText(QStringLiteral("⋯"));
    m_menu->setAutoRaise(true);
    m_menu->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(m_menu);
    m_menu->setMenu(menu);
    nameWidget(m_list, "runsList", tr("Runs kept"));
    m_list->setMinimumHeight(kTwoLineRowHeight); // one of them, so that what is asked above keeps its room
    m_empty->setObjectName(QStringLiteral("runsEmpty"));
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_header->addRight(m_compare);
    m_header->addRight(m_menu);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_header);
    column->addWidget(m_list, 1);
    auto* empty = boxLayout<QHBoxLayout>({ kPanelMargin, 0, kPanelMargin, 8 }, 0);
    empty->addWidget(m_empty);
    column->addLayout(empty, 1);
    m_list->installEventFilter(this);
    connect(menu, &QMenu::aboutToShow, this, [this, menu] {
        menu->clear();
        fillMenu(menu);
    });
    connect(m_list, &QListWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        showContextMenu(m_list, m_list->viewport()->mapToGlobal(at), [this](QMenu* shown) {
            fillMenu(shown);
            addCopyActions(shown, m_list);
        });
    });
    connect(m_compare, &QToolButton::clicked, this, &RunsView::compare);
    connect(m_list, &QListWidget::itemSelectionChanged, this, &RunsView::follow);
    connect(m_list, &QListWidget::itemActivated, this,
            [this](const QListWidgetItem* item) { Q_EMIT openWanted(item->data(RunList::kNameRole).toString()); });
    connect(m_list, &QListWidget::itemClicked, this, [this](const QListWidgetItem* item) { // again, after something else was shown
        if (const QString name = item->data(RunList::kNameRole).toString(); name == m_shown && selected().size() == 1)
            Q_EMIT openWanted(name);
    });
    connect(m_list, &QListWidget::itemChanged, this, [this](QListWidgetItem* item) {
        if (m_filling)
            return;
        const QString name = item->data(RunList::kNameRole).toString();
        const QString wanted = item->text().trimmed();
        const QScopedValueRollback<bool> filling(m_filling, true);
        item->setText(name); // until the folder says otherwise
        if (wanted.isEmpty() || wanted == name)
            return;
        const Status status = m_shelf->rename(name.toStdString(), wanted.toStdString());
        if (!status.ok())
            Q_EMIT refused(errorText(status.error()));
        else if (m_shown == name)
            m_shown = wanted;
    });
    connect(m_shelf, &RunShelf::changed, this, [this] { DocumentView::follow(true); });
    start();
}

QSize RunsView::sizeHint() const
{
    const int rows = std::clamp(m_list->count(), 1, 4);
    return { 240, m_header->sizeHint().height() + rows * std::max(kTwoLineRowHeight, m_list->sizeHintForRow(0)) + 8 };
}

QStringList RunsView::selected() const
{
    QStringList out;
    for (int row = 0; row < m_list->count(); ++row)
        if (m_list->item(row)->isSelected())
            out << m_list->item(row)->data(RunList::kNameRole).toString();
    return out;
}

void RunsView::setShown(const QString& name)
{
    if (name != m_shown && selected().size() < 2) { // what is shown is what is selected, unless two are
        const QScopedValueRollback<bool> filling(m_filling, true);
        m_list->clearSelection();
    }
    m_shown = name;
    refresh();
}

QString RunsView::stateOf(const ShelvedRun& run, const Design* open) const
{
    if (!run.about.problem.empty())
        return tr("cannot be read");
    if (run.about.result.compared && !run.about.result.verified)
        return tr("wrong numbers");
    if (open == nullptr || !run.design || *run.design != *open)
        return tr("older design");
    return run.about.result.compared ? tr("verified") : tr("not verified");
}

QString RunsView::tipOf(const ShelvedRun& run) const
{
    QStringList lines { qstr(run.about.name) };
    if (!run.about.problem.empty())
        return (lines << qstr(run.about.problem)).join(QLatin1Char('\n'));
    const RunResult& result = run.about.result;
    lines << tr("made %1 of %2").arg(qstr(run.about.made), qstr(run.about.design));
    lines << tr("%1, planned for %2").arg(qstr(run.about.mesh), qstr(run.about.hardware));
    lines << tr("a step: %1 measured, %2 predicted").arg(secondsText(result.stepMedian), secondsText(result.predictedStepSeconds));
    lines << (!result.compared      ? tr("not compared with the unsharded computation")
                  : result.verified ? tr("equal to the unsharded computation")
                                    : tr("not equal to the unsharded computation, first at %1").arg(qstr(result.firstDeviation)));
    lines << tr("%1 on the disk").arg(bytesText(run.about.bytes));
    return lines.join(QLatin1Char('\n'));
}

void RunsView::refresh()
{
    if (m_list->isNaming())
        return; // the list made anew would take the field away
    const QScopedValueRollback<bool> filling(m_filling, true);
    const QStringList selection = selected();
    const QListWidgetItem* now = m_list->currentItem();
    const QString current = now != nullptr ? now->data(RunList::kNameRole).toString() : QString();
    const int scrolled = m_list->verticalScrollBar()->value();
    m_list->clear();
    const std::optional<Design> open =
        document()->hasDesign() ? std::optional(comparableDesign(document()->design())) : std::nullopt;
    for (const ShelvedRun& run : m_shelf->runs()) {
        const QString name = qstr(run.about.name);
        const RunResult& result = run.about.result;
        const bool damaged = !run.about.problem.empty();
        auto* item = new QListWidgetItem(name, m_list);
        item->setFlags(item->flags() | Qt::ItemIsEditable);
        item->setData(RunList::kNameRole, name);
        item->setData(RunList::kTitleRole, run.title);
        item->setData(RunList::kValueRole, damaged ? QString() : secondsText(result.stepMedian));
        QStringList what;
        if (!damaged)
            what << qstr(result.backend) << counted(result.devices, tr("device"), tr("devices"))
                 << (run.about.options.layers > 0 ? counted(result.layers, tr("layer"), tr("layers"))
                                                  : counted(result.steps, tr("step"), tr("steps")));
        item->setData(RunList::kWhatRole, what.join(QStringLiteral(" · ")));
        const QString state = stateOf(run, open ? &*open : nullptr);
        item->setData(RunList::kStateRole, state);
        item->setData(RunList::kSignRole,
                      static_cast<int>(damaged                ? RunList::Sign::Damaged
                                           : !result.compared ? RunList::Sign::Unverified
                                           : result.verified  ? RunList::Sign::Verified
                                                              : RunList::Sign::Wrong));
        item->setData(RunList::kShownRole, name == m_shown);
        item->setData(
            Qt::AccessibleTextRole,
            QStringList { run.title, item->data(RunList::kValueRole).toString(), what.join(QStringLiteral(" ")), state }.join(
                QStringLiteral(", ")));
        item->setToolTip(tipOf(run));
        item->setSelected(selection.contains(name) || (selection.isEmpty() && name == m_shown));
        if (name == current)
            m_list->setCurrentItem(item, QItemSelectionModel::NoUpdate);
    }
    m_list->verticalScrollBar()->setValue(scrolled);
    const Theme& theme = Theme::of(this);
    setTextColor(m_empty, theme.quiet);
    m_empty->setText(m_shelf->isBusy() ? QString() : tr("None kept yet"));
    m_empty->setToolTip(tr("Every run is kept here with its design, to be opened and compared."));
    m_list->setVisible(m_list->count() > 0);
    m_empty->setVisible(m_list->count() == 0);
    m_header->setDetail(m_list->count() > 0 ? countText(m_list->count()) : QString());
    QString where = tr("%1 in %2").arg(bytesText(m_shelf->bytes()), QDir::toNativeSeparators(m_shelf->folder()));
    if (m_shelf->limit() > 0)
        where += tr(", of at most %1").arg(bytesText(m_shelf->limit()));
    m_header->setToolTip(where);
    follow();
}

/// The selection by the buttons, and the run that is chosen alone by who shows it.
void RunsView::follow()
{
    const QStringList names = selected();
    const bool two = names.size() == 2;
    const bool other = names.size() == 1 && !m_shown.isEmpty() && names.front() != m_shown;
    m_compare->setVisible(m_list->count() > 1);
    m_compare->setEnabled(two || other);
    m_compare->setToolTip(two || other ? tr("Operation by operation, those first that make the largest difference")
                                       : tr("Select two runs, with Ctrl and a click or Shift and the arrow keys"));
    if (!m_filling && names.size() == 1 && names.front() != m_shown)
        Q_EMIT openWanted(names.front());
}

/// The older one is A.
void RunsView::compare()
{
    const QStringList names = selected();
    if (names.size() == 2)
        Q_EMIT compareWanted(names.back(), names.front());
    else if (names.size() == 1 && !m_shown.isEmpty())
        Q_EMIT compareWanted(names.front(), m_shown);
}

void RunsView::askToDelete()
{
    if (const QStringList names = selected(); !names.isEmpty())
        Q_EMIT deleteWanted(names);
}

void RunsView::fillMenu(QMenu* menu)
{
    const QStringList names = selected();
    const bool one = names.size() == 1;
    const auto add = [&](const char* id, const QString& text, const QKeySequence& key, bool can, auto run) {
        QAction* action = menu->addAction(text, this, run);
        action->setObjectName(QLatin1String(id));
        action->setShortcut(key); // shown only: the list takes its keys itself
        action->setShortcutContext(Qt::WidgetShortcut);
        action->setEnabled(can);
    };
    add("runs.open", tr("Show in the Timeline"), Qt::Key_Return, one, [this, names] { Q_EMIT openWanted(names.front()); });
    add("runs.compare", tr("Compare"), {}, names.size() == 2, [this] { compare(); });
    add("runs.design", tr("Open Its Design"), {}, one, [this, names] { Q_EMIT designWanted(names.front()); });
    add("runs.rename", tr("Rename"), Qt::Key_F2, one, [this] {
        for (int row = 0; row < m_list->count(); ++row)
            if (m_list->item(row)->isSelected())
                m_list->editItem(m_list->item(row));
    });
    add("runs.delete", tr("Delete …"), Qt::Key_Delete, !names.isEmpty(), [this] { askToDelete(); });
    if (m_more) {
        menu->addSeparator();
        m_more(menu);
    }
}

bool RunsView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_list && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Delete) {
        askToDelete();
        return true;
    }
    return DocumentView::eventFilter(watched, event);
}

} // namespace shardboard
