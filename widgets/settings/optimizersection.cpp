// SPDX-License-Identifier: Apache-2.0
#include "widgets/settings/fields.h"
#include "widgets/settings/sections.h"

#include <QObject>

namespace shardboard {

namespace {

constexpr std::int64_t kMostOffloaded = std::int64_t { 1 } << 20;

/// What each kind is called, and how it comes back.
struct OffloadText {
    OffloadKind kind;
    const char* label;
    const char* what;
};
constexpr OffloadText kOffloadTexts[] {
    { OffloadKind::Optimizer, "Optimizer states lie", "Moments and the optimizer's copy of the weights; the host makes the step" },
    { OffloadKind::Weights, "Weights lie", "A layer's are copied to the device before each use of them" },
    { OffloadKind::Activations, "Kept activations lie", "What a layer keeps for its backward pass goes out and comes back" },
};

Setting ruleField()
{
    return namedField(
        fieldText("optimizer.rule", "Optimizer", "By which the weights are stepped"),
        choices({ { "adam", "Adam", "Two moments of every weight" },
                  { "muon", "Muon", "One moment of the matrices, made orthogonal by Newton-Schulz iterations" },
                  { "sgd", "SGD", "One moment of every weight" } }),
        [](Design& design) -> Optimizer& { return design.workload.rule; }, optimizerName, optimizerFromName);
}

Setting offloadField(const OffloadText& text)
{
    const QString id = QStringLiteral("offload.") + qstr(offloadName(OffloadSet().with(text.kind, true)));
    return switchField(
        { id, QObject::tr(text.label), QObject::tr(text.what) }, { "device", "on the device", "In the memory of the device" },
        { "host", "in the host", "In the memory of the host; copies go over the link to it" },
        [kind = text.kind](const Design& design) { return design.workload.offload.has(kind); },
        [kind = text.kind](Design& design, bool on) {
            design.workload.offload.what = design.workload.offload.what.with(kind, on);
        });
}

Setting layersField()
{
    Setting out =
        countField(fieldText("offload.layers", "Offloaded layers",
                             "The first layers of every run of layers of a stage; 0: all, with embedding and head", "layers"),
                   0, kMostOffloaded, [](Design& design) -> std::int64_t& { return design.workload.offload.layers; });
    out.whyNot = [](const Design& design) {
        return !isTraining(design)          ? QObject::tr("Only training offloads.")
            : design.workload.offload.any() ? QString()
                                            : QObject::tr("Nothing lies in the memory of the host.");
    };
    return out;
}

} // namespace

SettingGroup optimizerSection()
{
    SettingGroup out { QStringLiteral("optimizer"), QObject::tr("Optimizer and offload") };
    out.settings.push_back(onlyInTraining(ruleField(), QObject::tr("Only training has an optimizer.")));
    for (const OffloadText& text : kOffloadTexts)
        out.settings.push_back(onlyInTraining(offloadField(text), QObject::tr("Only training offloads.")));
    out.settings.push_back(layersField());
    return out;
}

} // namespace shardboard
