// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/menus/designmenu.h"

#include "app/desktop/base/banner.h"
#include "app/desktop/menus/memorymenu.h"
#include "app/desktop/menus/partsdialog.h"
#include "model/design/presets/presets.h"
#include "model/session/document.h"
#include "widgets/edits/pickermenu.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"
#include "widgets/workload/workloadview.h"

#include <QActionGroup>
#include <QMenu>

namespace shardboard {

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
    const auto* memory = new MemoryMenu(document, banner, optimizer, menu->addMenu(tr("&Memory")));
    connect(memory, &MemoryMenu::settingRequested, this, &DesignMenu::settingRequested);
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
    menu->addSeparator();
    QAction* combine = menu->addAction(tr("&Combine Parts …"));
    combine->setObjectName(QStringLiteral("preset.combine"));
    combine->setToolTip(
        tr("A preset of your own: pipeline, experts, context, tensor and data parallel, each in the form that you choose"));
    connect(combine, &QAction::triggered, this, &DesignMenu::combineParts);
}

void DesignMenu::combineParts()
{
    if (!m_document->hasDesign())
        return;
    auto* dialog = new PartsDialog(m_document->design(), static_cast<QMenu*>(parent())->window());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QDialog::accepted, this, [this, dialog] { applyPreset(dialog->preset()); });
    dialog->open();
}

void DesignMenu::applyPreset(const QString& name)
{
    if (!m_document->hasDesign())
        return;
    Design edited = m_document->design();
    const auto applied = shardboard::applyPreset(edited, name.toStdString());
    if (!applied.ok()) {
        m_banner->showError(errorText(applied.error()));
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
    menu->setToolTipsVisible(true);
    m_hardware = addChoices(menu, "hardware");
}

void DesignMenu::addWorkload(QMenu* menu)
{
    m_workloads = addChoices(menu, "workload.kind");
    menu->addSeparator();
    addNumber(menu, "workload.batch");
    addNumber(menu, "workload.sequence");
    m_microBatches = addNumber(menu, "workload.microBatches");
    const auto addMenu = [&](const QString& title, const char* name, const char* setting) {
        QMenu* choices = menu->addMenu(title);
        choices->setObjectName(QLatin1String(name));
        choices->setToolTipsVisible(true);
        return addChoices(choices, setting);
    };
    m_recompute = addMenu(tr("&Recompute"), "recomputeMenu", "workload.recompute");
    m_attention = addMenu(tr("&Attention"), "attentionMenu", "workload.attention");
    m_overlap = addMenu(tr("&Overlap of Collectives"), "overlapMenu", "workload.overlap");
}

QActionGroup* DesignMenu::addChoices(QMenu* menu, const char* id)
{
    auto* group = new QActionGroup(menu);
    const Setting setting = settingNamed({}, QLatin1String(id));
    for (const Setting::Option& option : setting.options) {
        QAction* action = menu->addAction(menuText(option.text));
        action->setObjectName(QStringLiteral("choose.") + option.value);
        action->setData(option.value);
        action->setToolTip(option.detail);
        action->setCheckable(true);
        group->addAction(action);
    }
    connect(group, &QActionGroup::triggered, this, [this, setting](const QAction* action) {
        if (!m_document->hasDesign())
            return;
        if (const QString refusal = WorkloadView::applySetting(*m_document, setting, action->data().toString()); !refusal.isEmpty())
            m_banner->showError(refusal);
        showState(); // also after a refusal: the menu shows what is, not what was tried
    });
    return group;
}

/// Leads to the field of a number.
QAction* DesignMenu::addNumber(QMenu* menu, const char* id)
{
    const Setting setting = settingNamed({}, QLatin1String(id));
    QAction* action = menu->addAction(tr("%1 …").arg(setting.label));
    action->setObjectName(setting.id);
    action->setToolTip(setting.toolTip);
    connect(action, &QAction::triggered, this, [this, setting] { Q_EMIT settingRequested(setting.id); });
    return action;
}

void DesignMenu::edit(const Design& edited, const QString& text)
{
    if (!m_document->hasDesign() || edited == m_document->design())
        return;
    const auto status = m_document->edit(edited, text);
    if (!status.ok())
        m_banner->showError(errorText(status.error()));
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
    m_microBatches->setProperty("whyNot", tr("only a training step is split into micro-batches"));
    for (QAction* action : m_recompute->actions()) {
        action->setEnabled(train);
        action->setProperty("whyNot", tr("only a training step saves activations"));
    }
}

} // namespace shardboard
