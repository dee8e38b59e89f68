// SPDX-License-Identifier: Apache-2.0
// Text -> Design. Every value is checked; the first that is wrong is named as FILE:KEY.
#include "model/io/design/designfile.h"

#include "model/core/text.h"
#include "model/core/visibletext.h"
#include "model/io/design/designkeys.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/design/modelparts.h"
#include "model/io/huggingface/hffamilies.h"
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsontext.h"

#include <algorithm>
#include <optional>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::int64_t kLargest = std::int64_t { 1 } << 62;
constexpr std::size_t kMostValues = 2'500'000; // a mesh of 2^20 devices with an order of its own, and 200,000 weights

/// The value of a text that must be one of a few words.
template <class T, class FromName>
T word(JsonFields& fields, const std::string& key, const std::string& text, FromName fromName, const std::string& known, T fallback)
{
    const std::optional<T> found = fromName(text);
    if (!found)
        fields.fail(key, "cannot be '" + text + "'", "use " + known);
    return found.value_or(fallback);
}

std::optional<AttentionBias> attentionBiasFromName(std::string_view name)
{
    for (const AttentionBias bias : { AttentionBias::None, AttentionBias::Qkv, AttentionBias::Qkvo })
        if (name == attentionBiasName(bias))
            return bias;
    return std::nullopt;
}

DType dtypeField(JsonFields& fields, const std::string& key)
{
    const std::string text = fields.text(key);
    return fields.error() ? DType::BF16 : word(fields, key, text, dtypeFromName, "a type such as bf16 or f32", DType::BF16);
}

class DesignReader {
public:
    DesignReader(const json& document, const std::string& file)
        : m_document(document)
        , m_file(file)
    {
    }

    Result<Design> read()
    {
        JsonFields top(m_document, m_file, "");
        if (auto status = checkHeading(top); !status.ok())
            return status.error();
        readHardware(top);
        readMesh(section(top, "mesh"));
        readModel(section(top, "model"));
        readWorkload(section(top, "workload"));
        readPicker(section(top, "picker"));
        readStrategies(top.find("strategies"));
        readRules(top.find("rules"));
        readPins(top.find("pins"));
        if (const json* pipeline = top.find("pipeline")) {
            JsonFields fields(*pipeline, m_file, "pipeline");
            m_design.pipeline.axis = fields.text("axis");
            m_design.pipeline.chunks = fields.integer("chunks", 1, 1 << 16, 1);
            finish(fields, "pipeline");
        }
        if (const json* memory = top.find("memory"))
            readMemory(*memory);
        readView(top.find("view"));
        if (top.error())
            fail(*top.error());
        if (!m_error)
            if (const auto hardware = hardwareOf(m_design, m_file + ":hardware"); !hardware.ok())
                fail(hardware.error());
        if (m_error)
            return *m_error;
        addUnknown(m_unknown, top.leftOver());
        m_design.unknownKeys = m_unknown.empty() ? "" : compactText(m_unknown);
        return std::move(m_design);
    }

private:
    void fail(const Error& error)
    {
        if (!m_error)
            m_error = error;
    }

    Status checkHeading(JsonFields& top) const
    {
        const json* format = top.find("format");
        if (!format || !format->is_string() || *format != "shardboard")
            return inputError(m_file, "is not a Shardboard design (no \"format\": \"shardboard\")", "open a *.shardboard file");
        const std::int64_t version = top.integer("version", 1, kLargest);
        if (top.error())
            return *top.error();
        if (version > kDesignVersion)
            return inputError(m_file + ":version",
                              "the design was saved by a newer program (version " + std::to_string(version)
                                  + ", this one reads up to " + std::to_string(kDesignVersion) + ")",
                              "update Shardboard");
        return done();
    }

    /// A section that must be there; an empty object where it is not, after noting the error.
    const json& section(JsonFields& top, const char* key)
    {
        static const json empty = json::object();
        const json* value = top.find(key);
        if (!value)
            top.fail(key, "the key is missing", "add it");
        if (!value && top.error())
            fail(*top.error());
        return value ? *value : empty;
    }

