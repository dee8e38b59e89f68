// SPDX-License-Identifier: Apache-2.0
#include "widgets/explore/searchform.h"

#include "model/design/optimize/optimize.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/numberedit.h"
#include "widgets/controls/wrappedlabel.h"
#include "widgets/explore/exploresearch.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/settings/numberfrom.h"

#include <QCheckBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QStyle>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

constexpr double kMostGib = 1e9;
constexpr double kMostStep = 1e9;

QString gibText(double bytes) { return QString::number(bytes / kGib, 'g', 6); }

} // namespace

SearchForm::SearchForm(Document* document, ExploreSearch* search, QWidget* parent)
    : DocumentView(document, parent)
    , m_search(search)
{
    nameView("searchForm", tr("What to search for"));
    build();
    connect(search, &ExploreSearch::changed, this, &SearchForm::followSearch);
    // Also while nobody looks: the search and what it asks belong together.
    connect(document, &Document::evaluated, this, &SearchForm::followDesign);
    connect(m_again, &QPushButton::clicked, this, &SearchForm::restartWanted);
    connect(m_goOn, &QPushButton::clicked, this, [this] { m_question->hide(); });
    start();
    followDesign();
}

QSize SearchForm::sizeHint() const { return { 310, static_cast<int>(400 * textScale(this)) }; }

void SearchForm::addRow(QGridLayout* form, const QString& label, QWidget* field, int row)
{
    auto* name = new QLabel(label);
    name->setBuddy(field);
    form->addWidget(name, row, 0);
    form->addWidget(field, row, 1);
}

/// Widgets are made in the order of reading, which is that of Tab.
void SearchForm::build()
{
    auto* box = new QWidget;
    box->setAutoFillBackground(true);
    box->setBackgroundRole(QPalette::Base);
    auto* column = boxLayout<QVBoxLayout>({ kPanelMargin, 8, kPanelMargin, 8 }, 6, box);

    m_question = new QWidget(box);
    m_question->setObjectName(QStringLiteral("search.question"));
    auto* question = boxLayout<QVBoxLayout>({ 0, 0, 0, 6 }, 6, m_question);
    m_questionText = new WrappedLabel({}, m_question);
    m_again = new QPushButton(tr("Start Again"), m_question);
    nameWidget(m_again, "search.again", {}, tr("Stop this search, and start another one for what is asked now"));
    m_goOn = new QPushButton(tr("Go On"), m_question);
    nameWidget(m_goOn, "search.goOn", {}, tr("Let the search go on as it began"));
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(m_again);
    buttons->addWidget(m_goOn);
    buttons->addStretch(1);
    question->addWidget(m_questionText);
    question->addLayout(buttons);
    m_question->hide();
    column->addWidget(m_question);

    m_objective = new ChoiceBox(false, box);
    nameWidget(m_objective, "search.objective", tr("Objective"));
    for (const auto& [objective, text] :
         { std::pair(SearchObjective::StepTime, tr("step time")),
           std::pair(SearchObjective::TokensPerDevice, tr("tokens a second")), std::pair(SearchObjective::Memory, tr("memory")),
           std::pair(SearchObjective::SlowestLink, tr("slowest link")) })
        m_objective->addChoice(text, {}, static_cast<int>(objective));
    m_objective->choose(0);
    m_memory = new QLineEdit(box);
    nameWidget(m_memory, "search.memory", tr("Memory of a device, at most, in GiB"),
               tr("What a device may need, in GiB; empty: no limit. In the plot the dashed line can be dragged"));
    m_step = new QLineEdit(box);
    nameWidget(m_step, "search.step", tr("Step, at most, in seconds"), tr("What a step may take, in seconds; empty: no limit"));
    m_devices = new NumberEdit(box);
    nameWidget(m_devices, "search.devices", tr("Devices"), tr("How many devices, where the shape of the mesh may change"));
    m_time = new ChoiceBox(false, box);
    nameWidget(m_time, "search.time", tr("Time, at most"));
    for (const int seconds : { 5, 10, 30, 60, 300, 600 })
        m_time->addChoice(seconds < 60 ? tr("%1 s").arg(seconds) : tr("%1 min").arg(seconds / 60), {}, seconds);
    m_time->choose(60);
    for (QLineEdit* edit : { m_memory, m_step }) {
        edit->setAlignment(Qt::AlignRight);
        edit->setMinimumWidth(60);
        edit->setPlaceholderText(tr("no limit"));
    }
    m_devices->setAlignment(Qt::AlignRight);
    auto* form = new QGridLayout;
    form->setHorizontalSpacing(8);
    form->setVerticalSpacing(4);
    form->setColumnStretch(1, 1);
    addRow(form, tr("&Objective"), m_objective, 0);
    addRow(form, tr("&Memory, GiB"), m_memory, 1);
    addRow(form, tr("Ste&p, s"), m_step, 2);
    addRow(form, tr("Devi&ces"), m_devices, 3);
    addRow(form, tr("&Time, at most"), m_time, 4);
    column->addLayout(form);

    m_partsTitle = new QLabel(tr("MAY CHANGE"), box);
    column->addSpacing(4);
    column->addWidget(m_partsTitle);
    m_partsGrid = new QGridLayout;
    m_partsGrid->setHorizontalSpacing(8);
    m_partsGrid->setVerticalSpacing(2);
    const auto add = [&](const char* id, const QString& text, const QString& tip, bool SearchedParts::*part) {
        auto* check = new QCheckBox(text, box);
        nameWidget(check, id, {}, tip);
        m_parts.push_back({ check, part });
        connect(check, &QCheckBox::toggled, this, &SearchForm::fieldEdited);
    };
    add("search.layouts", tr("layouts"), tr("Of all weights and activations at once, with a lower bound"), &SearchedParts::layouts);
    add("search.mesh", tr("mesh shape"), tr("How many devices are stages, copies, and shards; each shape with every preset"),
        &SearchedParts::mesh);
    add("search.order", tr("axis order"), tr("In which order the mesh axes lie on the hardware"), &SearchedParts::order);
    add("search.microBatches", tr("micro-batches"), tr("Into how many parts the batch goes"), &SearchedParts::microBatches);
    add("search.virtualStages", tr("virtual stages"), tr("How many parts of the layers a stage of the pipeline has"),
        &SearchedParts::virtualStages);
    add("search.recompute", tr("recompute"), tr("What is computed again in the backward pass"), &SearchedParts::recompute);
    add("search.zero", tr("optimizer"), tr("Whether optimizer states, and gradients, are cut over the copies (ZeRO)"),
        &SearchedParts::zero);
    add("search.precision", tr("precision"), tr("fp8 products, where the device has them"), &SearchedParts::precision);
    column->addLayout(m_partsGrid);
    layOutParts(1);
    m_note = new WrappedLabel({}, box);
    m_note->setObjectName(QStringLiteral("search.note"));
    column->addWidget(m_note);
    column->addStretch(1);

    auto* scroll = new QScrollArea(this); // in a low panel
    scroll->setObjectName(QStringLiteral("searchFormScroll"));
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(box);
    auto* whole = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    whole->addWidget(scroll);
    setMinimumHeight(60);
    m_parts.front().box->setChecked(true); // layouts alone
    for (QComboBox* choice : { m_objective, m_time })
        connect(choice, &QComboBox::activated, this, &SearchForm::fieldEdited);
    for (QLineEdit* edit : { m_memory, m_step, static_cast<QLineEdit*>(m_devices) })
        connect(edit, &QLineEdit::textEdited, this, &SearchForm::fieldEdited);
}

