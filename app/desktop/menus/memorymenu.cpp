// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/menus/memorymenu.h"

#include "app/desktop/base/banner.h"
#include "model/session/document.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/settings/settings.h"

#include <QAction>
#include <QMenu>

#include <algorithm>

namespace shardboard {

MemoryMenu::MemoryMenu(Document* document, Banner* banner, QMenu* optimizer, QMenu* memory)
    : QObject(memory)
    , m_document(document)
    , m_banner(banner)
    , m_optimizer(optimizer)
    , m_memory(memory)
{
    optimizer->setObjectName(QStringLiteral("optimizerMenu"));
    memory->setObjectName(QStringLiteral("memoryMenu"));
    optimizer->setToolTipsVisible(true);
    memory->setToolTipsVisible(true);
    addGradients();
    addMemory();
    for (const QMenu* menu : { optimizer, memory })
        connect(menu, &QMenu::aboutToShow, this, [this] { showState(); });
    connect(document, &Document::evaluated, this, [this] { showState(); });
    showState();
}

void MemoryMenu::addGradients()
{
    m_optimizer->addSeparator();
    m_gradients = m_optimizer->addAction(tr("&Gradients Too (ZeRO-2)"));
    m_gradients->setObjectName(QStringLiteral("optimizer.gradients"));
    m_gradients->setCheckable(true);
    m_gradients->setToolTip(
        tr("Every micro-batch reduces its gradients to shards; otherwise they stay whole until the optimizer's step"));
    connect(m_gradients, &QAction::triggered, this, [this](bool on) {
        Design edited = m_document->design();
        edited.workload.optimizer.gradients = on;
        edit(edited, on ? tr("Cut gradients like the optimizer states") : tr("Keep gradients whole"));
    });
}

void MemoryMenu::addMemory()
{
    for (const SettingGroup& group : settingGroups({}))
        for (const Setting& setting : group.settings)
            if (setting.isNumber() && setting.id.startsWith(QLatin1String("memory.")))
                addNumber(setting.label, setting.id, setting.toolTip);
    m_memory->addSeparator();
    m_logits = m_memory->addAction(tr("&Logits and Their Gradient in f32"));
    m_logits->setObjectName(QStringLiteral("memory.logits"));
    m_logits->setCheckable(true);
    m_logits->setToolTip(tr("As PyTorch's cross_entropy makes them; a fused loss makes neither"));
    connect(m_logits, &QAction::triggered, this, [this](bool on) {
        Design edited = m_document->design();
        edited.memory.logitsInF32 = on;
        edit(edited, on ? tr("Logits in f32") : tr("Fused loss"));
    });
    m_usual = m_memory->addAction(tr("&Default Values"));
    m_usual->setObjectName(QStringLiteral("memory.usual"));
    connect(m_usual, &QAction::triggered, this, [this] {
        Design edited = m_document->design();
        edited.memory = {};
        edit(edited, tr("Default memory settings"));
    });
}

void MemoryMenu::addNumber(const QString& label, const QString& id, const QString& toolTip)
{
    QAction* action = m_memory->addAction(tr("%1 …").arg(label));
    action->setObjectName(id);
    action->setToolTip(toolTip);
    connect(action, &QAction::triggered, this, [this, id] { Q_EMIT settingRequested(id); });
    m_numbers << action;
}

void MemoryMenu::chooseAxis(const std::string& axis, bool on)
{
    Design edited = m_document->design();
    OptimizerSharding& sharding = edited.workload.optimizer;
    std::erase(sharding.axes, axis);
    if (on)
        sharding.axes.push_back(axis);
    if (!sharding.present())
        sharding.gradients = false; // they are cut as the states are
    edit(edited, on ? tr("Cut optimizer states over %1").arg(qstr(axis)) : tr("Optimizer states not over %1").arg(qstr(axis)));
}

void MemoryMenu::edit(const Design& edited, const QString& text)
{
    if (m_document->hasDesign() && !(edited == m_document->design())) {
        Status status = verifyMemorySettings(edited.memory, "memory");
        if (status.ok())
            status = m_document->edit(edited, text);
        if (!status.ok())
            m_banner->showError(errorText(status.error()));
    }
    showState(); // also after a refusal: the menus show what is, not what was tried
}

/// An entry for each mesh axis.
void MemoryMenu::showAxes()
{
    const Mesh& mesh = m_document->design().mesh;
    const auto& chosen = m_document->design().workload.optimizer.axes;
    QStringList names;
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        names << qstr(mesh.axis(axis).name);
    QStringList shown;
    for (const QAction* action : std::as_const(m_axes))
        shown << action->data().toString();
    if (names != shown) {
        for (QAction* action : std::as_const(m_axes)) {
            m_optimizer->removeAction(action);
            action->deleteLater(); // it may be what the edit came from
        }
        m_axes.clear();
        QAction* const below = m_optimizer->actions().value(0); // the separator
        for (const QString& name : std::as_const(names)) {
            auto* action = new QAction(tr("Cut over %1").arg(name), m_optimizer);
            action->setObjectName(QStringLiteral("optimizer.over.") + name);
            action->setData(name);
            action->setCheckable(true);
            action->setToolTip(
                tr("ZeRO-1: each device along %1 holds and updates its part of the states of weights that %1 does not cut")
                    .arg(name));
            connect(action, &QAction::triggered, this, [this, name](bool on) { chooseAxis(name.toStdString(), on); });
            m_optimizer->insertAction(below, action);
            m_axes << action;
        }
    }
    for (QAction* action : std::as_const(m_axes))
        action->setChecked(std::find(chosen.begin(), chosen.end(), action->data().toString().toStdString()) != chosen.end());
}

void MemoryMenu::showState()
{
    const bool open = m_document->hasDesign();
    for (QAction* action : { m_gradients, m_logits, m_usual })
        action->setEnabled(open);
    for (QAction* number : std::as_const(m_numbers))
        number->setEnabled(open);
    if (!open)
        return;
    const Workload& workload = m_document->design().workload;
    const bool train = workload.kind == WorkloadKind::Train;
    showAxes();
    for (QAction* action : std::as_const(m_axes)) {
        action->setEnabled(train);
        action->setProperty("whyNot", tr("only a training step has an optimizer"));
    }
    m_gradients->setProperty("whyNot",
                             train ? tr("no mesh axis shards the optimizer's states") : tr("only a training step has gradients"));
    m_logits->setProperty("whyNot", tr("only a training step has a loss"));
    m_usual->setProperty("whyNot", tr("everything already has its default value"));
    m_gradients->setEnabled(train && workload.optimizer.present());
    m_gradients->setChecked(workload.optimizer.gradients);
    const MemorySettings& memory = m_document->design().memory;
    m_logits->setEnabled(train);
    m_logits->setChecked(memory.logitsInF32);
    m_usual->setEnabled(!(memory == MemorySettings {}));
}

} // namespace shardboard
