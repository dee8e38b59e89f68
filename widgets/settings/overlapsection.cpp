// SPDX-License-Identifier: Apache-2.0
#include "widgets/settings/partfields.h"
#include "widgets/settings/sections.h"

namespace shardboard {

namespace {

/// What each kind is called, and what runs beside the computation where it overlaps.
struct OverlapText {
    OverlapKind kind;
    const char* label;
    const char* what;
};
constexpr OverlapText kOverlapTexts[] {
    { OverlapKind::WeightGathers, "Weight gathers", "FSDP fetches the next layer's weights ahead" },
    { OverlapKind::GradientScatters, "Gradient collectives", "Nothing waits for them until the update" },
    { OverlapKind::Tensor, "Tensor parallel", "Async TP: products work on the parts that have arrived" },
    { OverlapKind::Experts, "Expert all-to-all", "Another micro-batch computes while tokens travel" },
    { OverlapKind::Context, "Keys and values", "Attention works on the parts that have arrived" },
    { OverlapKind::Sends, "Sends between stages", "While the pipeline is full a stage has other micro-batches" },
    { OverlapKind::Host, "To and from host", "Copies of what lies in the memory of the host" },
};

Overlap& overlapOf(Design& design) { return design.workload.overlap; }

} // namespace

SettingGroup overlapSection(const Design& design)
{
    SettingGroup out { QStringLiteral("overlap"), QObject::tr("Overlap") };
    out.settings.push_back(wholeField(
        design, fieldText("workload.overlap", "Overlap", "Collectives that run while the device computes"),
        { { "none", "none", "Every collective is waited for" },
          { "weights", "weights",
            "Those of weights and their gradients overlap with the computation of their layer, like FSDP's prefetching" },
          { "all", "all", "All overlap with the computation of their layer: a lower bound that no framework reaches" } },
        overlapOf, overlapName, overlapFromName));
    for (const OverlapText& text : kOverlapTexts) {
        const std::string id = "overlap." + overlapKindName(text.kind);
        Setting field = partField(fieldText(id.c_str(), text.label, text.what),
                                  { "waited", "waited for", "The device waits until they are done" },
                                  { "beside", "overlaps", "They run beside the computation of their layer, as far as it lasts" },
                                  out.settings.front(), overlapOf, text.kind);
        if (text.kind == OverlapKind::GradientScatters)
            field = onlyInTraining(std::move(field), QObject::tr("Only training has gradients."));
        if (text.kind == OverlapKind::Experts)
            field.whyNot = [](const Design& d) {
                return d.model.moe.present() ? QString() : QObject::tr("The model has no experts.");
            };
        if (text.kind == OverlapKind::Sends)
            field.whyNot = [](const Design& d) {
                return d.pipeline.present() ? QString() : QObject::tr("No mesh axis carries pipeline stages.");
            };
        if (text.kind == OverlapKind::Host)
            field.whyNot = [](const Design& d) {
                return d.workload.offload.any() ? QString() : QObject::tr("Nothing lies in the memory of the host.");
            };
        out.settings.push_back(std::move(field));
    }
    return out;
}

} // namespace shardboard
