// SPDX-License-Identifier: Apache-2.0
// Text -> Design. Every value is checked; the first that is wrong is named as FILE:KEY.
#include "model/io/design/designfile.h"

#include "model/io/design/designmembers.h"
#include "model/io/design/hardwarefile.h"
#include "model/io/huggingface/familyfile.h"
#include "model/io/huggingface/hfconfig.h"
#include "model/io/json/jsontext.h"
#include "model/io/json/meshjson.h"
#include "model/text/text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::size_t kMostValues = 2'500'000; // a mesh of 2^20 devices with an order of its own, and 200,000 weights

class DesignReader {
public:
    DesignReader(const json& document, const std::string& file)
        : m_top(document, file)
    {
    }

    Result<Design> read()
    {
        if (auto status = checkHeading(); !status.ok())
            return status.error();
        readHardware();
        JsonFields mesh = m_top.object("mesh");
        readMesh(mesh, m_design.mesh);
        keepUnknown(mesh, "mesh");
        readModel();
        readSection("workload", m_design.workload,
                    [](const Workload& workload, const std::string& where) { return verifyWorkload(workload, where); });
        readSection("picker", m_design.picker);
        readEntries("strategies", m_design.strategies, strategyJson);
        readRules();
        if (m_top.find("pins") != nullptr)
            readEntries("pins", m_design.pins, pinJson);
        if (m_top.find("pipeline") != nullptr)
            readSection("pipeline", m_design.pipeline);
        if (m_top.find("memory") != nullptr)
            readSection("memory", m_design.memory,
                        [](const MemorySettings& memory, const std::string& where) { return verifyMemorySettings(memory, where); });
        readView();
        if (!m_top.error())
            if (const auto hardware = hardwareOf(m_design, m_top.place("hardware")); !hardware.ok())
                m_top.adopt(hardware.error());
        if (m_top.error())
            return *m_top.error();
        addUnknown(m_unknown, m_top.leftOver());
        m_design.unknownKeys = m_unknown.empty() ? "" : compactText(m_unknown);
        return std::move(m_design);
    }

private:
    Status checkHeading()
    {
        const json* format = m_top.find("format");
        if (!format || !format->is_string() || *format != "shardboard")
            return inputError(m_top.place(), "is not a Shardboard design (no \"format\": \"shardboard\")",
                              "open a *.shardboard file");
        const std::int64_t version = m_top.integer("version", 1, kLargestInDesign);
        if (m_top.error())
            return *m_top.error();
        if (version > kDesignVersion)
            return inputError(m_top.place("version"),
                              "the design was saved by a newer program (version " + std::to_string(version)
                                  + ", this one reads up to " + std::to_string(kDesignVersion) + ")",
                              "update Shardboard");
        return done();
    }

    void keepUnknown(const JsonFields& from, const char* key)
    {
        if (const json rest = from.leftOver(); !rest.empty())
            addUnknown(m_unknown[key], rest);
    }

    /// `verify` says what no key says alone.
    template <class Section, class Verify>
    void readSection(const char* key, Section& section, Verify verify)
    {
        JsonFields from = m_top.object(key);
        readMembers(from, section);
        if (!m_top.error())
            if (const Status status = verify(section, from.place()); !status.ok())
                m_top.adopt(status.error());
        keepUnknown(from, key);
    }
    template <class Section>
    void readSection(const char* key, Section& section)
    {
        readSection(key, section, [](const Section&, const std::string&) { return done(); });
    }

    /// A list of entries; what is unknown of one is kept under its text.
    template <class Entry>
    void readEntries(const char* key, std::vector<Entry>& entries, json (*jsonOfEntry)(const Entry&))
    {
        m_top.objects(key, [&](JsonFields& from) {
            Entry entry;
            readMembers(from, entry);
            if (m_top.error())
                return;
            if (json rest = from.leftOver(); !rest.empty())
                m_unknown[key][compactText(jsonOfEntry(entry))] = std::move(rest);
            entries.push_back(std::move(entry));
        });
    }

    /// The id of a preset, or an object as in a hardware file.
    void readHardware()
    {
        const json* value = m_top.find("hardware");
        if (value == nullptr || !value->is_object()) {
            m_design.hardware = m_top.text("hardware");
            return;
        }
        auto own = hardwareFromJson(*value, m_top.place("hardware"));
        if (!own.ok()) {
            m_top.adopt(own.error());
            return;
        }
        m_design.hardware = own.value().id;
        m_design.ownHardware = std::move(own).value();
    }

    void readModel()
    {
        JsonFields from = m_top.object("model");
        ModelSpec& model = m_design.model;
        readMembers(from, model);
        if (model.kind == ModelKind::Decoder) {
            if (!from.error() && model.notUnderstood.empty() && !model.family.starts_with(kOwnFamily)
                && !isPlannedFamily(model.family))
                from.fail("family", "there is no family '" + shortened(model.family, 80) + "' whose operations are known",
                          "families are " + joined(familyTypes()));
            if (model.slidingWindow > 0 && model.windowPeriod < 0)
                model.windowPeriod = windowPeriodOf(model.family); // of designs from before it was a key
            if (from.find("weights") != nullptr)
                from.objects("weights", [&](JsonFields& weight) { readLooseWeight(weight); });
        }
        if (!from.error())
            if (const auto status = verifyModel(model, from.place()); !status.ok())
                from.adopt(status.error());
        keepUnknown(from, "model");
    }

