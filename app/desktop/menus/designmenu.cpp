// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/menus/designmenu.h"

#include "app/desktop/base/banner.h"
#include "app/desktop/menus/memorymenu.h"
#include "model/design/presets/presets.h"
#include "model/hardware/hardware.h"
#include "model/session/document.h"
#include "widgets/edits/pickermenu.h"
#include "widgets/look/format.h"

#include <QActionGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QSpinBox>
#include <QWidgetAction>

#include <algorithm>
#include <climits>

namespace shardboard {

namespace {

/// Training has one input more, which lies as the tokens do.
void layTargetsAsTokens(Design& design)
{
    auto& entries = design.strategies;
    const auto named = [&](const char* name) {
        return std::find_if(entries.rbegin(), entries.rend(), [&](const StrategyEntry& entry) { return entry.match == name; });
    };
    if (const auto tokens = named("tokens"); tokens != entries.rend() && named("targets") == entries.rend()) {
        StrategyEntry targets = *tokens;
        targets.match = "targets";
        entries.insert(tokens.base(), std::move(targets));
    }
}

} // namespace

DesignMenu::DesignMenu(Document* document, Banner* banner, QMenu* menu)
    : QObject(menu)
    , m_document(document)
    , m_banner(banner)
{
    menu->setToolTipsVisible(true);
    addPresets(menu->addMenu(tr("&Preset")));
    addPicker(menu->addMenu(tr("P&icker")));
    addHardware(menu->addMenu(tr("&Hardware")));
    addWorkload(menu->addMenu(tr("&Workload")));
    QMenu* optimizer = menu->addMenu(tr("&Optimizer States (ZeRO)"));
    new MemoryMenu(document, banner, optimizer, menu->addMenu(tr("&Memory")));
    connect(menu, &QMenu::aboutToShow, this, [this] { showState(); });
    connect(m_document, &Document::evaluated, this, [this] { showState(); });
    showState();
}

void DesignMenu::addPresets(QMenu* menu)
{
    menu->setObjectName(QStringLiteral("presetMenu"));
    menu->setToolTipsVisible(true);
    for (const std::string& name : presetNames()) {
        QAction* action = menu->addAction(qstr(name));
        action->setObjectName(QStringLiteral("preset.") + qstr(name));
        action->setToolTip(qstr(presetWhat(name)));
        connect(action, &QAction::triggered, this, [this, name] { applyPreset(qstr(name)); });
    }
}

void DesignMenu::applyPreset(const QString& name)
{
    if (!m_document->hasDesign())
        return;
    Design edited = m_document->design();
    const auto applied = shardboard::applyPreset(edited, name.toStdString());
    if (!applied.ok()) {
        m_banner->showError(qstr(applied.error().text()));
        return;
    }
    const std::vector<std::string>& notes = applied.value();
    edit(edited, tr("Preset %1").arg(name));
    if (!notes.empty())
        m_banner->showInfo(qstr(notes.front()));
}

void DesignMenu::addPicker(QMenu* menu)
{
    menu->setObjectName(QStringLiteral("pickerMenu"));
    const auto* picker = new PickerMenu(m_document, menu);
    connect(picker, &PickerMenu::refused, m_banner, &Banner::showError);
}

void DesignMenu::addHardware(QMenu* menu)
{
    menu->setObjectName(QStringLiteral("hardwareMenu"));
    QList<QPair<QString, QString>> choices;
    for (const Hardware& hardware : hardwarePresets())
        choices.append({ qstr(hardware.id), qstr(hardware.name) });
    menu->setToolTipsVisible(true);
    m_hardware = addChoices(
        menu, choices,
        [](Design& design, const QString& id) {
            if (auto preset = findHardware(id.toStdString()); preset.ok())
                setHardware(design, std::move(preset).value());
        },
        tr("Hardware %1"));
}

void DesignMenu::addWorkload(QMenu* menu)
{
    m_workloads = addChoices(
        menu,
        { { QStringLiteral("prefill"), tr("Whole sequences at once") },
          { QStringLiteral("decode"), tr("One token each, with a KV cache") },
          { QStringLiteral("train"), tr("Forward, backward, and the optimizer's step") } },
        [](Design& design, const QString& name) {
            design.workload.kind = workloadFromName(name.toStdString()).value_or(WorkloadKind::Prefill);
            if (design.workload.kind == WorkloadKind::Train) {
                layTargetsAsTokens(design);
                return;
            }
            design.workload.microBatches = 1; // both are of training
            design.workload.recompute = Recompute::None;
        },
        tr("Workload %1"));
    menu->addSeparator();
    m_batch = addNumber(menu, tr("Batch"), QStringLiteral("workload.batch"),
                        [](Design& design, qint64 value) { design.workload.batch = value; });
    m_sequence = addNumber(menu, tr("Sequence"), QStringLiteral("workload.sequence"),
                           [](Design& design, qint64 value) { design.workload.sequence = value; });
    m_microBatches = addNumber(menu, tr("Micro-batches"), QStringLiteral("workload.microBatches"),
                               [](Design& design, qint64 value) { design.workload.microBatches = value; });
    m_microBatches->setToolTip(tr("In training, the batch is split into this many parts"));
    QMenu* recompute = menu->addMenu(tr("&Recompute"));
    recompute->setObjectName(QStringLiteral("recomputeMenu"));
    recompute->setToolTipsVisible(true);
    m_recompute = addChoices(
        recompute,
        { { QStringLiteral("none"), tr("Every activation that the backward pass needs is saved") },
          { QStringLiteral("selective"), tr("Activations that are cheap to compute and large to save are recomputed") },
          { QStringLiteral("full"), tr("Only the input of a layer is saved; the layer is recomputed") } },
        [](Design& design, const QString& name) {
            design.workload.recompute = recomputeFromName(name.toStdString()).value_or(Recompute::None);
        },
        tr("Recompute %1"));
    QMenu* attention = menu->addMenu(tr("&Attention"));
    attention->setObjectName(QStringLiteral("attentionMenu"));
    attention->setToolTipsVisible(true);
    m_attention = addChoices(
        attention,
        { { QStringLiteral("flash"), tr("One kernel: the scores never reach memory") },
          { QStringLiteral("unfused"), tr("Two matrix products with softmax in between: the scores are written, read and kept") } },
        [](Design& design, const QString& name) {
            design.workload.attention = attentionKernelFromName(name.toStdString()).value_or(AttentionKernel::Flash);
        },
        tr("Attention %1"));
    QMenu* overlap = menu->addMenu(tr("&Overlap of Collectives"));
    overlap->setObjectName(QStringLiteral("overlapMenu"));
    overlap->setToolTipsVisible(true);
    m_overlap = addChoices(
        overlap,
        { { QStringLiteral("none"), tr("Every collective is waited for") },
          { QStringLiteral("weights"),
            tr("Those of weights and their gradients overlap with the computation of their layer, like FSDP's prefetching") },
          { QStringLiteral("all"),
            tr("All overlap with the computation of their layer: a lower bound that no framework reaches") } },
        [](Design& design, const QString& name) {
            design.workload.overlap = overlapFromName(name.toStdString()).value_or(Overlap::None);
        },
        tr("Overlap %1"));
}

QActionGroup* DesignMenu::addChoices(QMenu* menu, const QList<QPair<QString, QString>>& choices,
                                     const std::function<void(Design&, const QString&)>& change, const QString& editText)
{
    auto* group = new QActionGroup(menu);
    for (const auto& [name, toolTip] : choices) {
        QAction* action = menu->addAction(name);
        action->setObjectName(QStringLiteral("choose.") + name);
        action->setData(name);
        action->setToolTip(toolTip);
        action->setCheckable(true);
        group->addAction(action);
    }
    connect(group, &QActionGroup::triggered, this, [this, change, editText](QAction* action) {
        Design edited = m_document->design();
        change(edited, action->data().toString());
        edit(edited, editText.arg(action->data().toString()));
    });
    return group;
}

QSpinBox* DesignMenu::addNumber(QMenu* menu, const QString& label, const QString& name,
                                const std::function<void(Design&, qint64)>& change)
{
    auto* row = new QWidget(menu);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(24, 4, 12, 4);
    auto* box = new QSpinBox(row);
    box->setObjectName(name);
    box->setAccessibleName(label);
    box->setRange(1, INT_MAX);
    box->setKeyboardTracking(false); // one edit for a number, not one for each digit
    layout->addWidget(new QLabel(label, row), 1);
    layout->addWidget(box);
    auto* action = new QWidgetAction(menu);
    action->setDefaultWidget(row);
    menu->addAction(action);
    connect(box, &QSpinBox::valueChanged, this, [this, change, label](int value) {
        if (!m_document->hasDesign())
            return;
        Design edited = m_document->design();
        change(edited, value);
        edit(edited, QStringLiteral("%1 %2").arg(label).arg(value));
    });
    return box;
}

void DesignMenu::edit(const Design& edited, const QString& text)
{
    if (!m_document->hasDesign() || edited == m_document->design())
        return;
    const auto status = m_document->edit(edited, text);
    if (!status.ok())
        m_banner->showError(qstr(status.error().text()));
    showState(); // also after a refusal: the menu shows what is, not what was tried
}

void DesignMenu::showState()
{
    const bool open = m_document->hasDesign();
    const auto* menu = static_cast<const QMenu*>(parent());
    for (QAction* action : menu->actions())
        action->setEnabled(open);
    if (!open)
        return;
    const Design& design = m_document->design();
    const auto check = [](const QActionGroup* group, const QString& name) {
        for (QAction* action : group->actions())
            action->setChecked(action->data().toString() == name);
    };
    check(m_hardware, qstr(design.hardware));
    check(m_workloads, qstr(workloadName(design.workload.kind)));
    check(m_recompute, qstr(recomputeName(design.workload.recompute)));
    check(m_attention, qstr(attentionKernelName(design.workload.attention)));
    check(m_overlap, qstr(overlapName(design.workload.overlap)));
    const bool train = design.workload.kind == WorkloadKind::Train;
    m_microBatches->setEnabled(train);
    for (QAction* action : m_recompute->actions()) {
        action->setEnabled(train);
        action->setProperty("whyNot", tr("only a training step saves activations"));
    }
    const auto show = [](QSpinBox* box, qint64 value) {
        const QSignalBlocker blocker(box);
        box->setValue(static_cast<int>(std::min<qint64>(value, INT_MAX)));
    };
    show(m_batch, design.workload.batch);
    show(m_sequence, design.workload.sequence);
    show(m_microBatches, design.workload.microBatches);
}

} // namespace shardboard
