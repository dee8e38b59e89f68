// SPDX-License-Identifier: Apache-2.0
#include "widgets/settings/fields.h"
#include "widgets/settings/sections.h"

#include <QObject>

#include <algorithm>

namespace shardboard {

namespace {

constexpr double kMostCapacity = 1000; // verifyWorkload

QString noStages(const Design& design)
{
    return design.pipeline.present() ? QString() : QObject::tr("No mesh axis carries pipeline stages.");
}

QString noExperts(const Design& design)
{
    return design.model.moe.present() ? QString() : QObject::tr("The model has no experts.");
}

Setting stageLayers()
{
    Setting out;
    out.id = QStringLiteral("pipeline.layers");
    out.label = QObject::tr("Layers of stages");
    out.toolTip = QObject::tr("Layers of each stage, or of each chunk in order, such as 3,4x14,2; nothing: cut evenly");
    out.text = [](const Design& design) { return qstr(stageLayersText(design.pipeline.layers)); };
    out.set = [](Design& design, const QString& text) {
        auto parsed = parseStageLayers(text.toStdString(), {});
        if (!parsed.ok())
            return QObject::tr("Layers of stages are numbers such as 3,4x14,2, not %1.").arg(quotedText(text));
        design.pipeline.layers = std::move(parsed).value();
        return QString();
    };
    return out;
}

Setting countedAsLayers()
{
    return choiceField(
        fieldText("pipeline.counted", "Counted as layers", "What counts as a layer when the layers are cut evenly"),
        choices({ { "none", "nothing", "Only layers are cut" },
                  { "embedding", "embedding", "The first stage has a layer less" },
                  { "loss", "loss", "The last stage, with head and loss, has a layer less" },
                  { "both", "embedding and loss", "The first and the last stage have a layer less" } }),
        [](const Design& design) {
            const PipelineSpec& it = design.pipeline;
            return it.countEmbedding ? it.countLoss ? QStringLiteral("both") : QStringLiteral("embedding")
                : it.countLoss ? QStringLiteral("loss")
                                     : QStringLiteral("none");
        },
        [](Design& design, const QString& what) {
            design.pipeline.countEmbedding = what == QLatin1String("embedding") || what == QLatin1String("both");
            design.pipeline.countLoss = what == QLatin1String("loss") || what == QLatin1String("both");
        });
}

/// How the layers are cut into stages, and in which order these work.
std::vector<Setting> stageFields()
{
    constexpr std::int64_t kStepsTo = 1024;
    std::vector<Setting> out {
        namedField(
            fieldText("pipeline.schedule", "Stages take turns", "In which order a stage works on its micro-batches"),
            choices({ { "1f1b", "1F1B", "One forward, one backward; interleaved with more than one chunk" },
                      { "zero-bubble", "zero bubble", "ZB-H1: gradients of weights fill the time in which a stage waits" },
                      { "dualpipe", "DualPipe", "Micro-batches start at both ends, so that two stages hold the weights of each" },
                      { "gpipe", "GPipe", "All micro-batches forward, then all backward; a stage keeps what all of them need" } }),
            [](Design& design) -> PipelineSchedule& { return design.pipeline.schedule; }, scheduleName, scheduleFromName),
        smallCountField(fieldText("pipeline.chunks", "Chunks of a stage",
                                  "Runs of layers on every pipeline stage: 1 is the schedule 1F1B, more are interleaved"),
                        1, kMostTokens, kStepsTo, [](Design& design) -> std::int64_t& { return design.pipeline.chunks; }),
        stageLayers(), countedAsLayers()
    };
    for (Setting& field : out)
        field.whyNot = noStages;
    return out;
}

bool isCutOver(const Design& design, const std::string& axis)
{
    const auto& axes = design.workload.optimizer.axes;
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

void cutOver(OptimizerSharding& sharding, const std::string& axis, bool on)
{
    std::erase(sharding.axes, axis);
    if (on)
        sharding.axes.push_back(axis);
    if (!sharding.present())
        sharding.gradients = false; // they are cut as the states are
}

/// Whether the optimizer's states are cut over a mesh axis.
Setting statesOver(const std::string& axis)
{
    const FieldText text { QStringLiteral("optimizer.") + verbatim(axis), QObject::tr("Optimizer over %1").arg(qstr(axis)),
                           QObject::tr("ZeRO-1: states of weights that %1 does not cut").arg(qstr(axis)) };
    Setting out = switchField(
        text, { "whole", "whole", "Every device along the axis holds and updates all of them" },
        { "cut", "cut", "Each device along the axis holds and updates its part" },
        [axis](const Design& d) { return isCutOver(d, axis); },
        [axis](Design& d, bool on) {
            if (on != isCutOver(d, axis))
                cutOver(d.workload.optimizer, axis, on);
        });
    out.whyNot = [axis](const Design& d) {
        return !isTraining(d)         ? QObject::tr("Only a training step has an optimizer.")
            : axis == d.pipeline.axis ? QObject::tr("The axis carries the pipeline's stages.")
                                      : QString();
    };
    return out;
}

Setting gradientsToo()
{
    Setting out = switchField(
        fieldText("optimizer.gradients", "Gradients (ZeRO-2)", "Whether gradients are cut as the states are"),
        { "whole", "whole", "They stay whole until the optimizer's step" },
        { "cut", "cut", "Every micro-batch reduces its gradients to shards" },
        [](const Design& d) { return d.workload.optimizer.gradients; },
        [](Design& d, bool on) { d.workload.optimizer.gradients = on; });
    out.whyNot = [](const Design& d) {
        return !isTraining(d)                ? QObject::tr("Only a training step has gradients.")
            : d.workload.optimizer.present() ? QString()
                                             : QObject::tr("No mesh axis cuts the optimizer's states.");
    };
    return out;
}

Setting contextOrderField()
{
    return namedField(
        fieldText("workload.contextOrder", "Tokens of context", "Which tokens of a sequence a device has, where sequences are cut"),
        choices({ { "head-tail", "head and tail",
                    "A part of its front and one of its end, so that all devices attend to as many tokens" },
                  { "in-order", "in order", "One part; the device with the last one attends to all tokens before it" } }),
        [](Design& design) -> ContextOrder& { return design.workload.contextOrder; }, contextOrderName, contextOrderFromName);
}

Setting dispatchField()
{
    Setting out = namedField(
        fieldText("workload.dispatch", "Tokens to experts", "How tokens travel to their experts and back"),
        choices({ { "per-expert", "once per expert", "A token is sent to each expert that it chose" },
                  { "per-node", "once per node",
                    "A token is sent once to each node of its experts, and there to each of them (DeepEP, HybridEP)" } }),
        [](Design& design) -> Dispatch& { return design.workload.dispatch; }, dispatchName, dispatchFromName);
    out.whyNot = noExperts;
    return out;
}

Setting capacityField()
{
    Setting out = measureField(
        fieldText(
            "workload.capacityFactor", "Capacity factor",
            "Rows that are reserved for an expert, by those of an even share; 0: as many as there are, and no token is dropped"),
        kMostCapacity, 0.25, [](const Design& design) { return design.workload.capacityFactor; },
        [](Design& design, double value) { design.workload.capacityFactor = value; });
    out.whyNot = noExperts;
    return out;
}

} // namespace

SettingGroup parallelSection(const Design& design)
{
    SettingGroup out { QStringLiteral("parallel"), QObject::tr("Parallel layout") };
    out.settings = stageFields();
    for (int i = 0; i < design.mesh.axisCount(); ++i)
        out.settings.push_back(statesOver(design.mesh.axis(i).name));
    out.settings.push_back(gradientsToo());
    out.settings.push_back(contextOrderField());
    out.settings.push_back(dispatchField());
    out.settings.push_back(capacityField());
    return out;
}

} // namespace shardboard
