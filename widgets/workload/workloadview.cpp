// SPDX-License-Identifier: Apache-2.0
#include "widgets/workload/workloadview.h"

#include "model/design/presets/relaid.h"
#include "widgets/controls/card.h"
#include "widgets/controls/viewheader.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/workload/settingrow.h"
#include "widgets/workload/settingsection.h"

#include <QFrame>
#include <QLabel>
#include <QLayout>
#include <QPushButton>
#include <QScrollArea>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

QString effectText(const SettingEffect& effect)
{
    if (!effect.refusal.isEmpty())
        return effect.refusal;
    QStringList lines { stepEffectText(effect), memoryEffectText(effect) };
    lines.removeAll(QString());
    return lines.join(QLatin1Char('\n'));
}

bool isGood(const SettingEffect& effect) { return effect.refusal.isEmpty() && effect.then.fits(); }

} // namespace

WorkloadView::WorkloadView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_header(new ViewHeader(tr("Workload and settings"), this))
    , m_totals(new QLabel(this))
    , m_empty(new QLabel(tr("No design is open."), this))
    , m_scroll(new QScrollArea(this))
    , m_trying(new LatestJob(this))
    , m_listing(new LatestJob(this))
    , m_relaying(new LatestJob(this))
{
    nameView("workloadView", tr("Workload and settings"));
    build();
    connect(document, &Document::opened, this, [this] { // what was typed was meant for the one before
        m_trying->forget();
        for (SettingRow* row : rows())
            row->revert();
    });
    for (const SettingGroup& group : settingGroups({}))
        if (group.common)
            m_unfolded << group.id;
    start();
}

void WorkloadView::build()
{
    m_totals->setObjectName(QStringLiteral("workloadTotals"));
    m_totals->setTextFormat(Qt::PlainText);
    m_totals->setWordWrap(true);
    m_totals->setContentsMargins(kPanelMargin, 0, kPanelMargin, 6);
    m_empty->setObjectName(QStringLiteral("workloadEmpty"));
    m_empty->setContentsMargins(kPanelMargin, 8, kPanelMargin, 8);
    nameWidget(m_scroll, "workloadScroll", tr("Settings"));
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->setFocusPolicy(Qt::NoFocus);
    auto* page = new QWidget(m_scroll);
    page->setAutoFillBackground(true);
    page->setBackgroundRole(QPalette::Base);
    m_column = boxLayout<QVBoxLayout>({ kPanelMargin, 4, kPanelMargin, kPanelMargin }, 10, page);
    m_scroll->setWidget(page);
    auto* all = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    all->addWidget(m_header);
    all->addWidget(m_totals);
    all->addWidget(m_empty);
    all->addWidget(m_scroll, 1);
}

QSize WorkloadView::sizeHint() const { return { 310, 560 }; }

std::vector<SettingRow*> WorkloadView::rows() const
{
    std::vector<SettingRow*> out;
    for (const SettingSection* section : m_sections)
        out.insert(out.end(), section->rows().begin(), section->rows().end());
    return out;
}

/// An edit may make other rows.
bool WorkloadView::has(const SettingRow* row) const
{
    const auto there = rows();
    return std::ranges::find(there, row) != there.end();
}

void WorkloadView::connectRow(SettingRow* row)
{
    connect(row, &SettingRow::edited, this, [this, row] { tryEdit(row); });
    connect(row, &SettingRow::listed, this, [this, row] { tryOptions(row); });
    connect(row, &SettingRow::applied, this, [this, row](const QString& text) { apply(row, text); });
}

void WorkloadView::makeSections(const std::vector<SettingGroup>& groups)
{
    QWidget* page = m_scroll->widget();
    for (const SettingGroup& group : groups) {
        auto* section = new SettingSection(group, page);
        m_sections.push_back(section);
        m_column->addWidget(section);
        connect(section, &SettingSection::rowMade, this, &WorkloadView::connectRow);
        section->setOpen(m_unfolded.contains(group.id));
    }
    m_column->addStretch(1);
    const auto footed = [this](const char* id) {
        return *std::ranges::find_if(m_sections, [&](const SettingSection* one) { return one->group().id == QLatin1String(id); });
    };
    m_usual = new QPushButton(tr("Default values"), page);
    nameWidget(m_usual, "memory.usual", tr("Default memory settings"));
    footed("memory")->setFooter(m_usual);
    connect(m_usual, &QPushButton::clicked, this, [this] {
        Design edited = this->document()->design();
        edited.memory = {};
        (void)this->document()->edit(edited, tr("Default memory settings")).ok(); // the usual values are never refused
    });
    m_hardware = new QPushButton(tr("Edit hardware …"), page);
    nameWidget(m_hardware, "workload.editHardware", {}, tr("Bandwidths, latencies, peaks and memory, one by one"));
    footed("hardware")->setFooter(m_hardware);
    connect(m_hardware, &QPushButton::clicked, this, &WorkloadView::hardwareRequested);
}

QStringList WorkloadView::unfolded() const
{
    if (m_sections.empty())
        return m_unfolded;
    QStringList out;
    for (const SettingSection* section : m_sections)
        if (section->isOpen())
            out << section->group().id;
    return out;
}