    void readLooseWeight(JsonFields& from)
    {
        ModelSpec::LooseWeight weight;
        JsonMembersReader each(from);
        each.value("name", weight.tensor.name);
        each.value("dtype", weight.tensor.dtype);
        const json* shape = from.find("shape");
        weight.unknownShape = shape && shape->is_null();
        if (!weight.unknownShape)
            weight.tensor.shape = from.integers("shape", 0, kLargestInDesign);
        if (!shape || !elementCount(weight.tensor.shape))
            from.fail("shape", shape ? "is too large to count" : "the key is missing", "use a list of sizes, or null");
        weight.tensor.dimLabels = from.texts("dims");
        if (from.find("packed") != nullptr) {
            const std::vector<double> packed = from.numbers("packed", 0, static_cast<double>(std::int64_t { 1 } << 31));
            if (packed.size() != 4)
                from.fail("packed", "is not bits, block, block, bits of a block", "write four numbers");
            else
                weight.tensor.packing = { packed[0], static_cast<std::int64_t>(packed[1]), static_cast<std::int64_t>(packed[2]),
                                          packed[3] };
        }
        if (from.error())
            return;
        if (json rest = from.leftOver(); !rest.empty())
            m_unknown["model"]["weights"][weight.tensor.name] = std::move(rest);
        m_design.model.looseWeights.push_back(std::move(weight));
    }

    void readRules()
    {
        if (m_top.find("rules") == nullptr)
            return;
        JsonFields from = m_top.object("rules");
        m_design.rules.source = from.text("source", "");
        const json* entries = from.find("entries");
        if (entries && !entries->is_array())
            from.fail("entries", "is not a list", "use [...]");
        for (std::size_t i = 0; entries && !from.error() && i < entries->size(); ++i)
            readRule(from, (*entries)[i], "entries[" + std::to_string(i) + "]");
        keepUnknown(from, "rules");
    }

    void readRule(JsonFields& from, const json& rule, const std::string& key)
    {
        const bool pair = rule.is_array() && rule.size() == 2 && rule[0].is_string() && rule[1].is_array();
        if (!pair || !std::ranges::all_of(rule[1], [](const json& axis) { return axis.is_string(); })) {
            from.fail(key, "is not a rule", "write [\"name\", [\"mesh axis\", ...]]");
            return;
        }
        LogicalRule out { rule[0].get<std::string>(), rule[1].get<std::vector<std::string>>(), {} };
        if (from.isName(key, out.name)
            && std::ranges::all_of(out.axes, [&](const std::string& axis) { return from.isName(key, axis); }))
            m_design.rules.rules.push_back(std::move(out));
    }

    void readView()
    {
        const json* view = m_top.find("view");
        if (view && view->is_string())
            m_design.viewState = view->get<std::string>();
        else if (view)
            m_design.viewState = compactText(*view);
    }

    JsonFields m_top;
    Design m_design;
    json m_unknown = json::object();
};

} // namespace

std::optional<AttentionBias> attentionBiasFromName(std::string_view name)
{
    for (const AttentionBias bias : { AttentionBias::None, AttentionBias::Qkv, AttentionBias::Qkvo })
        if (name == attentionBiasName(bias))
            return bias;
    return std::nullopt;
}

void readTransitions(JsonFields& from, const char* key, TransitionSet& allowed)
{
    const json* value = from.find(key);
    if (value == nullptr)
        return;
    const auto named = value->is_string() ? TransitionSet::named(value->get<std::string>()) : std::nullopt;
    bool good = named || value->is_array();
    allowed = named.value_or(TransitionSet());
    if (value->is_array())
        for (const json& pair : *value)
            good = good && pair.is_string() && allowed.add(pair.get<std::string>());
    if (!good)
        from.fail(key, "is not a set of transitions", "write \"DEFAULT\", \"ALL\", or a list such as [\"P->R\", \"S->R\"]");
}

void refuseForeignParameters(JsonFields& from, StrategyKind kind)
{
    const StrategyParameters has = parametersOf(kind);
    const auto refuse = [&](const char* key, bool taken) {
        if (!taken && from.find(key))
            from.fail(key, strategyKindName(kind) + " takes no " + key, "leave it out, or use another strategy");
    };
    refuse("dim", has.dim);
    refuse("spec", has.spec);
    refuse("num_heads", has.heads);
    refuse("head_dim", has.heads);
    refuse("segments", has.segments);
}

void readSegments(JsonFields& from, Strategy& strategy)
{
    for (const std::string& text : from.texts("segments")) {
        auto segment = parseSegment(text, "");
        if (segment.ok())
            strategy.segments.push_back(segment.value());
        else
            from.fail("segments", segment.error().what, segment.error().fix);
    }
}

void readPinDims(JsonFields& from, std::vector<Pin::Dim>& dims)
{
    const json* value = from.find("dims");
    if (value == nullptr)
        return;
    if (!value->is_object())
        return from.fail("dims", "is not an object", "use {\"batch\": [\"data\"]}");
    JsonFields labels = from.object("dims");
    for (const auto& [label, axes] : value->items())
        if (from.isName("dims", label))
            dims.push_back({ label, labels.texts(label) });
}

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
