// SPDX-License-Identifier: Apache-2.0
#include "widgets/settings/fields.h"
#include "widgets/settings/partfields.h"
#include "widgets/settings/sections.h"

#include <QObject>

namespace shardboard {

namespace {

/// What a person recognizes of a part of a layer.
struct PartText {
    RecomputePart part;
    const char* id;
    const char* label;
};
constexpr PartText kPartTexts[] {
    { RecomputePart::Cheap, "recompute.cheap", "What costs little" },
    { RecomputePart::Norms, "recompute.norms", "Norms" },
    { RecomputePart::Activations, "recompute.activations", "Activations" },
    { RecomputePart::Attention, "recompute.attention", "Attention" },
    { RecomputePart::Rotation, "recompute.rotation", "Rotation" },
    { RecomputePart::Qkv, "recompute.qkv", "Q, K, V projections" },
    { RecomputePart::LatentUp, "recompute.latent-up", "Latent up-projections" },
    { RecomputePart::Output, "recompute.output", "Output projection" },
    { RecomputePart::MlpIn, "recompute.mlp-in", "MLP gate and up" },
    { RecomputePart::MlpOut, "recompute.mlp-out", "MLP down" },
    { RecomputePart::Experts, "recompute.experts", "Experts" },
    { RecomputePart::SharedExperts, "recompute.shared-experts", "Shared experts" },
    { RecomputePart::Residuals, "recompute.residuals", "Residual sums" },
    { RecomputePart::SecondProducts, "recompute.second-products", "Every second product" },
};

/// Why a model has no such part; empty where it may.
QString noPart(const Design& design, RecomputePart part)
{
    const ModelSpec& model = design.model;
    if (part == RecomputePart::Experts && !model.moe.present())
        return QObject::tr("The model has no experts.");
    if (part == RecomputePart::SharedExperts && model.moe.sharedExperts == 0)
        return QObject::tr("The model has no shared experts.");
    if (part == RecomputePart::LatentUp && !model.mla.present())
        return QObject::tr("The model has no latent attention.");
    return {};
}

Recompute& recomputeOf(Design& design) { return design.workload.recompute; }

} // namespace

SettingGroup recomputeSection(const Design& design)
{
    SettingGroup out { QStringLiteral("recompute"), QObject::tr("Recompute") };
    const QString whyNot = QObject::tr("Only a training step saves activations.");
    out.settings.push_back(onlyInTraining(
        wholeField(design,
                   fieldText("workload.recompute", "Recompute",
                             "Activations that are recomputed for the backward pass instead of being saved"),
                   { { "none", "none", "Every activation that the backward pass needs is saved" },
                     { "selective", "selective", "Activations that are cheap to compute and large to save are recomputed" },
                     { "by-op", "by operation", "Attention and every second matrix product are saved, as TorchTitan does" },
                     { "full", "full", "Only the input of a layer is saved; the layer is recomputed" } },
                   recomputeOf, recomputeName, recomputeFromName),
        whyNot));
    for (const PartText& text : kPartTexts) {
        Setting field = partField(fieldText(text.id, text.label,
                                            text.part == RecomputePart::Cheap
                                                ? "Norms, activations and products of elements whose operands are there anyway"
                                                : "Whether the backward pass computes their results again"),
                                  { "saved", "saved", "Kept from the forward pass, where the backward pass needs them" },
                                  { "again", "recomputed", "Computed again from what they read" }, out.settings.front(),
                                  recomputeOf, text.part);
        field.whyNot = [whyNot, part = text.part](const Design& d) {
            return !isTraining(d)                         ? whyNot
                : d.workload.recompute == Recompute::Full ? QObject::tr("The whole layer is recomputed.")
                                                          : noPart(d, part);
        };
        out.settings.push_back(std::move(field));
    }
    Setting layers = countField(fieldText("workload.recomputeLayers", "Layers that recompute",
                                          "The first of every run of layers of a stage; 0: all of them", "layers"),
                                0, kMostTokens, [](Design& d) -> std::int64_t& { return d.workload.recomputeLayers; });
    layers.step = [](const Design& d, const QString& text, bool up) {
        return byOne(text, up, 1, static_cast<double>(d.model.layers));
    };
    out.settings.push_back(onlyInTraining(std::move(layers), whyNot));
    Setting every = countField(fieldText("workload.recomputeEvery", "Recompute every n-th layer",
                                         "Of these layers, counted over a stage: 2 is every second one; 1: all of them"),
                               1, kMostTokens, [](Design& d) -> std::int64_t& { return d.workload.recomputeEvery; });
    every.step = [](const Design& d, const QString& text, bool up) {
        const QString next = byOne(text, up, 1, static_cast<double>(d.model.layers));
        return next == QLatin1String("0") ? QStringLiteral("1") : next;
    };
    out.settings.push_back(onlyInTraining(std::move(every), whyNot));
    return out;
}

} // namespace shardboard