    void finish(const JsonFields& fields, const char* key)
    {
        if (fields.error())
            fail(*fields.error());
        if (const json rest = fields.leftOver(); !rest.empty())
            addUnknown(m_unknown[key], rest);
    }

    /// The id of a preset, or an object as in a hardware file.
    void readHardware(JsonFields& top)
    {
        const json* value = top.find("hardware");
        if (value == nullptr || !value->is_object()) {
            m_design.hardware = top.text("hardware");
            return;
        }
        auto own = hardwareFromJson(*value, m_file + ":hardware");
        if (!own.ok()) {
            top.adopt(own.error());
            return;
        }
        m_design.hardware = own.value().id;
        m_design.ownHardware = std::move(own).value();
    }

    void readMesh(const json& value)
    {
        JsonFields fields(value, m_file, "mesh");
        const auto names = fields.texts("axes");
        const auto sizes = fields.integers("sizes", 1, kMaxDevices);
        auto ids = fields.integers("device_ids", 0, kLargest);
        if (names.size() != sizes.size())
            fields.fail("sizes", "has " + std::to_string(sizes.size()) + " sizes for " + std::to_string(names.size()) + " axes",
                        "give each mesh axis one size");
        finishMesh(fields, names, sizes, std::move(ids));
        finish(fields, "mesh");
    }

    void finishMesh(JsonFields& fields, const std::vector<std::string>& names, const std::vector<std::int64_t>& sizes,
                    std::vector<std::int64_t> ids)
    {
        if (fields.error())
            return;
        std::vector<MeshAxis> axes;
        for (std::size_t i = 0; i < names.size(); ++i)
            axes.push_back({ names[i], sizes[i] });
        auto mesh = Mesh::make(std::move(axes), std::move(ids), m_file + ":mesh");
        if (mesh.ok())
            m_design.mesh = std::move(mesh.value());
        else
            fields.adopt(mesh.error());
    }

    void readModel(const json& value)
    {
        JsonFields fields(value, m_file, "model");
        ModelSpec& model = m_design.model;
        model.name = fields.text("name");
        model.family = fields.text("family");
        model.source = fields.text("source");
        model.dtype = dtypeField(fields, "dtype");
        model.weightPrefix = fields.text("weight_prefix");
        if (fields.find("kind"))
            model.kind = word(fields, "kind", fields.text("kind"), modelKindFromName, "decoder or column-parallel-linear",
                              ModelKind::Decoder);
        if (model.kind == ModelKind::ColumnParallelLinear)
            readLinearModule(fields, model.linear);
        else
            readDecoder(fields);
        if (!fields.error())
            if (const auto status = verifyModel(model, m_file + ":model"); !status.ok())
                fields.adopt(status.error());
        finish(fields, "model");
    }

    static void readLinearModule(JsonFields& fields, LinearModule& linear)
    {
        linear.inDim = fields.integer("in_dim", 0, kLargest);
        linear.outDim = fields.integer("out_dim", 0, kLargest);
        linear.hasBias = fields.flag("has_bias");
        linear.tiedWeight = fields.flag("tied_weight");
    }

    void readDecoder(JsonFields& fields)
    {
        ModelSpec& model = m_design.model;
        model.vocabSize = fields.integer("vocab_size", 0, kLargest);
        model.hiddenSize = fields.integer("hidden_size", 0, kLargest);
        model.intermediateSize = fields.integer("intermediate_size", 0, kLargest);
        model.layers = fields.integer("num_hidden_layers", 0, kLargest);
        model.heads = fields.integer("num_attention_heads", 0, kLargest);
        model.kvHeads = fields.integer("num_key_value_heads", 0, kLargest);
        model.headDim = fields.integer("head_dim", 0, kLargest);
        model.tiedEmbeddings = fields.flag("tie_word_embeddings");
        model.qkNorm = fields.flag("qk_norm");
        model.attentionBias = word(fields, "attention_bias", fields.text("attention_bias"), attentionBiasFromName,
                                   "none, qkv or qkvo", AttentionBias::None);
        model.mlpBias = fields.flag("mlp_bias");
        model.activation = fields.text("activation");
        if (!fields.error() && !isActivation(model.activation))
            fields.fail("activation", "cannot be '" + model.activation + "'", "use silu, gelu or gelu_tanh");
        model.norm.epsilon = fields.number("rms_norm_eps", 0, 1);
        model.ropeTheta = fields.number("rope_theta", 0, 1e18);
        readModelParts(fields, model);
        model.notUnderstood = fields.text("not_understood", "");
        if (!fields.error() && model.notUnderstood.empty() && familyOf(model.family) == nullptr)
            fields.fail("family", "there is no family '" + shortened(model.family, 80) + "' whose operations are known",
                        "families are " + joined(familyTypes()));
        readLooseWeights(fields);
    }

