// SPDX-License-Identifier: Apache-2.0
#include "model/plan/memorysettings.h"
#include "widgets/settings/fields.h"
#include "widgets/settings/sections.h"

#include <QObject>

#include <cmath>

namespace shardboard {

namespace {

constexpr double kMib = 1024.0 * 1024.0;
constexpr double kPercent = 100;
constexpr double kMostMib = 1024 * 1024; // verifyMemorySettings
constexpr std::int64_t kMostLayers = 64;

Setting frameworkField()
{
    std::vector<Setting::Option> names;
    for (const FrameworkFacts& facts : frameworks())
        names.push_back({ QLatin1String(facts.name), QObject::tr(facts.title), QObject::tr(facts.holds) });
    return choiceField(
        fieldText("memory.framework", "Framework", "Whose memory it is: what it holds beside what the layouts need"),
        std::move(names), [](const Design& design) { return QString::fromLatin1(frameworkName(design.memory.framework)); },
        [](Design& design, const QString& name) {
            design.memory.choose(frameworkFromName(name.toStdString()).value_or(design.memory.framework));
        });
}

Setting reshardField()
{
    return choiceField(
        fieldText("memory.reshardAfterForward", "Weights after forward",
                  "Whether gathered weights of a layer are given back after its forward pass (reshard_after_forward)"),
        choices({ { "usual", "as the framework does", "Given back, but by TorchTitan in a pipeline" },
                  { "always", "given back", "And gathered again for the backward pass" },
                  { "never", "kept", "Until the backward pass has used them" } }),
        [](const Design& design) {
            const auto& reshards = design.memory.reshardAfterForward;
            return !reshards ? QStringLiteral("usual") : *reshards ? QStringLiteral("always") : QStringLiteral("never");
        },
        [](Design& design, const QString& value) {
            design.memory.reshardAfterForward =
                value == QLatin1String("usual") ? std::nullopt : std::optional(value == QLatin1String("always"));
        });
}

Setting groupsField()
{
    return choiceField(
        fieldText("memory.groupCollectives", "Collectives of a block",
                  "Whether the weights of a block are gathered in one call, and their gradients reduced in one"),
        choices(
            { { "usual", "as the framework does", "TorchTitan, Megatron-LM, and DeepSpeed have one call, MaxText one a tensor" },
              { "block", "one call", "Where they go over the same mesh axes" },
              { "tensor", "one a tensor", "Every tensor by itself" } }),
        [](const Design& design) {
            const auto& groups = design.memory.groupCollectives;
            return !groups ? QStringLiteral("usual") : *groups ? QStringLiteral("block") : QStringLiteral("tensor");
        },
        [](Design& design, const QString& value) {
            design.memory.groupCollectives =
                value == QLatin1String("usual") ? std::nullopt : std::optional(value == QLatin1String("block"));
        });
}

/// A number of bytes, in MiB.
Setting mibField(const FieldText& text, double step, std::int64_t MemorySettings::*bytes)
{
    return measureField(
        text, kMostMib, step, [bytes](const Design& design) { return static_cast<double>(design.memory.*bytes) / kMib; },
        [bytes](Design& design, double value) { design.memory.*bytes = std::llround(value * kMib); });
}

} // namespace

SettingGroup memorySection()
{
    SettingGroup out { QStringLiteral("memory"), QObject::tr("Memory") };
    out.settings = {
        frameworkField(),
        onlyInTraining(reshardField(), QObject::tr("Only a training step has a backward pass.")),
        onlyInTraining(groupsField(), QObject::tr("Only a training step has gradients.")),
        smallCountField(
            fieldText("memory.prefetchedLayers", "Layers gathered ahead",
                      "Layers whose weights are whole in addition to those of the current layer; FSDP2 gathers one ahead",
                      "layers"),
            0, kMostLayers, kMostLayers, [](Design& design) -> std::int64_t& { return design.memory.prefetchedLayers; }),
        measureField(
            fieldText("memory.reserve", "Allocator's reserve",
                      "What the allocator holds on top of activations, logits and gathered weights because of fragmentation", "%"),
            kPercent, 1, [](const Design& design) { return design.memory.reserveShare * kPercent; },
            [](Design& design, double value) { design.memory.chooseReserve(value / kPercent); }),
        mibField(
            fieldText("memory.context", "Context of a device", "What a process takes on a GPU before it allocates anything", "MiB"),
            64, &MemorySettings::contextBytes),
        mibField(fieldText("memory.communicator", "Buffers of a communicator",
                           "One for each set of mesh axes that collectives run over; on GPUs", "MiB"),
                 16, &MemorySettings::communicatorBytes),
        onlyInTraining(
            switchField(
                fieldText("memory.logits", "Logits of the loss", "Whether the loss copies the logits and their gradient"),
                { "fused", "fused loss", "Makes neither the copy nor the gradient" },
                { "f32", "copied in f32", "With their gradient, as PyTorch's cross_entropy makes them" },
                [](const Design& design) { return design.memory.logitsInF32; },
                [](Design& design, bool on) { design.memory.logitsInF32 = on; }),
            QObject::tr("Only a training step has a loss."))
    };
    return out;
}

} // namespace shardboard
