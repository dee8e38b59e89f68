// SPDX-License-Identifier: Apache-2.0
// Findings do not cry wolf: on every built-in model under every preset, a finding costs something, and its repair is advice that
// can be followed. What a repair brings is read off the plan of the repaired design, not off the finding.
#include "model/design/evaluate/evaluate.h"
#include "model/design/evaluate/fitadvice.h"
#include "model/design/findings/findings.h"
#include "model/design/presets/presetaxes.h"
#include "model/design/presets/presets.h"
#include "model/io/checkpoint/openmodel.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <algorithm>
#include <map>
#include <set>

using namespace shardboard;

namespace {

/// Meshes that every preset is tried on, as far as it does not refuse them.
constexpr const char* kCommon = "data=2,model=4;fsdp=16;data=3,model=8";

/// Three that suit a preset: of 2 x 4, of 16 and of 3 x 8 devices, which many dims do not divide by.
QString suiting(const QString& preset)
{
    if (preset == "megatron-tp" || preset == "tp-sp")
        return "data=2,model=4;model=16;data=3,model=8";
    if (preset == "fsdp")
        return "data=2,fsdp=4;data=16;data=3,fsdp=8";
    if (preset == "hsdp")
        return "data=2,fsdp=4;data=2,fsdp=8;data=3,fsdp=8";
    if (preset.endsWith("+fsdp"))
        return "fsdp=2,model=4;data=2,fsdp=2,model=4;fsdp=3,model=8";
    if (preset == "ep")
        return "data=2,expert=4;expert=16;data=3,expert=8";
    if (preset == "ep+tp")
        return "expert=2,model=4;data=2,expert=2,model=4;expert=3,model=8";
    if (preset.startsWith("cp-"))
        return "data=2,context=4;context=16;data=3,context=8";
    if (preset.startsWith("pp-"))
        return "stage=2,model=4;stage=16;stage=3,fsdp=8";
    return "data=16";
}

/// Batch and micro-batches that suit the mesh, as `shardctl new` has them.
Workload workloadOn(const Mesh& mesh, WorkloadKind kind)
{
    const AxisRoles roles = axisRoles(mesh);
    std::int64_t devices = 1;
    for (const auto* axes : { &roles.data, &roles.fsdp, &roles.expert })
        devices *= mesh.groupSize(*axes);
    Workload workload;
    workload.kind = kind;
    workload.sequence = 4096;
    workload.microBatches = kind == WorkloadKind::Train ? mesh.groupSize(roles.stage) : 1;
    workload.batch = (devices > 8 ? devices : (8 + devices - 1) / devices * devices) * workload.microBatches;
    return workload;
}

/// Calls `each` for every model, mesh and workload that a preset does not refuse.
template <class Each>
void eachDesign(const QString& preset, Each each)
{
    QStringList meshes = QString(kCommon).split(';') + suiting(preset).split(';');
    meshes.removeDuplicates();
    for (const std::string& name : builtinModelNames()) {
        const ModelSpec model = builtinModel(name).value();
        for (const QString& mesh : meshes)
            for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode, WorkloadKind::Train }) {
                Design design;
                design.mesh = Mesh::parse(mesh.toStdString()).value();
                design.model = model;
                design.workload = workloadOn(design.mesh, kind);
                if (applyPreset(design, preset.toStdString()).ok())
                    each(design,
                         QString("%1, %2, %3").arg(QString::fromStdString(name), mesh, QString::fromStdString(workloadName(kind))));
            }
    }
}

/// Mesh axes of several devices that cut something, or along which stages lie.
std::set<std::string> axesInUse(const Design& design, const Evaluation& evaluation)
{
    std::set<std::string> names;
    if (design.pipeline.present())
        names.insert(design.pipeline.axis);
    for (const WeightLayout& weight : evaluation.weights)
        for (const auto& dim : weight.layout.dims)
            for (const AxisRef& ref : dim)
                names.insert(design.mesh.axis(ref.axis).name);
    return names;
}

std::set<std::pair<std::string, std::string>> defects(const Evaluation& evaluation)
{
    std::set<std::pair<std::string, std::string>> out;
    for (const DesignFinding& finding : evaluation.findings)
        if (isDefect(finding)) // the moment of the most memory may become another one
            out.emplace(finding.kind, finding.kind == "over-memory" ? std::string() : finding.where);
    return out;
}

QString bytes(std::int64_t count) { return QLocale::c().toString(static_cast<qlonglong>(count)); }