void WorkloadView::setUnfolded(const QStringList& sections)
{
    m_unfolded = sections;
    for (SettingSection* section : m_sections)
        section->setOpen(sections.contains(section->group().id));
}

void WorkloadView::refresh()
{
    const bool open = document()->hasDesign();
    m_empty->setVisible(!open);
    m_scroll->setVisible(open);
    m_totals->setVisible(open);
    setTextColor(m_empty, Theme::of(this).quiet);
    m_trying->forget();
    m_listing->forget();
    if (!open) {
        m_relaying->forget();
        return;
    }
    const auto design = std::make_shared<const Design>(document()->design());
    auto groups = settingGroups(*design);
    if (m_sections.empty())
        makeSections(groups);
    for (std::size_t i = 0; i < groups.size(); ++i)
        m_sections[i]->showDesign(std::move(groups[i]), design);
    for (SettingRow* row : rows())
        if (row->pending())
            tryEdit(row); // against what the design is now
    m_usual->setEnabled(!(document()->design().memory == MemorySettings {}));
    showTotals();
    askPreset();
}

void WorkloadView::themeChanged()
{
    for (SettingSection* section : m_sections)
        section->updateLook();
    delete std::exchange(m_preset, nullptr); // its fonts are those that it was made with
    m_askedOf = nullptr;
    refresh();
}

void WorkloadView::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    if (document()->hasDesign())
        askPreset();
}

void WorkloadView::showTotals()
{
    const DesignCost cost = costOf(document()->design(), *document()->evaluation());
    QStringList parts;
    if (cost.seconds > 0)
        parts << tr("step %1").arg(secondsText(cost.seconds));
    if (cost.peakBytes > 0)
        parts << (cost.limitBytes > 0 ? tr("memory %1 of %2").arg(bytesText(cost.peakBytes), bytesText(cost.limitBytes))
                                      : tr("memory %1").arg(bytesText(cost.peakBytes)));
    if (cost.fit() != Fit::Fits)
        parts << fitText(cost);
    m_totals->setText(parts.join(QStringLiteral(" · ")));
    m_totals->setToolTip(tr("As the design is: a step, and what the fullest device holds of its memory"));
    m_totals->setFont(uiFont(this, -1));
    setTextColor(m_totals, cost.fits() ? Theme::of(this).quiet : Theme::of(this).error);
}

bool WorkloadView::focusSetting(const QString& id)
{
    SettingRow* found = nullptr;
    if (id.isEmpty()) {
        for (SettingRow* row : rows())
            if (found == nullptr && row->isVisibleTo(this) && row->field()->isEnabled())
                found = row;
    } else {
        for (SettingSection* section : m_sections)
            if (found == nullptr)
                found = section->reveal(id);
    }
    if (found == nullptr)
        return false;
    found->field()->setFocus(Qt::ShortcutFocusReason);
    // A section that was unfolded just now has its place, and the page is as long as it.
    QWidget* page = m_scroll->widget();
    page->layout()->activate();
    const int height = page->layout()->hasHeightForWidth() ? page->layout()->totalHeightForWidth(page->width())
                                                           : page->layout()->totalSizeHint().height();
    page->resize(page->width(), std::max(height, m_scroll->viewport()->height()));
    m_scroll->ensureWidgetVisible(found, 0, 40);
    return true;
}

QString WorkloadView::applySetting(Document& document, const Setting& setting, const QString& text)
{
    Design edited = document.design();
    if (const QString problem = setting.set(edited, text); !problem.isEmpty())
        return problem;
    const Status status = document.edit(edited, setting.editText(edited));
    return status.ok() ? QString() : errorText(status.error());
}

QString WorkloadView::applyWaiting()
{
    QStringList refused;
    for (SettingRow* row : rows())
        if (const auto text = has(row) ? row->pending() : std::nullopt) {
            const QString problem = apply(row, *text);
            if (!problem.isEmpty())
                refused << problem;
        }
    return refused.join(QLatin1Char(' '));
}

/// What is in the field, as an edit: evaluated elsewhere; only the last one is shown.
void WorkloadView::tryEdit(SettingRow* row)
{
    m_trying->forget();
    if (m_preset && m_preset->isVisible()) {
        m_preset->hide(); // it may be of the text before
        m_askedOf = nullptr;
        askPreset();
    }
    const auto text = row->pending();
    if (!text || !document()->hasDesign()) {
        row->showEffect({}, false);
        return;
    }
    auto edited = std::make_shared<Design>(document()->design());
    if (const QString problem = row->setting().set(*edited, *text); !problem.isEmpty()) {
        row->showProblem(problem);
        return;
    }
    if (*edited == document()->design()) {
        row->showEffect(tr("as it is"), false);
        return;
    }
    row->showEffect(tr("…"), false);
    const auto before = document()->evaluation();
    m_trying->ask([this, row, edited, before, now = costOf(document()->design(), *before)](const std::atomic<bool>&) {
        return LatestJob::Answer([this, row, edited, effect = effectOf(*edited, now, *before)] {
            if (effect.refusal.isEmpty()) {
                row->showEffect(effectText(effect), !isGood(effect));
                return;
            }
            row->showProblem(effect.refusal);
            askPresetFor(*edited, row->setting().editText(*edited));
        });
    });
}

