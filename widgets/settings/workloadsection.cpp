// SPDX-License-Identifier: Apache-2.0
#include "model/plan/plan.h"
#include "widgets/settings/fields.h"
#include "widgets/settings/numberfrom.h"
#include "widgets/settings/sections.h"

#include <QObject>

#include <algorithm>
#include <numeric>

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

/// Settings of training that waited while batch and mesh were edited.
void dropUnsuited(Design& design)
{
    Workload& workload = design.workload;
    workload.microBatches = std::gcd(workload.microBatches, workload.batch);
    std::erase_if(workload.optimizer.axes, [&](const std::string& axis) { return design.mesh.find(axis) < 0; });
    if (!workload.optimizer.present())
        workload.optimizer.gradients = false; // they are cut as the states are
}

/// The next number of micro-batches that divides the batch.
QString nextDivisor(const Design& design, const QString& text, bool up)
{
    const std::int64_t batch = design.workload.batch;
    const auto from = static_cast<std::int64_t>(std::clamp(numberFrom(text).value_or(1), 0.0, static_cast<double>(batch) + 1));
    constexpr std::int64_t kMostTried = 1 << 20;
    for (std::int64_t next = from + (up ? 1 : -1), tried = 0; next >= 1 && next <= batch && tried < kMostTried;
         next += up ? 1 : -1, ++tried)
        if (batch % next == 0)
            return QString::number(next);
    return up ? QString::number(batch) : QStringLiteral("1");
}

Setting kindField()
{
    return choiceField(
        fieldText("workload.kind", "Workload", "What one step does"),
        choices({ { "prefill", "prefill", "Whole sequences at once" },
                  { "decode", "decode", "One token each, with a KV cache" },
                  { "train", "train", "Forward, backward, and the optimizer's step" } }),
        [](const Design& design) { return qstr(workloadName(design.workload.kind)); },
        [](Design& design, const QString& name) {
            design.workload.kind = workloadFromName(name.toStdString()).value_or(design.workload.kind);
            if (isTraining(design)) {
                layTargetsAsTokens(design);
                dropUnsuited(design);
            }
        });
}

Setting typeField()
{
    std::vector<Setting::Option> types;
    for (const DType type : computeTypes())
        types.push_back({ qstr(dtypeName(type)), qstr(dtypeName(type)),
                          type == DType::F8E4M3
                              ? QObject::tr("One byte for everything in inference; in training the layers' products alone")
                              : type == DType::F32 ? QObject::tr("Four bytes for weights and activations")
                                                   : QObject::tr("Two bytes for weights and activations") });
    return namedField(
        fieldText("workload.dtype", "Type", "What weights and activations are stored and multiplied in"), std::move(types),
        [](Design& design) -> DType& { return design.workload.dtype; }, dtypeName, dtypeFromName);
}

Setting logitsField()
{
    Setting out = namedField(
        fieldText("workload.logits", "Logits", "The tokens whose logits a prefill computes"),
        choices({ { "last", "last token", "Of each sequence, which is all that serving needs to go on" },
                  { "all", "all tokens", "To score texts: the table of logits works for every token" } }),
        [](Design& design) -> Logits& { return design.workload.logits; }, logitsName, logitsFromName);
    out.whyNot = [](const Design& design) {
        return design.workload.kind != WorkloadKind::Prefill
            ? QObject::tr("Decoding and training compute those of all their tokens.")
            : design.model.kind != ModelKind::Decoder ? QObject::tr("A single module has no logits.")
                                                      : QString();
    };
    return out;
}

} // namespace

SettingGroup workloadSection()
{
    SettingGroup out { QStringLiteral("workload"), QObject::tr("Workload"), true };
    out.settings.push_back(kindField());
    out.settings.push_back(
        countField(fieldText("workload.batch", "Batch", "Sequences in a step, on all devices together", "sequences"), 1,
                   kMostTokens, [](Design& design) -> std::int64_t& { return design.workload.batch; }));
    out.settings.push_back(countField(
        fieldText("workload.sequence", "Sequence", "Tokens of a sequence; in decoding, those that the KV cache holds", "tokens"), 1,
        kMostTokens, [](Design& design) -> std::int64_t& { return design.workload.sequence; }));
    for (Setting& setting : out.settings)
        setting.told = [](const Design&) { return true; }; // no design has them by itself
    Setting microBatches =
        countField(fieldText("workload.microBatches", "Micro-batches", "In training, the batch is split into this many parts"), 1,
                   kMostTokens, [](Design& design) -> std::int64_t& { return design.workload.microBatches; });
    microBatches.step = nextDivisor;
    out.settings.push_back(
        onlyInTraining(std::move(microBatches), QObject::tr("Only a training step is split into micro-batches.")));
    out.settings.push_back(typeField());
    out.settings.push_back(logitsField());
    Setting further = smallCountField(fieldText("workload.mtp", "Further tokens",
                                                "Modules behind the layers that predict further tokens (multi-token prediction)"),
                                      0, kMostPredicted, kMostPredicted,
                                      [](Design& design) -> std::int64_t& { return design.workload.predicted; });
    out.settings.push_back(onlyInTraining(std::move(further), QObject::tr("Only training predicts further tokens.")));
    return out;
}

} // namespace shardboard