/// What is wrong with following a repair; empty when nothing is.
QString wrongWith(const Design& design, const Evaluation& before, const DesignFinding& finding)
{
    const Design mended = repaired(design, *finding.fix);
    const auto after = evaluate(mended);
    if (!after.ok())
        return "is refused: " + QString::fromStdString(after.error().text());
    const Plan& then = after.value()->plan;
    const Plan& now = before.plan;
    const bool moved = costKind(finding.kind) == CostKind::Moved;
    if (then.memory.weights > now.memory.weights + (moved ? finding.costBytes : 0))
        return "holds " + bytes(then.memory.weights - now.memory.weights) + " bytes more of weights";
    const std::int64_t freed = now.memory.peak - then.memory.peak;
    if (!moved && (freed < finding.costBytes / 2 || (finding.kind != "over-memory" && freed / 2 > finding.costBytes)))
        return "frees " + bytes(freed) + " bytes of " + bytes(finding.costBytes);
    const std::int64_t unmoved = now.collectiveBytes() - then.collectiveBytes();
    if (moved && (unmoved < finding.costBytes / 2 || unmoved / 2 > finding.costBytes))
        return "moves " + bytes(unmoved) + " bytes less of " + bytes(finding.costBytes);
    if (finding.kind != "over-memory"
        && then.seconds() > now.seconds() * 1.01) // time for memory is a fair exchange only where it does not fit
        return QString("takes %1 of the time").arg(then.seconds() / now.seconds());
    const auto inUse = axesInUse(mended, *after.value());
    for (const std::string& axis : axesInUse(design, before))
        if (!inUse.contains(axis))
            return "leaves mesh axis " + QString::fromStdString(axis) + " unused";
    auto known = defects(before);
    known.erase({ finding.kind, finding.kind == "over-memory" ? std::string() : finding.where });
    for (const auto& [kind, where] : defects(*after.value()))
        if (!known.contains({ kind, where }))
            return "leads to " + QString::fromStdString(kind + " at " + where);
    return {};
}

QString who(const QString& design, const DesignFinding& finding)
{
    return design + ": " + QString::fromStdString(severityName(finding.severity) + " " + finding.kind + " at " + finding.where)
        + ", " + bytes(finding.costBytes) + " bytes"
        + (finding.fix ? ", '" + QString::fromStdString(finding.fix->text) + "' " : QString());
}

void presetRows()
{
    QTest::addColumn<QString>("preset");
    for (const std::string& name : presetNames())
        QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

/// Models that a preset is for: only some have experts.
int modelsOf(const QString& preset)
{
    const auto names = builtinModelNames();
    return static_cast<int>(std::ranges::count_if(
        names, [&](const std::string& name) { return !preset.startsWith("ep") || builtinModel(name).value().moe.present(); }));
}

} // namespace

class TestPresetFindings : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void everyFindingCostsSomething_data() { presetRows(); }
    void everyFindingCostsSomething()
    {
        QFETCH(QString, preset);
        std::set<QString> models;
        QStringList wrong;
        eachDesign(preset, [&](const Design& design, const QString& name) {
            models.insert(name.section(',', 0, 0));
            const auto evaluation = tolerant(design);
            for (const DesignFinding& finding : evaluation->findings) {
                if (finding.costBytes <= 0)
                    wrong.append(who(name, finding));
                if (const QString text = finding.fix ? wrongWith(design, *evaluation, finding) : QString(); !text.isEmpty())
                    wrong.append(who(name, finding) + text);
            }
        });
        QVERIFY2(wrong.isEmpty(), qPrintable(QString("%1 findings\n").arg(wrong.size()) + wrong.mid(0, 20).join('\n')));
        if (preset == "cp-ulysses" || preset == "pp-interleaved") // need KV heads, or layers, for all devices
            QVERIFY(models.size() > 10);
        else
            QCOMPARE(static_cast<int>(models.size()), modelsOf(preset));
    }

    /// Changes that make a design fit take nothing back. A training step has many of them to try, so that there it is two models.
    void whatMakesItFitTakesNothingBack_data() { presetRows(); }
    void whatMakesItFitTakesNothingBack()
    {
        QFETCH(QString, preset);
        const QStringList trained { "llama3-8b", "mixtral-8x7b" };
        QStringList wrong;
        eachDesign(preset, [&](const Design& design, const QString& name) {
            if (design.workload.kind == WorkloadKind::Train && !trained.contains(name.section(',', 0, 0)))
                return;
            const auto limit = static_cast<std::int64_t>(hardwareOf(design).value().memoryBytes());
            if (planOnly(design).value()->plan.memory.peak <= limit)
                return;
            const auto evaluation = tolerant(design);
            std::vector<DesignFinding> findings = evaluation->findings;
            addFitRepair(design, findings);
            for (const DesignFinding& finding : findings)
                if (finding.kind == "over-memory" && finding.fix)
                    if (const QString text = wrongWith(design, *evaluation, finding); !text.isEmpty())
                        wrong.append(who(name, finding) + text);
        });
        QVERIFY2(wrong.isEmpty(), qPrintable(QString("%1 repairs\n").arg(wrong.size()) + wrong.mid(0, 20).join('\n')));
    }
};

SHARDBOARD_TEST(TestPresetFindings)
#include "tst_presetfindings.moc"