    void readLooseWeights(JsonFields& model)
    {
        const json* list = model.find("weights");
        if (!list)
            return;
        if (!list->is_array()) {
            model.fail("weights", "is not a list", "use [...]");
            return;
        }
        for (const json& entry : *list) {
            JsonFields fields(entry, m_file, "model.weights[" + std::to_string(m_design.model.looseWeights.size()) + "]");
            ModelSpec::LooseWeight weight;
            weight.tensor.name = fields.text("name");
            weight.tensor.dtype = dtypeField(fields, "dtype");
            const json* shape = fields.find("shape");
            weight.unknownShape = shape && shape->is_null();
            if (!weight.unknownShape)
                weight.tensor.shape = fields.integers("shape", 0, kLargest);
            if (!shape || !elementCount(weight.tensor.shape))
                fields.fail("shape", shape ? "is too large to count" : "the key is missing", "use a list of sizes, or null");
            weight.tensor.dimLabels = fields.texts("dims");
            if (fields.error()) {
                model.adopt(*fields.error());
                return;
            }
            if (json rest = fields.leftOver(); !rest.empty())
                m_unknown["model"]["weights"][weight.tensor.name] = std::move(rest);
            m_design.model.looseWeights.push_back(std::move(weight));
        }
    }

    void readWorkload(const json& value)
    {
        JsonFields fields(value, m_file, "workload");
        Workload& workload = m_design.workload;
        workload.kind =
            word(fields, "kind", fields.text("kind"), workloadFromName, "prefill, decode or train", WorkloadKind::Prefill);
        if (workload.kind == WorkloadKind::Train) {
            workload.microBatches = fields.integer("micro_batches", 1, kLargest, 1);
            workload.recompute = word(fields, "recompute", fields.text("recompute", "none"), recomputeFromName,
                                      "none, selective or full", Recompute::None);
            if (const json* sharding = fields.find("optimizer_sharding")) {
                JsonFields parts(*sharding, m_file, "workload.optimizer_sharding");
                workload.optimizer.axes = parts.texts("axes");
                workload.optimizer.gradients = parts.flag("gradients", false);
                if (parts.error())
                    fields.adopt(*parts.error());
            }
        }
        workload.attention = word(fields, "attention", fields.text("attention", "flash"), attentionKernelFromName,
                                  "flash or unfused", AttentionKernel::Flash);
        workload.overlap =
            word(fields, "overlap", fields.text("overlap", "none"), overlapFromName, "none, weights or all", Overlap::None);
        workload.software = word(fields, "software", fields.text("software", "fused"), softwareFromName, "fused, compiled or eager",
                                 Software::Fused);
        workload.batch = fields.integer("batch", 1, kLargest);
        workload.sequence = fields.integer("sequence", 1, kLargest);
        workload.dtype = dtypeField(fields, "dtype");
        if (!fields.error())
            if (const auto status = verifyWorkload(workload, m_file + ":workload"); !status.ok())
                fields.adopt(status.error());
        finish(fields, "workload");
    }

    void readMemory(const json& value)
    {
        JsonFields fields(value, m_file, "memory");
        MemorySettings& memory = m_design.memory;
        memory.prefetchedLayers = fields.integer("prefetched_layers", 0, kLargest, memory.prefetchedLayers);
        memory.reserveShare = fields.number("reserve_share", 0, 1, memory.reserveShare);
        memory.logitsInF32 = fields.flag("logits_in_f32", memory.logitsInF32);
        memory.contextBytes = fields.integer("context_bytes", 0, std::int64_t { 1 } << 40, memory.contextBytes);
        memory.communicatorBytes = fields.integer("communicator_bytes", 0, std::int64_t { 1 } << 40, memory.communicatorBytes);
        if (!fields.error())
            if (const auto status = verifyMemorySettings(memory, m_file + ":memory"); !status.ok())
                fields.adopt(status.error());
        finish(fields, "memory");
    }

