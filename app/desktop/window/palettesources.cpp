// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/palettesources.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/window/helpwindow.h"
#include "model/design/explain/explain.h"
#include "model/plan/hostcopies.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/settings/settings.h"

#include <QAction>
#include <QMenu>
#include <QMenuBar>
#include <QPointer>
#include <QRegularExpression>
#include <QSet>
#include <QWidgetAction>

#include <algorithm>

namespace shardboard {

namespace {

PaletteEntry command(QAction* action, const QString& path, const QString& otherwise)
{
    const QString text = plainText(action);
    const QString why = Actions::whyNot(action);
    PaletteEntry entry { action->isChecked() ? text + QStringLiteral(" ✓") : text, path,
                         action->shortcut().toString(QKeySequence::NativeText), action->toolTip(),
                         action->isEnabled() ? QString()
                             : why.isEmpty() ? otherwise
                                             : why };
    entry.run = [action = QPointer<QAction>(action)] {
        if (action)
            action->trigger();
    };
    return entry;
}

void addMenu(const QMenu* menu, const QString& path, std::vector<PaletteEntry>& out, QSet<const QAction*>& seen,
             const QString& otherwise)
{
    for (QAction* action : menu->actions()) {
        const QString text = plainText(action);
        if (action->isSeparator() || text.isEmpty() || !action->isVisible())
            continue;
        if (action->menu()) {
            addMenu(action->menu(), path + QStringLiteral(" › ") + text, out, seen, otherwise);
            continue;
        }
        if (qobject_cast<const QWidgetAction*>(action))
            continue; // a field in a menu: there is nothing to trigger
        seen.insert(action);
        out.push_back(command(action, path, otherwise));
    }
}

PaletteEntry place(const QString& text, const QString& kind, const QString& size, std::function<void()> run)
{
    PaletteEntry entry { text, kind, size };
    entry.run = std::move(run);
    return entry;
}

} // namespace

std::vector<PaletteEntry> commandEntries(const QMenuBar* bar, const std::vector<QAction*>& commands, const QString& otherwise)
{
    const QString said = otherwise.isEmpty() ? QObject::tr("not now") : otherwise;
    std::vector<PaletteEntry> out;
    QSet<const QAction*> seen;
    for (QAction* action : bar->actions())
        if (QMenu* menu = action->menu()) {
            Q_EMIT menu->aboutToShow(); // some fill themselves then
            addMenu(menu, plainText(action), out, seen, said);
        }
    for (QAction* action : commands)
        if (!seen.contains(action) && !action->text().isEmpty())
            out.push_back(command(action, QObject::tr("command"), said));
    return out;
}

std::vector<PaletteEntry> designEntries(Document* document)
{
    std::vector<PaletteEntry> out;
    const auto evaluation = document->evaluation();
    if (!evaluation)
        return out;
    Selection* selection = document->selection();
    for (std::size_t i = 0; i < evaluation->weights.size(); ++i) {
        const WeightLayout& weight = evaluation->weights[i];
        const QString copies = weight.copies > 1 ? QObject::tr("weight of %1 layers").arg(weight.copies) : QObject::tr("weight");
        PaletteEntry entry =
            place(shortName(weight.spec.name), copies, weight.unknownShape ? QString() : shapeLabel(weight.spec.shape),
                  [selection, i] { selection->setWeight(static_cast<int>(i)); });
        entry.toolTip = qstr(weight.spec.name);
        out.push_back(std::move(entry));
    }
    const Plan& plan = evaluation->plan;
    for (PlannedSegmentId s { 0 }; s < plan.segments.size(); ++s)
        for (PlannedOpId o { 0 }; o < plan.segments[s].ops.size(); ++o)
            out.push_back(place(qstr(operationId(*evaluation, s, o)), QObject::tr("operation"),
                                secondsText(plan.segments[s].ops[o].seconds),
                                [selection, s, o] { selection->setOperation(s, o); }));
    for (CollectiveId i { 0 }; i < plan.collectives.size(); ++i) {
        const Collective& collective = plan.collectives[i];
        out.push_back(place(QStringLiteral("%1 %2").arg(qstr(collectiveName(collective.kind)),
                                                        qstr(evaluation->graph.tensor(collective.tensor).name)),
                            QObject::tr("collective"), secondsText(collective.seconds * static_cast<double>(collective.count)),
                            [selection, i] { selection->setCollective(i); }));
    }
    for (int axis = 0; axis < plan.mesh.axisCount(); ++axis)
        out.push_back(place(qstr(plan.mesh.axis(axis).name), QObject::tr("mesh axis"), countText(plan.mesh.axis(axis).size),
                            [selection, axis] { selection->setMeshAxis(axis); }));
    return out;
}

std::vector<PaletteEntry> settingEntries(const Document* document, const std::function<void(const QString&)>& edit)
{
    std::vector<PaletteEntry> out;
    if (!document->hasDesign())
        return out;
    const Design& design = document->design();
    for (const SettingGroup& group : settingGroups(design))
        for (const Setting& setting : group.settings) {
            PaletteEntry entry = place(setting.label, QObject::tr("setting › %1").arg(group.title), setting.shownText(design),
                                       [edit, id = setting.id] { edit(id); });
            entry.toolTip = setting.toolTip;
            if (setting.whyNot)
                entry.refusal = setting.whyNot(design);
            out.push_back(std::move(entry));
        }
    return out;
}

std::vector<PaletteEntry> numberEntries(const Document* document, const std::function<void(const QString&)>& show)
{
    std::vector<PaletteEntry> out;
    const auto evaluation = document->evaluation();
    if (!evaluation)
        return out;
    const auto add = [&](const QString& name, const QString& value, const char* panel) {
        out.push_back(place(name, QObject::tr("number"), value, [show, panel = QString::fromLatin1(panel)] { show(panel); }));
    };
    const Plan& plan = evaluation->plan;
    const Performance& performance = plan.performance;
    if (document->design().model.hasGraph()) {
        add(QObject::tr("Step time"), secondsText(plan.seconds()), "cost");
        add(QObject::tr("Computing time of a step"), secondsText(plan.device.compute), "cost");
        add(QObject::tr("Collectives of a step"), secondsText(collectiveSecondsAlone(evaluation->graph, plan)), "collectives");
        const double host = hostCopySeconds(evaluation->graph, plan);
        if (host > 0)
            add(QObject::tr("Copies to and from the host in a step"), secondsText(host), "cost");
        add(host > 0 ? QObject::tr("Exposed collectives and host copies of a step") : QObject::tr("Exposed collectives of a step"),
            secondsText(plan.device.exposed), "collectives");
    }
    if (performance.mfu > 0)
        add(QObject::tr("MFU, model FLOPs utilization"), percentText(performance.mfu), "cost");
    if (performance.hfu > performance.mfu)
        add(QObject::tr("HFU, with recomputation"), percentText(performance.hfu), "cost");
    if (performance.tokensPerSecondPerDevice > 0)
        add(QObject::tr("Tokens per second and device"), digitsText(performance.tokensPerSecondPerDevice), "cost");
    const MemoryByCause& memory = plan.memory;
    add(QObject::tr("Memory per device"), bytesText(memory.peak), "memory");
    add(QObject::tr("Memory of weights per device"), bytesText(memory.weights), "memory");
    add(QObject::tr("Parameters"), countText(evaluation->parameters), "weights");
    add(QObject::tr("Devices"), countText(plan.mesh.deviceCount()), "workload");
    add(QObject::tr("Findings"), countText(static_cast<std::int64_t>(evaluation->findings.size())), "findings");
    return out;
}

std::vector<PaletteEntry> findingEntries(Document* document, const std::function<void(const FindingPlace&)>& show)
{
    std::vector<PaletteEntry> out;
    const auto evaluation = document->evaluation();
    constexpr std::size_t kMost = 200; // as many as the palette shows
    for (std::size_t i = 0; evaluation && i < std::min(kMost, evaluation->findings.size()); ++i) {
        const DesignFinding& finding = evaluation->findings[i];
        const FindingPlace where = placeOf(*document, finding);
        PaletteEntry entry = place(toldText(finding.message), QObject::tr("finding › %1").arg(shortName(finding.where)),
                                   qstr(severityName(finding.severity)), [document, where, show] {
                                       if (!selectPlace(*document, where))
                                           show(where);
                                   });
        entry.toolTip = entry.text;
        out.push_back(std::move(entry));
    }
    return out;
}

std::vector<PaletteEntry> ruleEntries(const Document* document, const std::function<void(const QString&)>& show)
{
    std::vector<PaletteEntry> out;
    if (!document->hasDesign())
        return out;
    for (const LogicalRule& rule : document->design().rules.rules) {
        QStringList axes;
        for (const std::string& axis : rule.axes)
            axes << qstr(axis);
        const QString name = qstr(rule.name);
        out.push_back(
            place(QStringLiteral("%1 → %2").arg(name, axes.isEmpty() ? QObject::tr("whole") : axes.join(QStringLiteral(", "))),
                  QObject::tr("rule"), {}, [show, name] { show(name); }));
    }
    return out;
}

std::vector<PaletteEntry> helpEntries(const std::function<void(const QString&)>& show)
{
    std::vector<PaletteEntry> out;
    for (const QString& page : HelpWindow::pages())
        out.push_back(place(HelpWindow::titleOf(page), QObject::tr("help"), {}, [show, page] { show(page); }));
    return out;
}

std::vector<PaletteEntry> deviceEntries(Document* document, const QString& typed)
{
    static const QRegularExpression form(QStringLiteral("^\\s*(?:device\\s*)?(\\d{1,8})\\s*$"),
                                         QRegularExpression::CaseInsensitiveOption);
    const auto match = form.match(typed);
    if (!match.hasMatch() || !document->hasDesign())
        return {};
    const Mesh& mesh = document->evaluation()->plan.mesh;
    const qint64 id = match.captured(1).toLongLong();
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        if (mesh.deviceId(position) != id)
            continue;
        QStringList coordinates;
        for (int axis = 0; axis < mesh.axisCount(); ++axis)
            coordinates << QStringLiteral("%1 %2").arg(qstr(mesh.axis(axis).name)).arg(mesh.coordinate(position, axis));
        Selection* selection = document->selection();
        return { place(QObject::tr("device %1").arg(id), coordinates.join(QStringLiteral(", ")), {},
                       [selection, position] { selection->setDevice(position); }) };
    }
    PaletteEntry none = place(QObject::tr("device %1").arg(id), {}, {}, {});
    none.refusal = QObject::tr("the mesh has %1 devices").arg(mesh.deviceCount());
    return { none };
}

} // namespace shardboard