/// Returns why it was refused.
QString WorkloadView::apply(SettingRow* row, const QString& text)
{
    m_trying->forget();
    if (!document()->hasDesign())
        return {};
    Design edited = document()->design();
    QString problem = row->setting().set(edited, text);
    if (problem.isEmpty()) {
        row->settled(); // before the document tells of the edit
        const Status status = document()->edit(edited, row->setting().editText(edited));
        if (status.ok()) {
            if (has(row))
                row->showDesign(std::make_shared<const Design>(document()->design())); // 8.0 becomes 8 also where nothing changed
            return {};
        }
        problem = errorText(status.error());
        row->unsettled(std::make_shared<const Design>(document()->design()), text);
        askPresetFor(edited, row->setting().editText(edited));
    }
    if (!row->setting().isNumber())
        row->revert();
    row->showProblem(problem);
    return problem;
}

/// Each option of a list with what it would do, as soon as that is known.
void WorkloadView::tryOptions(SettingRow* row)
{
    const auto before = document()->evaluation();
    if (!before)
        return;
    struct Candidate {
        QString value;
        Design design;
    };
    auto candidates = std::make_shared<std::vector<Candidate>>();
    for (const Setting::Option& option : row->setting().options) {
        Design edited = document()->design();
        if (option.value != row->setting().text(edited) && row->setting().set(edited, option.value).isEmpty())
            candidates->push_back({ option.value, std::move(edited) });
    }
    m_listing->askTelling([row, candidates, before, now = costOf(document()->design(), *before)](const std::atomic<bool>& stop,
                                                                                                 const LatestJob::Tell& tell) {
        for (const Candidate& candidate : *candidates) {
            if (stop)
                break;
            const QString effect = shortEffectText(effectOf(candidate.design, now, *before));
            tell([row, value = candidate.value, effect] { row->showOptionEffect(value, effect); });
        }
        return LatestJob::Answer();
    });
}

/// Whether the preset that laid the design out would do it otherwise now.
void WorkloadView::askPreset()
{
    const auto before = document()->evaluation();
    if (!isVisible() || m_askedOf == before)
        return;
    m_askedOf = before;
    if (m_preset)
        m_preset->hide();
    const auto design = std::make_shared<const Design>(document()->design());
    m_relaying->ask([this, design, before](const std::atomic<bool>& stop) {
        const auto relaid = relaidByPreset(*design, [&] { return stop.load(); });
        if (!relaid)
            return LatestJob::Answer();
        return LatestJob::Answer([this, relaid, effect = effectOf(relaid->design, costOf(*design, *before), *before)] {
            const QString name = qstr(relaid->preset);
            showPreset(tr("Preset %1 lays this out otherwise now").arg(name), tr("Re-apply preset %1").arg(name), effect,
                       relaid->design);
        });
    });
}

/// An edit that the present layout does not take, a batch that no longer divides for one: with the layout that the preset makes for
/// it.
void WorkloadView::askPresetFor(const Design& refused, const QString& text)
{
    const auto before = document()->evaluation();
    const auto edited = std::make_shared<const Design>(refused);
    m_relaying->ask([this, edited, before, text, now = costOf(document()->design(), *before)](const std::atomic<bool>& stop) {
        const auto relaid = relaidByPreset(*edited, [&] { return stop.load(); });
        if (!relaid)
            return LatestJob::Answer();
        return LatestJob::Answer([this, relaid, text, effect = effectOf(relaid->design, now, *before)] {
            if (effect.refusal.isEmpty())
                showPreset(tr("%1 with the layout that preset %2 has for it").arg(text, qstr(relaid->preset)),
                           tr("%1, re-apply preset %2").arg(text, qstr(relaid->preset)), effect, relaid->design);
        });
    });
}

void WorkloadView::showPreset(const QString& title, const QString& text, const SettingEffect& effect, const Design& design)
{
    const auto look = effect.refusal.isEmpty() ? Card::Look::Attention : Card::Look::Error;
    if (m_preset == nullptr) {
        m_preset = new Card(title, {}, effectText(effect), look, m_scroll->widget());
        m_preset->setObjectName(QStringLiteral("workloadPreset"));
        m_column->insertWidget(0, m_preset);
    } else {
        m_preset->renew(title, {}, effectText(effect), look);
    }
    if (effect.refusal.isEmpty()) {
        QPushButton* button = m_preset->addButton(tr("Re-apply preset layout"), {});
        connect(
            button, &QPushButton::clicked, this,
            [this, design, text, before = m_askedOf] {
                if (document()->evaluation() != before)
                    return; // it was made for another design
                focusSetting(); // the button goes
                if (const Status status = document()->edit(design, text); !status.ok() && m_preset)
                    m_preset->setTexts(tr("Refused"), {}, errorText(status.error()));
            },
            Qt::QueuedConnection); // the edit removes the button
    }
    m_preset->settled();
    m_preset->show();
}

} // namespace shardboard