    void readPicker(const json& value)
    {
        JsonFields fields(value, m_file, "picker");
        PickerOptions& picker = m_design.picker;
        picker.profile = word(fields, "profile", fields.text("profile"), profileFromName, "shardboard, G0, G1, G2 or G3",
                              PickerProfile::Shardboard);
        picker.allowPartialToSharded = fields.flag("allow_partial_to_sharded", false);
        if (fields.find("picker"))
            picker.picker = word(fields, "picker", fields.text("picker"), planPickerFromName, "greedy, partials-only or none",
                                 PlanPicker::Greedy);
        if (fields.find("on_reshard"))
            picker.onReshard = word(fields, "on_reshard", fields.text("on_reshard"), onReshardFromName, "silent, warn or raise",
                                    OnReshard::Silent);
        readTransitions(fields, picker.allowedTransitions);
        picker.budgetBytesPerDevice = fields.integer("budget_bytes_per_device", 0, kLargest, 0);
        finish(fields, "picker");
    }

    static void readTransitions(JsonFields& fields, TransitionSet& allowed)
    {
        const json* value = fields.find("allowed_transitions");
        if (value == nullptr)
            return;
        const auto named = value->is_string() ? TransitionSet::named(value->get<std::string>()) : std::nullopt;
        bool good = named || value->is_array();
        allowed = named.value_or(TransitionSet());
        if (value->is_array())
            for (const json& pair : *value)
                good = good && pair.is_string() && allowed.add(pair.get<std::string>());
        if (!good)
            fields.fail("allowed_transitions", "is not a set of transitions",
                        "write \"DEFAULT\", \"ALL\", or a list such as [\"P->R\", \"S->R\"]");
    }

    void readStrategies(const json* list)
    {
        if (!list || !list->is_array()) {
            fail(inputError(m_file + ":strategies", list ? "is not a list" : "the key is missing", "use [...]"));
            return;
        }
        for (const json& entry : *list) {
            JsonFields fields(entry, m_file, "strategies[" + std::to_string(m_design.strategies.size()) + "]");
            StrategyEntry out;
            out.match = fields.text("match");
            out.strategy.kind =
                word(fields, "strategy", fields.text("strategy"), strategyKindFromName,
                     "replicate, rowwise, columnwise, axiswise, head-aware-columnwise, stacked-qkv, gate-up, segmented or spec",
                     StrategyKind::Replicate);
            readParameters(fields, out.strategy);
            if (fields.find("cut"))
                out.cut = word(fields, "cut", fields.text("cut"), cutRuleFromName,
                               "strict, ceil-flat, ceil-nested, balanced or grain-balanced", CutRule::Balanced);
            if (fields.error()) {
                fail(*fields.error());
                return;
            }
            if (json rest = fields.leftOver(); !rest.empty())
                m_unknown["strategies"][compactText(strategyJson(out))] = std::move(rest);
            m_design.strategies.push_back(std::move(out));
        }
    }

    void readPins(const json* list)
    {
        if (!list)
            return;
        if (!list->is_array()) {
            fail(inputError(m_file + ":pins", "is not a list", "use [...]"));
            return;
        }
        for (const json& entry : *list) {
            const std::string where = "pins[" + std::to_string(m_design.pins.size()) + "]";
            JsonFields fields(entry, m_file, where);
            Pin pin;
            pin.match = fields.text("match");
            pin.source = fields.text("source", "");
            if (fields.find("row") || fields.find("axis")) {
                pin.row = fields.text("row");
                pin.axis = fields.text("axis");
            } else {
                if (const json* dims = fields.find("dims")) {
                    JsonFields labels(*dims, m_file, where + ".dims");
                    if (dims->is_object())
                        for (const auto& [label, axes] : dims->items())
                            if (fields.isName("dims", label))
                                pin.dims.push_back({ label, labels.texts(label) });
                    if (!dims->is_object())
                        fields.fail("dims", "is not an object", "use {\"batch\": [\"data\"]}");
                    if (labels.error())
                        fields.adopt(*labels.error());
                }
                if (fields.find("whole"))
                    pin.whole = fields.texts("whole");
                if (pin.dims.empty() && pin.whole.empty())
                    fields.fail("dims", "a pin says nothing", "give dims, whole, or axis and row");
            }
            if (fields.error()) {
                fail(*fields.error());
                return;
            }
            if (json rest = fields.leftOver(); !rest.empty())
                m_unknown["pins"][compactText(pinJson(pin))] = std::move(rest);
            m_design.pins.push_back(std::move(pin));
        }
    }