/// Side by side where both columns have room.
void SearchForm::layOutParts(int columns)
{
    m_partsColumns = columns;
    for (const Part& part : m_parts)
        m_partsGrid->removeWidget(part.box);
    int at = 0;
    for (const Part& part : m_parts) {
        m_partsGrid->addWidget(part.box, at / columns, at % columns);
        ++at;
    }
}

void SearchForm::fitParts()
{
    if (m_partsGrid == nullptr)
        return;
    int widest = 0;
    for (const Part& part : m_parts)
        widest = std::max(widest, part.box->sizeHint().width());
    const int scrollBar = style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, this);
    const int room = width() - 2 * kPanelMargin - scrollBar;
    const int columns = 2 * widest + m_partsGrid->horizontalSpacing() <= room ? 2 : 1;
    if (columns != m_partsColumns)
        layOutParts(columns);
}

void SearchForm::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    fitParts();
}

QString SearchForm::whyNotMemory() const
{
    const QString text = m_memory->text().trimmed();
    const auto number = numberFrom(text);
    return text.isEmpty() || (number && *number > 0 && *number <= kMostGib) ? QString() : tr("the memory is no number of GiB");
}

QString SearchForm::whyNotSeconds() const
{
    const QString text = m_step->text().trimmed();
    const auto number = numberFrom(text);
    return text.isEmpty() || (number && *number > 0 && *number <= kMostStep) ? QString() : tr("the step is no number of seconds");
}

