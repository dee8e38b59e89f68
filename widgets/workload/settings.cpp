// SPDX-License-Identifier: Apache-2.0
#include "widgets/workload/settings.h"

#include "model/hardware/hardware.h"
#include "model/plan/memorysettings.h"
#include "widgets/look/format.h"

#include <QObject>
#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace shardboard {

namespace {

constexpr double kMib = 1024.0 * 1024.0;
constexpr double kPercent = 100;
constexpr std::int64_t kMostTokens = std::int64_t { 1 } << 31; // verifyWorkload
constexpr std::int64_t kMostMib = 1024 * 1024; // verifyMemorySettings
constexpr std::int64_t kMostLayers = 64;

QString tr(const char* text) { return QObject::tr(text); }

bool isTraining(const Design& design) { return design.workload.kind == WorkloadKind::Train; }

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

/// What is quoted of a text that cannot be used: its beginning.
QString quoted(const QString& text)
{
    constexpr qsizetype kMost = 24;
    const QString shown = qstr(text.simplified().toStdString());
    return QStringLiteral("“%1”").arg(shown.size() > kMost ? shown.left(kMost) + QStringLiteral("…") : shown);
}

QString rangeText(const QString& label, const QString& unit, double least, double most)
{
    const auto number = [](double value) { return countText(std::llround(value)); };
    const QString of = unit.isEmpty() ? QString() : QLatin1Char(' ') + unit;
    return tr("%1 goes from %2 to %3%4.").arg(label, number(least), number(most), of);
}

/// Doubled or halved, as sizes of batches and sequences go; down from an odd number to the power of two below it.
QString doubled(const QString& text, bool up, std::int64_t most)
{
    const auto whole = static_cast<std::int64_t>(std::clamp(numberFrom(text).value_or(0), 0.0, static_cast<double>(most)));
    if (up)
        return QString::number(std::clamp<std::int64_t>(2 * whole, 1, most));
    std::int64_t power = 1;
    while (power * 2 < whole)
        power *= 2;
    return QString::number(std::max<std::int64_t>(1, whole % 2 == 0 ? whole / 2 : power));
}

QString byOne(const QString& text, bool up, double step, double most)
{
    const double number = numberFrom(text).value_or(0);
    const double next = up ? std::floor(number / step + 1) * step : std::ceil(number / step - 1) * step;
    return QString::number(std::clamp(next, 0.0, most), 'g', 15);
}

/// A field for a whole number that `at` leads to.
template <class At>
Setting countField(const char* id, const QString& label, const QString& unit, const QString& toolTip, std::int64_t least,
                   std::int64_t most, At at)
{
    Setting out;
    out.id = QLatin1String(id);
    out.label = label;
    out.unit = unit;
    out.toolTip = toolTip;
    out.text = [at](const Design& design) { return QString::number(at(const_cast<Design&>(design))); }; // `at` only leads to it
    out.set = [at, label, unit, least, most](Design& design, const QString& text) {
        const auto number = numberFrom(text);
        if (!number || std::floor(*number) != *number)
            return tr("%1 needs a whole number, such as %2, not %3.")
                .arg(label, QString::number(at(design)), text.trimmed().isEmpty() ? tr("nothing") : quoted(text));
        if (*number < static_cast<double>(least) || *number > static_cast<double>(most))
            return rangeText(label, unit, static_cast<double>(least), static_cast<double>(most));
        at(design) = static_cast<std::int64_t>(*number);
        return QString();
    };
    out.step = [most](const Design&, const QString& text, bool up) { return doubled(text, up, most); };
    return out;
}

/// A field for a number in a unit of its own.
Setting measureField(const char* id, const QString& label, const QString& unit, const QString& toolTip, double most, double step,
                     const std::function<double(const MemorySettings&)>& get,
                     const std::function<void(MemorySettings&, double)>& put)
{
    Setting out;
    out.id = QLatin1String(id);
    out.label = label;
    out.unit = unit;
    out.toolTip = toolTip;
    out.text = [get](const Design& design) { return QString::number(get(design.memory), 'g', 15); };
    out.set = [=](Design& design, const QString& text) {
        const auto number = numberFrom(text);
        if (!number)
            return tr("%1 needs a number in %2, such as %3, not %4.")
                .arg(label, unit, QString::number(get(design.memory), 'g', 6),
                     text.trimmed().isEmpty() ? tr("nothing") : quoted(text));
        if (*number < 0 || *number > most)
            return rangeText(label, unit, 0, most);
        put(design.memory, *number);
        return QString();
    };
    out.step = [most, step](const Design&, const QString& text, bool up) { return byOne(text, up, step, most); };
    return out;
}

/// A field for one of several.
template <class Get, class Put>
Setting choiceField(const QString& id, const QString& label, const QString& toolTip, std::vector<Setting::Option> options, Get get,
                    Put put)
{
    Setting out;
    out.id = id;
    out.label = label;
    out.toolTip = toolTip;
    out.options = std::move(options);
    out.text = get;
    out.set = [put, label, options = out.options](Design& design, const QString& value) {
        if (std::ranges::none_of(options, [&](const Setting::Option& option) { return option.value == value; }))
            return tr("%1 has no choice %2.").arg(label, quoted(value));
        put(design, value);
        return QString();
    };
    return out;
}

Setting onlyInTraining(Setting setting, const QString& why)
{
    setting.whyNot = [why](const Design& design) { return isTraining(design) ? QString() : why; };
    return setting;
}

SettingGroup workloadGroup()
{
    SettingGroup out { tr("Workload"), {} };
    out.settings.push_back(choiceField(
        QStringLiteral("workload.kind"), tr("Workload"), tr("What one step does"),
        { { QStringLiteral("prefill"), tr("prefill"), tr("Whole sequences at once") },
          { QStringLiteral("decode"), tr("decode"), tr("One token each, with a KV cache") },
          { QStringLiteral("train"), tr("train"), tr("Forward, backward, and the optimizer's step") } },
        [](const Design& design) { return qstr(workloadName(design.workload.kind)); },
        [](Design& design, const QString& name) {
            design.workload.kind = workloadFromName(name.toStdString()).value_or(design.workload.kind);
            if (isTraining(design)) {
                layTargetsAsTokens(design);
                dropUnsuited(design);
            }
        }));
    out.settings.push_back(countField("workload.batch", tr("Batch"), tr("sequences"),
                                      tr("Sequences in a step, on all devices together"), 1, kMostTokens,
                                      [](Design& design) -> std::int64_t& { return design.workload.batch; }));
    out.settings.push_back(countField("workload.sequence", tr("Sequence"), tr("tokens"),
                                      tr("Tokens of a sequence; in decoding, those that the KV cache holds"), 1, kMostTokens,
                                      [](Design& design) -> std::int64_t& { return design.workload.sequence; }));
    return out;
}

/// The type that a kind of data is held in.
Setting heldIn(const PrecisionMember& member)
{
    std::vector<Setting::Option> types { { QStringLiteral("usual"), tr("usual"), tr("As the type above and the framework say") } };
    for (const DType type : member.types)
        types.push_back({ qstr(dtypeName(type)), qstr(dtypeName(type)), tr("%1 bits each").arg(bitsOf(type)) });
    QString label = qstr(member.name);
    label[0] = label[0].toUpper();
    Setting out = choiceField(
        QStringLiteral("precision.") + QLatin1String(member.key), label, tr("The type in which %1 are held").arg(qstr(member.name)),
        std::move(types),
        [at = member.type](const Design& design) {
            const auto& type = design.workload.precision.*at;
            return type ? qstr(dtypeName(*type)) : QStringLiteral("usual");
        },
        [at = member.type](Design& design, const QString& name) {
            design.workload.precision.*at = dtypeFromName(name.toStdString());
        });
    return member.training ? onlyInTraining(std::move(out), tr("Only training has gradients and an optimizer.")) : out;
}

Setting fp8Recipe()
{
    std::vector<Setting::Option> recipes;
    for (const Fp8RecipeFacts& facts : fp8Recipes())
        recipes.push_back({ QLatin1String(facts.name), QLatin1String(facts.name),
                            tr("%1 bytes an element with its scales, in %2")
                                .arg(digitsText(facts.bytes), facts.twoCopies ? tr("two copies") : tr("one copy")) });
    return choiceField(
        QStringLiteral("fp8.recipe"), tr("fp8 recipe"), tr("How values are scaled for products in 8 or 4 bits"), std::move(recipes),
        [](const Design& design) { return QString::fromLatin1(fp8RecipeName(design.workload.fp8.recipe)); },
        [](Design& design, const QString& name) {
            design.workload.fp8.recipe = fp8RecipeFromName(name.toStdString()).value_or(design.workload.fp8.recipe);
        });
}

Setting fp8Gather()
{
    return choiceField(
        QStringLiteral("fp8.gather"), tr("Gathered weights"), tr("The type in which weights of the layers' products are gathered"),
        { { QStringLiteral("bf16"), tr("16 bits"), tr("They are cast after they are gathered") },
          { QStringLiteral("fp8"), tr("fp8"), tr("They are cast before: half the bytes move and stay") } },
        [](const Design& design) { return design.workload.fp8.gather ? QStringLiteral("fp8") : QStringLiteral("bf16"); },
        [](Design& design, const QString& value) { design.workload.fp8.gather = value == QLatin1String("fp8"); });
}

Setting onlyInFp8(Setting setting)
{
    setting.whyNot = [](const Design& design) {
        return isTraining(design) && design.workload.dtype == DType::F8E4M3 ? QString()
                                                                            : tr("Only training in f8e4m3 casts values.");
    };
    return setting;
}

SettingGroup precisionGroup()
{
    std::vector<Setting::Option> types;
    for (const DType type : computeTypes())
        types.push_back({ qstr(dtypeName(type)), qstr(dtypeName(type)),
                          type == DType::F8E4M3 ? tr("One byte for everything in inference; in training the layers' products alone")
                              : type == DType::F32 ? tr("Four bytes for weights and activations")
                                                   : tr("Two bytes for weights and activations") });
    SettingGroup out { tr("Precision"), {} };
    out.settings.push_back(choiceField(
        QStringLiteral("workload.dtype"), tr("Type"), tr("What weights and activations are stored and multiplied in"),
        std::move(types), [](const Design& design) { return qstr(dtypeName(design.workload.dtype)); },
        [](Design& design, const QString& name) {
            design.workload.dtype = dtypeFromName(name.toStdString()).value_or(design.workload.dtype);
        }));
    for (const PrecisionMember& member : precisionMembers())
        out.settings.push_back(heldIn(member));
    out.settings.push_back(onlyInFp8(fp8Recipe()));
    out.settings.push_back(onlyInFp8(fp8Gather()));
    return out;
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

QString noStages(const Design& design)
{
    return design.pipeline.present() ? QString() : tr("No mesh axis carries pipeline stages.");
}

/// How the layers are cut into stages, and in which order these work.
void addStages(SettingGroup& out)
{
    Setting schedule = choiceField(
        QStringLiteral("pipeline.schedule"), tr("Stages take turns"), tr("In which order a stage works on its micro-batches"),
        { { QStringLiteral("1f1b"), tr("1F1B"), tr("One forward, one backward; interleaved with more than one chunk") },
          { QStringLiteral("zero-bubble"), tr("zero bubble"),
            tr("ZB-H1: gradients of weights fill the time in which a stage waits") },
          { QStringLiteral("dualpipe"), tr("DualPipe"),
            tr("Micro-batches start at both ends, so that two stages hold the weights of each") } },
        [](const Design& design) { return qstr(scheduleName(design.pipeline.schedule)); },
        [](Design& design, const QString& name) {
            design.pipeline.schedule = scheduleFromName(name.toStdString()).value_or(design.pipeline.schedule);
        });
    schedule.whyNot = noStages;
    Setting layers;
    layers.id = QStringLiteral("pipeline.layers");
    layers.label = tr("Layers of stages");
    layers.toolTip = tr("Layers of each stage, or of each chunk in order, such as 3,4x14,2; nothing: cut evenly");
    layers.text = [](const Design& design) { return qstr(stageLayersText(design.pipeline.layers)); };
    layers.set = [](Design& design, const QString& text) {
        auto parsed = parseStageLayers(text.toStdString(), {});
        if (!parsed.ok())
            return tr("Layers of stages are numbers such as 3,4x14,2, not %1.").arg(quoted(text));
        design.pipeline.layers = std::move(parsed).value();
        return QString();
    };
    layers.whyNot = noStages;
    Setting counted = choiceField(
        QStringLiteral("pipeline.counted"), tr("Counted as layers"), tr("What counts as a layer when the layers are cut evenly"),
        { { QStringLiteral("none"), tr("nothing"), tr("Only layers are cut") },
          { QStringLiteral("embedding"), tr("embedding"), tr("The first stage has a layer less") },
          { QStringLiteral("loss"), tr("loss"), tr("The last stage, with head and loss, has a layer less") },
          { QStringLiteral("both"), tr("embedding and loss"), tr("The first and the last stage have a layer less") } },
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
    counted.whyNot = noStages;
    for (Setting* setting : { &schedule, &layers, &counted })
        out.settings.push_back(std::move(*setting));
}

SettingGroup scheduleGroup()
{
    SettingGroup out { tr("Schedule"), {} };
    Setting microBatches =
        countField("workload.microBatches", tr("Micro-batches"), {}, tr("In training, the batch is split into this many parts"), 1,
                   kMostTokens, [](Design& design) -> std::int64_t& { return design.workload.microBatches; });
    microBatches.step = nextDivisor;
    out.settings.push_back(onlyInTraining(std::move(microBatches), tr("Only a training step is split into micro-batches.")));
    Setting logits = choiceField(
        QStringLiteral("workload.logits"), tr("Logits"), tr("The tokens whose logits a prefill computes"),
        { { QStringLiteral("last"), tr("last token"), tr("Of each sequence, which is all that serving needs to go on") },
          { QStringLiteral("all"), tr("all tokens"), tr("To score texts: the table of logits works for every token") } },
        [](const Design& design) { return qstr(logitsName(design.workload.logits)); },
        [](Design& design, const QString& name) {
            design.workload.logits = logitsFromName(name.toStdString()).value_or(design.workload.logits);
        });
    logits.whyNot = [](const Design& design) {
        return design.workload.kind != WorkloadKind::Prefill ? tr("Decoding and training compute those of all their tokens.")
            : design.model.kind != ModelKind::Decoder        ? tr("A single module has no logits.")
                                                             : QString();
    };
    out.settings.push_back(std::move(logits));
    Setting chunks = countField("pipeline.chunks", tr("Chunks of a stage"), {},
                                tr("Runs of layers on every pipeline stage: 1 is the schedule 1F1B, more are interleaved"), 1,
                                kMostTokens, [](Design& design) -> std::int64_t& { return design.pipeline.chunks; });
    chunks.step = [](const Design&, const QString& text, bool up) { return byOne(text, up, 1, 1024); };
    chunks.whyNot = noStages;
    out.settings.push_back(std::move(chunks));
    addStages(out);
    return out;
}

/// What a person recognizes of a part of a layer.
struct PartText {
    RecomputePart part;
    const char* id;
    const char* label;
};
constexpr std::array kPartTexts {
    PartText { RecomputePart::Norms, "norms", "Norms" },
    PartText { RecomputePart::Activations, "activations", "Activations" },
    PartText { RecomputePart::Attention, "attention", "Attention" },
    PartText { RecomputePart::Rotation, "rotation", "Rotation" },
    PartText { RecomputePart::Qkv, "qkv", "Q, K, V projections" },
    PartText { RecomputePart::LatentUp, "latent-up", "Latent up-projections" },
    PartText { RecomputePart::Output, "output", "Output projection" },
    PartText { RecomputePart::MlpIn, "mlp-in", "MLP gate and up" },
    PartText { RecomputePart::MlpOut, "mlp-out", "MLP down" },
    PartText { RecomputePart::Experts, "experts", "Experts" },
    PartText { RecomputePart::SharedExperts, "shared-experts", "Shared experts" },
    PartText { RecomputePart::Residuals, "residuals", "Residual sums" },
    PartText { RecomputePart::SecondProducts, "second-products", "Every second product" },
};

SettingGroup recomputeGroup(const Design& design)
{
    SettingGroup out { tr("Recompute"), {} };
    const QString whyNot = tr("Only a training step saves activations.");
    std::vector<Setting::Option> options {
        { QStringLiteral("none"), tr("none"), tr("Every activation that the backward pass needs is saved") },
        { QStringLiteral("selective"), tr("selective"),
          tr("Activations that are cheap to compute and large to save are recomputed") },
        { QStringLiteral("by-op"), tr("by operation"),
          tr("Attention and every second matrix product are saved, as TorchTitan does") },
        { QStringLiteral("full"), tr("full"), tr("Only the input of a layer is saved; the layer is recomputed") }
    };
    const QString now = qstr(recomputeName(design.workload.recompute));
    if (std::ranges::none_of(options, [&](const Setting::Option& option) { return option.value == now; }))
        options.push_back({ now, tr("as chosen"), tr("What the fields below say") });
    out.settings.push_back(
        onlyInTraining(choiceField(
                           QStringLiteral("workload.recompute"), tr("Recompute"),
                           tr("Activations that are recomputed for the backward pass instead of being saved"), std::move(options),
                           [](const Design& d) { return qstr(recomputeName(d.workload.recompute)); },
                           [](Design& d, const QString& name) {
                               d.workload.recompute = recomputeFromName(name.toStdString()).value_or(d.workload.recompute);
                           }),
                       whyNot));
    for (const PartText& text : kPartTexts) {
        const RecomputePart part = text.part;
        Setting field = choiceField(
            QStringLiteral("recompute.") + QLatin1String(text.id), tr(text.label),
            tr("Whether the backward pass computes their results again"),
            { { QStringLiteral("saved"), tr("saved"), tr("Kept from the forward pass, where the backward pass needs them") },
              { QStringLiteral("again"), tr("recomputed"), tr("Computed again from what they read") } },
            [part](const Design& d) { return d.workload.recompute.has(part) ? QStringLiteral("again") : QStringLiteral("saved"); },
            [part](Design& d, const QString& value) {
                d.workload.recompute = d.workload.recompute.with(part, value == QLatin1String("again"));
            });
        field.whyNot = [whyNot](const Design& d) {
            return !isTraining(d)                         ? whyNot
                : d.workload.recompute == Recompute::Full ? tr("The whole layer is recomputed.")
                                                          : QString();
        };
        out.settings.push_back(std::move(field));
    }
    Setting layers = countField("workload.recomputeLayers", tr("Layers that recompute"), tr("layers"),
                                tr("The first of every run of layers of a stage; 0: all of them"), 0, kMostTokens,
                                [](Design& d) -> std::int64_t& { return d.workload.recomputeLayers; });
    layers.step = [](const Design& d, const QString& text, bool up) {
        return byOne(text, up, 1, static_cast<double>(d.model.layers));
    };
    out.settings.push_back(onlyInTraining(std::move(layers), whyNot));
    return out;
}

/// What each kind is called, and what runs beside the computation where it overlaps.
struct OverlapText {
    OverlapKind kind;
    const char* label;
    const char* what;
};
constexpr std::array kOverlapTexts {
    OverlapText { OverlapKind::WeightGathers, "Weight gathers", "FSDP fetches the next layer's weights ahead" },
    OverlapText { OverlapKind::GradientScatters, "Gradient reductions", "Nothing waits for them until the update" },
    OverlapText { OverlapKind::Tensor, "Tensor parallel", "Async TP: products work on the parts that have arrived" },
    OverlapText { OverlapKind::Experts, "Tokens to experts", "Another micro-batch computes while tokens travel" },
    OverlapText { OverlapKind::Context, "Keys and values", "Attention works on the parts that have arrived" },
    OverlapText { OverlapKind::Sends, "Sends between stages", "While the pipeline is full a stage has other micro-batches" },
};

SettingGroup overlapGroup(const Design& design)
{
    SettingGroup out { tr("Overlap"), {} };
    std::vector<Setting::Option> options {
        { QStringLiteral("none"), tr("none"), tr("Every collective is waited for") },
        { QStringLiteral("weights"), tr("weights"),
          tr("Those of weights and their gradients overlap with the computation of their layer, like FSDP's prefetching") },
        { QStringLiteral("all"), tr("all"),
          tr("All overlap with the computation of their layer: a lower bound that no framework reaches") }
    };
    const QString now = qstr(overlapName(design.workload.overlap));
    if (std::ranges::none_of(options, [&](const Setting::Option& option) { return option.value == now; }))
        options.push_back({ now, tr("as chosen"), tr("What the fields below say") });
    out.settings.push_back(choiceField(
        QStringLiteral("workload.overlap"), tr("Overlap"), tr("Collectives that run while the device computes"), std::move(options),
        [](const Design& d) { return qstr(overlapName(d.workload.overlap)); },
        [](Design& d, const QString& name) {
            d.workload.overlap = overlapFromName(name.toStdString()).value_or(d.workload.overlap);
        }));
    for (const OverlapText& text : kOverlapTexts) {
        const OverlapKind kind = text.kind;
        Setting field = choiceField(
            QStringLiteral("overlap.") + qstr(overlapKindName(kind)), tr(text.label), tr(text.what),
            { { QStringLiteral("waited"), tr("waited for"), tr("The device waits until they are done") },
              { QStringLiteral("beside"), tr("overlaps"),
                tr("They run beside the computation of their layer, as far as it lasts") } },
            [kind](const Design& d) { return d.workload.overlap.has(kind) ? QStringLiteral("beside") : QStringLiteral("waited"); },
            [kind](Design& d, const QString& value) {
                d.workload.overlap = d.workload.overlap.with(kind, value == QLatin1String("beside"));
            });
        if (kind == OverlapKind::Sends)
            field.whyNot = [](const Design& d) {
                return d.pipeline.present() ? QString() : tr("No mesh axis carries pipeline stages.");
            };
        out.settings.push_back(std::move(field));
    }
    return out;
}

SettingGroup softwareGroup()
{
    SettingGroup out { tr("Software"), {} };
    out.settings.push_back(choiceField(
        QStringLiteral("workload.software"), tr("Kernels"), tr("Whose kernels compute what is no matrix product"),
        { { QStringLiteral("fused"), tr("fused"), tr("One kernel for each operation, as Megatron-LM and XLA have them") },
          { QStringLiteral("compiled"), tr("compiled"), tr("What torch.compile fuses, with FlashAttention-2") },
          { QStringLiteral("eager"), tr("eager"), tr("PyTorch alone: a kernel for each step of a formula") } },
        [](const Design& design) { return qstr(softwareName(design.workload.software)); },
        [](Design& design, const QString& name) {
            design.workload.software = softwareFromName(name.toStdString()).value_or(design.workload.software);
        }));
    out.settings.push_back(choiceField(
        QStringLiteral("workload.attention"), tr("Attention"), tr("How attention is computed"),
        { { QStringLiteral("flash"), tr("flash"), tr("One kernel: the scores never reach memory") },
          { QStringLiteral("unfused"), tr("unfused"),
            tr("Two matrix products with softmax in between: the scores are written, read and kept") } },
        [](const Design& design) { return qstr(attentionKernelName(design.workload.attention)); },
        [](Design& design, const QString& name) {
            design.workload.attention = attentionKernelFromName(name.toStdString()).value_or(design.workload.attention);
        }));
    out.settings.push_back(choiceField(
        QStringLiteral("workload.graphs"), tr("Launches"), tr("How the kernels of a step are launched"),
        { { QStringLiteral("single"), tr("one by one"), tr("The host launches every kernel") },
          { QStringLiteral("graph"), tr("CUDA graphs"), tr("Recorded once; the device goes on by itself") } },
        [](const Design& design) { return design.workload.graphs ? QStringLiteral("graph") : QStringLiteral("single"); },
        [](Design& design, const QString& value) { design.workload.graphs = value == QLatin1String("graph"); }));
    Setting dispatch = choiceField(
        QStringLiteral("workload.dispatch"), tr("Tokens to experts"), tr("How tokens travel to their experts and back"),
        { { QStringLiteral("per-expert"), tr("once per expert"), tr("A token is sent to each expert that it chose") },
          { QStringLiteral("per-node"), tr("once per node"),
            tr("A token is sent once to each node of its experts, and there to each of them (DeepEP, HybridEP)") } },
        [](const Design& design) { return qstr(dispatchName(design.workload.dispatch)); },
        [](Design& design, const QString& name) {
            design.workload.dispatch = dispatchFromName(name.toStdString()).value_or(design.workload.dispatch);
        });
    dispatch.whyNot = [](const Design& design) { return design.model.moe.present() ? QString() : tr("The model has no experts."); };
    out.settings.push_back(std::move(dispatch));
    return out;
}

void cutOver(OptimizerSharding& sharding, const std::string& axis, bool on)
{
    std::erase(sharding.axes, axis);
    if (on)
        sharding.axes.push_back(axis);
    if (!sharding.present())
        sharding.gradients = false; // they are cut as the states are
}

SettingGroup optimizerGroup(const Design& design)
{
    SettingGroup out { tr("Optimizer states (ZeRO)"), {} };
    const std::vector<Setting::Option> wholeOrCut {
        { QStringLiteral("whole"), tr("whole"), tr("Every device along the axis holds and updates all of them") },
        { QStringLiteral("cut"), tr("cut"), tr("Each device along the axis holds and updates its part") }
    };
    for (int i = 0; i < design.mesh.axisCount(); ++i) {
        const std::string axis = design.mesh.axis(i).name;
        out.settings.push_back(onlyInTraining(choiceField(
                                                  QStringLiteral("optimizer.") + verbatim(axis), tr("Over %1").arg(qstr(axis)),
                                                  tr("ZeRO-1: states of weights that %1 does not cut").arg(qstr(axis)), wholeOrCut,
                                                  [axis](const Design& d) {
                                                      const auto& axes = d.workload.optimizer.axes;
                                                      return std::find(axes.begin(), axes.end(), axis) != axes.end()
                                                          ? QStringLiteral("cut")
                                                          : QStringLiteral("whole");
                                                  },
                                                  [axis](Design& d, const QString& value) {
                                                      const auto& axes = d.workload.optimizer.axes;
                                                      const bool on = value == QLatin1String("cut");
                                                      if (on != (std::find(axes.begin(), axes.end(), axis) != axes.end()))
                                                          cutOver(d.workload.optimizer, axis, on);
                                                  }),
                                              tr("Only a training step has an optimizer.")));
    }
    Setting gradients = choiceField(
        QStringLiteral("optimizer.gradients"), tr("Gradients"), tr("ZeRO-2: whether gradients are cut as the states are"),
        { { QStringLiteral("whole"), tr("whole"), tr("They stay whole until the optimizer's step") },
          { QStringLiteral("cut"), tr("cut"), tr("Every micro-batch reduces its gradients to shards") } },
        [](const Design& d) { return d.workload.optimizer.gradients ? QStringLiteral("cut") : QStringLiteral("whole"); },
        [](Design& d, const QString& value) { d.workload.optimizer.gradients = value == QLatin1String("cut"); });
    gradients.whyNot = [](const Design& d) {
        return !isTraining(d)                ? tr("Only a training step has gradients.")
            : d.workload.optimizer.present() ? QString()
                                             : tr("No mesh axis cuts the optimizer's states.");
    };
    out.settings.push_back(std::move(gradients));
    return out;
}

SettingGroup memoryGroup()
{
    SettingGroup out { tr("Memory"), {} };
    std::vector<Setting::Option> names;
    for (const FrameworkFacts& facts : frameworks())
        names.push_back({ QLatin1String(facts.name), tr(facts.title), tr(facts.holds) });
    out.settings.push_back(choiceField(
        QStringLiteral("memory.framework"), tr("Framework"), tr("Whose memory it is: what it holds beside what the layouts need"),
        std::move(names), [](const Design& design) { return QString::fromLatin1(frameworkName(design.memory.framework)); },
        [](Design& design, const QString& name) {
            design.memory.choose(frameworkFromName(name.toStdString()).value_or(design.memory.framework));
        }));
    out.settings.push_back(onlyInTraining(
        choiceField(
            QStringLiteral("memory.reshardAfterForward"), tr("Gathered weights of a layer"),
            tr("Whether they are given back after its forward pass (reshard_after_forward)"),
            { { QStringLiteral("usual"), tr("as the framework does"), tr("Given back, but by TorchTitan in a pipeline") },
              { QStringLiteral("always"), tr("given back"), tr("And gathered again for the backward pass") },
              { QStringLiteral("never"), tr("kept"), tr("Until the backward pass has used them") } },
            [](const Design& design) {
                const auto& reshards = design.memory.reshardAfterForward;
                return !reshards ? QStringLiteral("usual") : *reshards ? QStringLiteral("always") : QStringLiteral("never");
            },
            [](Design& design, const QString& value) {
                design.memory.reshardAfterForward =
                    value == QLatin1String("usual") ? std::nullopt : std::optional(value == QLatin1String("always"));
            }),
        tr("Only a training step has a backward pass.")));
    Setting layers =
        countField("memory.prefetchedLayers", tr("Layers gathered ahead"), tr("layers"),
                   tr("Layers whose weights are whole in addition to those of the current layer; FSDP2 gathers one ahead"), 0,
                   kMostLayers, [](Design& design) -> std::int64_t& { return design.memory.prefetchedLayers; });
    layers.step = [](const Design&, const QString& text, bool up) { return byOne(text, up, 1, kMostLayers); };
    out.settings.push_back(std::move(layers));
    out.settings.push_back(measureField(
        "memory.reserve", tr("Allocator's reserve"), tr("%"),
        tr("What the allocator holds on top of activations, logits and gathered weights because of fragmentation"), kPercent, 1,
        [](const MemorySettings& memory) { return memory.reserveShare * kPercent; },
        [](MemorySettings& memory, double value) { memory.reserveShare = value / kPercent; }));
    out.settings.push_back(measureField(
        "memory.context", tr("Context of a device"), tr("MiB"), tr("What a process takes on a GPU before it allocates anything"),
        static_cast<double>(kMostMib), 64,
        [](const MemorySettings& memory) { return static_cast<double>(memory.contextBytes) / kMib; },
        [](MemorySettings& memory, double value) { memory.contextBytes = std::llround(value * kMib); }));
    out.settings.push_back(measureField(
        "memory.communicator", tr("Buffers of a communicator"), tr("MiB"),
        tr("One for each set of mesh axes that collectives run over; on GPUs"), static_cast<double>(kMostMib), 16,
        [](const MemorySettings& memory) { return static_cast<double>(memory.communicatorBytes) / kMib; },
        [](MemorySettings& memory, double value) { memory.communicatorBytes = std::llround(value * kMib); }));
    out.settings.push_back(onlyInTraining(
        choiceField(
            QStringLiteral("memory.logits"), tr("Logits of the loss"), tr("Whether the loss copies the logits and their gradient"),
            { { QStringLiteral("f32"), tr("copied in f32"), tr("With their gradient, as PyTorch's cross_entropy makes them") },
              { QStringLiteral("fused"), tr("fused loss"), tr("Makes neither the copy nor the gradient") } },
            [](const Design& design) { return design.memory.logitsInF32 ? QStringLiteral("f32") : QStringLiteral("fused"); },
            [](Design& design, const QString& value) { design.memory.logitsInF32 = value == QLatin1String("f32"); }),
        tr("Only a training step has a loss.")));
    return out;
}

SettingGroup hardwareGroup(const Design& design)
{
    std::vector<Setting::Option> options;
    const auto add = [&](const Hardware& hardware) {
        options.push_back({ verbatim(hardware.id), qstr(hardware.name),
                            tr("%1 a device").arg(bytesText(static_cast<std::int64_t>(hardware.memoryBytes()))) });
    };
    if (design.ownHardware)
        add(*design.ownHardware);
    for (const Hardware& hardware : hardwarePresets())
        if (!design.ownHardware || design.ownHardware->id != hardware.id)
            add(hardware);
    SettingGroup out { tr("Hardware"), {} };
    out.settings.push_back(choiceField(
        QStringLiteral("hardware"), tr("Hardware"), tr("Devices and links that the times and the limit are of"), std::move(options),
        [](const Design& d) { return verbatim(d.hardware); },
        [](Design& d, const QString& id) {
            if (d.hardware == id.toStdString())
                return;
            if (d.ownHardware && d.ownHardware->id == id.toStdString())
                d.hardware = d.ownHardware->id;
            else if (auto preset = findHardware(id.toStdString()); preset.ok())
                setHardware(d, std::move(preset).value());
        }));
    return out;
}

} // namespace

std::optional<double> numberFrom(const QString& text)
{
    constexpr qsizetype kMostDigits = 40;
    QString plain = text.trimmed();
    if (plain.size() > kMostDigits)
        return std::nullopt;
    static const QRegularExpression separators(QStringLiteral("(?<=\\d)[ ,'_\\x{00A0}\\x{202F}\\x{2009}](?=\\d{3}(\\D|$))"));
    plain.remove(separators);
    static const QRegularExpression form(QStringLiteral("^[+-]?(\\d+\\.?\\d*|\\.\\d+)$"));
    if (!form.match(plain).hasMatch())
        return std::nullopt;
    bool ok = false;
    const double number = plain.toDouble(&ok);
    return ok && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

QString Setting::editText(const Design& edited) const { return QStringLiteral("%1 %2").arg(label, shownText(edited)); }

QString Setting::shownText(const Design& design) const
{
    const QString value = text(design);
    for (const Option& option : options)
        if (option.value == value)
            return option.text;
    if (!isNumber())
        return qstr(value.toStdString());
    const double number = numberFrom(value).value_or(0);
    const QString shown = std::floor(number) == number ? countText(std::llround(number)) : value;
    return unit.isEmpty() ? shown : shown + QLatin1Char(' ') + unit;
}

std::vector<SettingGroup> settingGroups(const Design& design)
{
    std::vector<SettingGroup> out { workloadGroup(),      precisionGroup(), scheduleGroup(), recomputeGroup(design),
                                    overlapGroup(design), softwareGroup(),  memoryGroup() };
    out.push_back(optimizerGroup(design));
    out.push_back(hardwareGroup(design));
    return out;
}

} // namespace shardboard