    /// A parameter of another kind would be ignored, which nobody means.
    static void readParameters(JsonFields& fields, Strategy& strategy)
    {
        const StrategyParameters has = parametersOf(strategy.kind);
        const auto takes = [&](const char* key, bool taken) {
            if (!taken && fields.find(key))
                fields.fail(key, strategyKindName(strategy.kind) + " takes no " + key, "leave it out, or use another strategy");
            return taken;
        };
        if (takes("dim", has.dim))
            strategy.dim = static_cast<int>(fields.integer("dim", -16, 15));
        if (takes("spec", has.spec))
            strategy.spec = fields.text("spec");
        if (takes("num_heads", has.heads))
            strategy.numHeads = fields.integer("num_heads", 1, std::int64_t { 1 } << 31);
        if (takes("head_dim", has.heads))
            strategy.headDim = fields.integer("head_dim", 1, std::int64_t { 1 } << 31);
        if (takes("segments", has.segments))
            for (const std::string& text : fields.texts("segments"))
                readSegment(fields, strategy, text);
        strategy.axes = fields.texts("axes");
    }

    static void readSegment(JsonFields& fields, Strategy& strategy, const std::string& text)
    {
        auto segment = parseSegment(text, "");
        if (segment.ok())
            strategy.segments.push_back(segment.value());
        else
            fields.fail("segments", segment.error().what, segment.error().fix);
    }

    void readRules(const json* value)
    {
        if (!value)
            return;
        JsonFields fields(*value, m_file, "rules");
        m_design.rules.source = fields.text("source", "");
        const json* entries = fields.find("entries");
        if (entries && !entries->is_array())
            fields.fail("entries", "is not a list", "use [...]");
        for (std::size_t i = 0; entries && entries->is_array() && i < entries->size() && !fields.error(); ++i)
            readRule(fields, (*entries)[i], "entries[" + std::to_string(i) + "]");
        finish(fields, "rules");
    }

    void readRule(JsonFields& fields, const json& rule, const std::string& key)
    {
        const bool pair = rule.is_array() && rule.size() == 2 && rule[0].is_string() && rule[1].is_array();
        if (!pair || !std::all_of(rule[1].begin(), rule[1].end(), [](const json& axis) { return axis.is_string(); })) {
            fields.fail(key, "is not a rule", "write [\"name\", [\"mesh axis\", ...]]");
            return;
        }
        LogicalRule out { rule[0].get<std::string>(), rule[1].get<std::vector<std::string>>(), {} };
        if (fields.isName(key, out.name)
            && std::all_of(out.axes.begin(), out.axes.end(), [&](const std::string& axis) { return fields.isName(key, axis); }))
            m_design.rules.rules.push_back(std::move(out));
    }

    void readView(const json* view)
    {
        if (view && view->is_string())
            m_design.viewState = view->get<std::string>();
        else if (view)
            m_design.viewState = compactText(*view);
    }

    const json& m_document;
    std::string m_file;
    Design m_design;
    json m_unknown = json::object();
    std::optional<Error> m_error;
};

} // namespace

Result<Design> designFromText(const std::string& text, const std::string& where)
{
    JsonLimits limits;
    limits.values = kMostValues;
    const auto document = parseJson(text, where, limits);
    if (!document.ok())
        return document.error();
    return DesignReader(document.value(), where).read();
}

} // namespace shardboard
