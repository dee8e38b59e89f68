// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // false alarm of g++ 12 on copies of a variant
#endif
#include "widgets/explain/pinsview.h"

#include "widgets/edits/repairs.h"
#include "widgets/explain/rowsmodel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/narrowrows.h"
#include "widgets/tables/notedelegate.h"
#include "widgets/tables/tablecopy.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>

#include <algorithm>

namespace shardboard {

namespace {

enum Column { NumberColumn, NamesColumn, SaysColumn, SourceColumn, StateColumn, ColumnCount };

/// `batch over data, fsdp`, `row S1 R → S1 over model`
QString saysText(const Pin& pin)
{
    if (!pin.row.empty())
        return QObject::tr("row %1 over %2").arg(rowLabel(pin.row), qstr(pin.axis));
    const auto names = [](const std::vector<std::string>& axes) {
        QStringList out;
        for (const std::string& axis : axes)
            out << qstr(axis);
        return out.join(QStringLiteral(", "));
    };
    QStringList parts;
    for (const Pin::Dim& dim : pin.dims)
        parts << QObject::tr("%1 over %2").arg(qstr(dim.label), names(dim.axes));
    if (!pin.whole.empty())
        parts << QObject::tr("whole over %1").arg(names(pin.whole));
    return parts.join(QStringLiteral("; "));
}

QString namesText(const Pin& pin)
{
    if (pin.match == "*")
        return pin.row.empty() ? QObject::tr("all activations") : QObject::tr("all operations");
    return qstr(pin.match);
}

} // namespace

PinsView::PinsView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_list(new QTreeWidget(this))
    , m_new(new QLineEdit(this))
    , m_add(new QPushButton(tr("Add"), this))
    , m_remove(new QPushButton(tr("Remove"), this))
    , m_message(new QLabel(this))
    , m_empty(new QLabel(this))
{
    nameView("pinsView", tr("Pins"));
    nameWidget(m_list, "pinsList", tr("Pins"));
    m_list->setRootIsDecorated(false);
    m_list->setItemDelegateForColumn(StateColumn, new NoteDelegate(m_list));
    m_list->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_list->setColumnCount(ColumnCount);
    m_list->setHeaderLabels({ QString(), tr("names"), tr("says"), tr("set by"), tr("state") });
    m_list->header()->setMinimumSectionSize(24);
    m_list->header()->setStretchLastSection(true);
    constexpr int kNarrow = 480;
    m_rows = new NarrowRows(m_list, NamesColumn, { SaysColumn, SourceColumn, StateColumn }, kNarrow);
    m_list->installEventFilter(this);
    makeCopyable(m_list);
    nameWidget(m_new, "pinsNew", tr("New pin"));
    m_new->setPlaceholderText(QStringLiteral("*:batch=data"));
    m_new->setToolTip(tr("NAMES:LABEL=AXES keeps a dim of activations over mesh axes, *:batch=data,fsdp;\n"
                         "OPERATION@AXIS=ROW takes a row, self_attn.attention@model=S2 S2 S2 -> S2"));
    m_add->setObjectName(QStringLiteral("pinsAdd"));
    nameWidget(m_remove, "pinsRemove", {}, tr("Removes the selected pins (Delete)"));
    m_message->setObjectName(QStringLiteral("pinsMessage"));
    m_message->setWordWrap(true);
    m_message->setTextFormat(Qt::PlainText);
    m_message->hide();
    m_empty->setObjectName(QStringLiteral("pinsEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 8);
    top->addWidget(m_new, 1);
    top->addWidget(m_add);
    top->addWidget(m_remove);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 6 }, 0, this);
    column->addLayout(top);
    auto* message = new QHBoxLayout;
    message->setContentsMargins(kPanelMargin, 0, kPanelMargin, 4);
    message->addWidget(m_message);
    column->addLayout(message);
    auto* list = new QHBoxLayout;
    list->setContentsMargins(8, 0, 8, 0);
    list->addWidget(m_list);
    column->addLayout(list, 1);
    column->addWidget(m_empty, 1);
    connect(m_add, &QPushButton::clicked, this, [this] { add(); });
    connect(m_new, &QLineEdit::returnPressed, this, [this] { add(); });
    connect(m_new, &QLineEdit::textChanged, this, [this] { showState(); });
    connect(m_remove, &QPushButton::clicked, this, [this] { removeSelected(); });
    connect(m_list, &QTreeWidget::itemSelectionChanged, this, [this] { showState(); });
    connect(m_rows, &NarrowRows::changed, this, &PinsView::fitColumns);
    start();
}

QSize PinsView::sizeHint() const { return { 720, 240 }; }

void PinsView::refresh()
{
    const Theme& theme = Theme::of(this);
    m_list->clear();
    m_message->hide();
    const auto evaluation = document()->evaluation();
    const auto& pins = document()->design().pins;
    const PickerProfile profile = document()->design().picker.profile;
    for (std::size_t i = 0; evaluation && i < pins.size(); ++i) {
        const Pin& pin = pins[i];
        auto* item = new QTreeWidgetItem(m_list);
        item->setText(NumberColumn, QString::number(i + 1));
        item->setText(NamesColumn, namesText(pin));
        item->setText(SaysColumn, saysText(pin));
        item->setText(SourceColumn, pin.source.empty() ? tr("hand") : qstr(pin.source));
        item->setForeground(NumberColumn, theme.quiet);
        item->setForeground(SourceColumn, theme.quiet);
        item->setFont(SaysColumn, monoFont(this, -0.5));
        const std::string where = pinText(pin);
        QString state;
        for (const DesignFinding& finding : evaluation->findings)
            if ((finding.kind == "dead-pin" || finding.kind == "pin-unmet") && finding.where == where) {
                const QString message = toldText(finding.message);
                state = message.mid(message.indexOf(QLatin1Char(' '), 4) + 1); // without `pin 3`, and who set it
                if (const QString of = tr("of %1 ").arg(qstr(pin.source)); state.startsWith(of))
                    state.remove(0, of.size());
                item->setData(StateColumn, NoteDelegate::TextColorRole, theme.attention);
            }
        if (state.isEmpty() && profile != PickerProfile::Shardboard)
            state = tr("ignored: profile %1 does not support pins").arg(qstr(profileName(profile)));
        item->setData(StateColumn, NoteDelegate::TextRole, state);
        item->setData(StateColumn, Qt::AccessibleTextRole, state);
        item->setData(NamesColumn, NoteDelegate::TitleRole, item->text(NamesColumn));
        item->setData(NamesColumn, NoteDelegate::TextRole,
                      item->text(SaysColumn) + (pin.source.empty() ? QString() : tr(" · by %1").arg(item->text(SourceColumn)))
                          + (state.isEmpty() ? QString() : QLatin1Char('\n') + state));
        item->setData(NamesColumn, NoteDelegate::TextColorRole, item->data(StateColumn, NoteDelegate::TextColorRole));
        item->setSizeHint(NumberColumn, QSize(20, rowHeight(this)));
        for (int column = 0; column < ColumnCount; ++column)
            item->setToolTip(column, state.isEmpty() ? qstr(where) : qstr(where) + QLatin1Char('\n') + state);
    }
    fitColumns();
    setTextColor(m_empty, theme.quiet);
    setTextColor(m_message, theme.error);
    showState();
}

void PinsView::fitColumns()
{
    for (int column = 0; column < StateColumn; ++column) {
        if (m_rows->isNarrow() && column != NumberColumn)
            continue;
        m_list->resizeColumnToContents(column);
        constexpr int kWidest = 320;
        m_list->setColumnWidth(column, std::min(kWidest, m_list->columnWidth(column) + 8));
    }
}

void PinsView::showState()
{
    const bool graph = document()->hasDesign() && document()->design().model.hasGraph();
    const bool any = m_list->topLevelItemCount() > 0;
    m_list->setVisible(any);
    m_empty->setVisible(!any);
    m_empty->setMinimumHeight(2 * QFontMetrics(font()).lineSpacing()); // it wraps
    m_empty->setText(!document()->hasDesign() ? tr("No design is open.")
                         : graph              ? tr("No pins: “Pin this” in Why makes one.")
                                              : tr("There is no plan to pin: this model is open as weights only."));
    m_empty->setToolTip(graph ? tr("The picker takes what is cheapest everywhere") : QString());
    m_new->setEnabled(graph);
    m_add->setEnabled(graph && !m_new->text().trimmed().isEmpty());
    m_remove->setEnabled(!m_list->selectedItems().isEmpty());
}

void PinsView::showPin(int pin)
{
    if (QTreeWidgetItem* item = m_list->topLevelItem(pin)) {
        m_list->clearSelection();
        m_list->setCurrentItem(item);
        m_list->scrollToItem(item);
    }
}

void PinsView::removeSelected()
{
    Repair repair;
    for (const QTreeWidgetItem* item : m_list->selectedItems())
        repair.changes.push_back(RemovePin { m_list->indexOfTopLevelItem(const_cast<QTreeWidgetItem*>(item)) });
    if (repair.changes.empty())
        return;
    const auto& pins = document()->design().pins;
    const int first = std::get<RemovePin>(repair.changes.front()).index;
    repair.text = repair.changes.size() == 1 ? "Remove the pin " + pinText(pins[static_cast<std::size_t>(first)])
                                             : "Remove " + std::to_string(repair.changes.size()) + " pins";
    const Status status = applyRepair(*document(), repair);
    if (!status.ok()) {
        m_message->setText(errorText(status.error()));
        m_message->show();
    }
}

void PinsView::add()
{
    if (!m_add->isEnabled())
        return;
    auto pin = parsePin(m_new->text().toStdString(), {});
    Status status = done();
    if (!pin.ok())
        status = pin.error();
    else
        status = applyRepair(*document(), { "Pin " + pinText(pin.value()), { SetPin { pin.value() } } });
    if (!status.ok()) {
        m_message->setText(errorText(status.error()));
        m_message->show();
        return;
    }
    m_new->clear();
}

bool PinsView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_list && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Delete) {
        removeSelected();
        return true;
    }
    return DocumentView::eventFilter(watched, event);
}

} // namespace shardboard