QString SearchForm::whyNot() const
{
    if (!document()->hasDesign())
        return tr("no design is open");
    if (!document()->design().model.hasGraph())
        return tr("this design has no plan to optimize");
    for (const QString& why : { whyNotMemory(), whyNotSeconds() })
        if (!why.isEmpty())
            return why;
    const SearchedParts parts = request().parts;
    if (!parts.layouts && !parts.aroundLayouts())
        return tr("nothing may change");
    if (parts.mesh && (m_devices->value() < 1 || m_devices->value() > kMaxDevices))
        return tr("the devices are no number from 1 to %1").arg(countText(kMaxDevices));
    return {};
}

ExploreRequest SearchForm::request() const
{
    ExploreRequest out;
    out.objective = static_cast<SearchObjective>(m_objective->currentData().toInt());
    const auto memory = numberFrom(m_memory->text().trimmed());
    if (memory && whyNotMemory().isEmpty()) {
        // What the device has is not what six digits of it say.
        const auto usable = document()->hasDesign() ? usableMemory(document()->design()) : Result<double>(0.0);
        const bool all = usable.ok() && gibText(usable.value()) == m_memory->text().trimmed();
        out.memoryBytes = all ? usable.value() : *memory * kGib;
    }
    const auto step = numberFrom(m_step->text().trimmed());
    if (step && whyNotSeconds().isEmpty())
        out.mostSeconds = *step;
    for (const Part& part : m_parts)
        out.parts.*part.part = part.box->isChecked() && part.box->isEnabled();
    out.devices = out.parts.mesh ? m_devices->value() : document()->hasDesign() ? document()->design().mesh.deviceCount() : 1;
    out.seconds = m_time->currentData().toInt();
    return out;
}

void SearchForm::setMemory(double bytes)
{
    m_memory->setText(gibText(bytes));
    fieldEdited();
}

void SearchForm::fieldEdited()
{
    showWhatHolds();
    if (m_search->isBusy() && !(request() == m_search->request()))
        ask();
    Q_EMIT edited();
}

/// What of the form makes sense for the design, and what is wrong with it.
void SearchForm::showWhatHolds()
{
    setRefused(m_memory, !whyNotMemory().isEmpty());
    setRefused(m_step, !whyNotSeconds().isEmpty());
    const bool open = document()->hasDesign();
    const bool trains = open && document()->design().workload.kind == WorkloadKind::Train;
    for (const Part& part : m_parts) {
        const bool ofTraining = part.part == &SearchedParts::microBatches || part.part == &SearchedParts::recompute
            || part.part == &SearchedParts::zero || part.part == &SearchedParts::precision
            || part.part == &SearchedParts::virtualStages;
        part.box->setEnabled(trains || !ofTraining);
    }
    const SearchedParts parts = request().parts;
    m_devices->setEnabled(parts.mesh);
    if (!parts.mesh && open)
        m_devices->setValue(document()->design().mesh.deviceCount());
    QString note;
    if (open) {
        const auto& pins = document()->design().pins;
        const auto byHand = std::count_if(pins.begin(), pins.end(), [](const Pin& pin) { return pin.source.empty(); });
        if (parts.mesh)
            note = tr("Each mesh is laid out by presets, without the strategies and pins of this design.");
        else if (byHand > 0)
            note = tr("%1 set by hand stay.").arg(counted(byHand, tr("pin"), tr("pins")));
    }
    m_note->setFullText(note);
    m_note->setVisible(!note.isEmpty());
}

void SearchForm::ask()
{
    if (std::exchange(m_asked, true))
        return;
    m_questionText->setFullText(
        tr("This is no longer what the search began with. It goes on as it began, and keeps what it finds."));
    m_question->show();
}

bool SearchForm::isAsking() const { return !m_question->isHidden(); }

void SearchForm::followSearch()
{
    if (m_search->isBusy())
        return;
    m_asked = false; // about the next one
    m_question->hide();
}

void SearchForm::followDesign()
{
    if (document()->hasDesign()) {
        const Design& design = document()->design();
        const auto usable = usableMemory(design);
        if (usable.ok() && m_hardware != gibText(usable.value())) { // another device
            m_hardware = gibText(usable.value());
            m_memory->setText(m_hardware);
        }
        if (m_meshDevices != design.mesh.deviceCount()) {
            m_meshDevices = design.mesh.deviceCount();
            m_devices->setValue(m_meshDevices);
        }
        if (m_search->isBusy() && !m_ignoring)
            ask();
    }
    showWhatHolds();
    Q_EMIT edited();
}

void SearchForm::refresh()
{
    fitParts();
    const Theme& theme = Theme::of(this);
    setTextColor(m_partsTitle, theme.quiet);
    m_partsTitle->setFont(uiFont(this, -1.5, true));
    setTextColor(m_note, theme.quiet);
    showWhatHolds();
}

} // namespace shardboard
