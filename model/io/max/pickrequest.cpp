// SPDX-License-Identifier: Apache-2.0
#include "model/io/max/pickrequest.h"

#include "model/io/json/jsonfields.h"
#include "model/io/json/jsonwriter.h"
#include "model/picker/profilemode.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::size_t kMostDims = 16;
constexpr std::size_t kMostRows = 2000;
constexpr std::size_t kLongestName = 200;
constexpr std::int64_t kLargestSize = std::int64_t { 1 } << 62;
constexpr std::int64_t kLargestNumber = std::int64_t { 1 } << 40;
constexpr const char* kDimOf = "dim of input axis ";
constexpr const char* kChange = "change the request there"; // where the rule itself has nothing better to say

std::string indexed(const std::string& key, std::size_t i) { return key + "[" + std::to_string(i) + "]"; }

std::string upstream(UpstreamError error, const std::string& what) { return std::string(upstreamErrorName(error)) + ": " + what; }

class Reader {
public:
    Reader(const json& request, const std::string& file)
        : m_top(request, file, "")
        , m_file(file)
    {
        m_top.nullIsAbsent();
    }

    Result<PickQuestion> read()
    {
        readProfile();
        readMesh();
        if (ok())
            readInputs();
        if (ok())
            readRule();
        if (ok())
            readPolicy();
        m_question.callSite = m_top.text("call_site", std::string());
        for (const char* ofVectors : { "id", "source", "note", "expect" }) // a published vector is a request as it stands
            m_top.find(ofVectors);
        if (ok())
            refuseUnknown(m_top, "");
        if (m_top.error())
            return *m_top.error();
        return std::move(m_question);
    }

private:
    bool ok() const { return !m_top.error(); }
    void fail(const std::string& key, const std::string& what, const std::string& fix = {})
    {
        m_top.fail(key, what, fix.empty() ? kChange : fix);
    }
    void fail(UpstreamError error, const std::string& key, const std::string& what, const std::string& fix = {})
    {
        m_top.fail(key, upstream(error, what), fix.empty() ? kChange : fix);
    }

    /// A key that nobody reads would be taken for one that had its effect.
    void refuseUnknown(const JsonFields& fields, const std::string& path)
    {
        const json rest = fields.leftOver();
        if (!ok() || rest.empty())
            return;
        const std::string key = shortened(rest.begin().key(), kLongestName);
        fail(path.empty() ? key : path + "." + key, "there is no such key here",
             path.empty()           ? "shardctl pick --help lists the keys of a request"
                 : path == "policy" ? "a policy has " + policyKeys()
                 : path == "attrs"  ? attributeNames()
                 : path == "mesh"   ? std::string("a mesh has shape and axes")
                                    : std::string("an operand has name, dtype, global_shape and placements"));
    }

    std::string attributeNames() const
    {
        if (m_question.family == nullptr || m_question.family->attributes.empty())
            return m_question.opName + " takes none";
        std::vector<std::string> names;
        for (const AttributeSpec& spec : m_question.family->attributes)
            names.emplace_back(spec.name);
        return m_question.opName + " takes " + joined(names);
    }

    /// What a policy can say to the picker of the question.
    std::vector<std::string> policyOf(PickerProfile profile, PickerKind picker) const
    {
        if (picker == PickerKind::AutoReshard)
            return profile == PickerProfile::Shardboard
                ? std::vector<std::string> { "allowed_transitions", "mode", "allow_partial_to_sharded" }
                : std::vector<std::string> { "allowed_transitions", "mode" };
        if (picker != PickerKind::Greedy)
            return {};
        std::vector<std::string> keys { "allow_partial_to_sharded", "on_reshard" };
        if (profile == PickerProfile::G0)
            keys.emplace_back("budget_bytes_per_device");
        return keys;
    }
    std::string policyKeys() const
    {
        const auto keys = policyOf(m_question.options.profile, m_question.options.picker);
        return keys.empty() ? "nothing for " + std::string(kPickerNames[static_cast<std::size_t>(m_question.options.picker)])
                            : joined(keys);
    }

    /// Keys of other generations, and of other pickers of this one.
    void refuseForeignPolicy(JsonFields& fields)
    {
        struct Known {
            const char* key;
            const char* whose;
        };
        constexpr Known kKnown[] = { { "budget_bytes_per_device", "only G0 has a budget" },
                                     { "allow_partial_to_sharded", "it is of GreedyReshard" },
                                     { "on_reshard", "it is of GreedyReshard; auto_reshard calls it mode" },
                                     { "mode", "it is of auto_reshard; GreedyReshard calls it on_reshard" },
                                     { "allowed_transitions", "it is of auto_reshard, in G2, G3, max-26.7 and shardboard" } };
        const auto mine = policyOf(m_question.options.profile, m_question.options.picker);
        for (const Known& known : kKnown)
            if (fields.find(known.key) != nullptr && !contains(mine, known.key))
                fields.fail(known.key,
                            profileName(m_question.options.profile) + " with "
                                + kPickerNames[static_cast<std::size_t>(m_question.options.picker)]
                                + " does not have it: " + known.whose,
                            "leave it out; a policy has " + policyKeys() + " here");
    }

    void readProfile()
    {
        const std::string profile = m_top.text("profile", std::string("G1"));
        const auto same = [&](std::string_view name) { return lowered(name) == lowered(profile); };
        const auto found = std::ranges::find_if(kProfileNames, same);
        if (found == kProfileNames.end())
            return fail("profile", "there is no profile '" + profile + "'", std::string("profiles are ") + kProfileList);
        m_question.options.profile = static_cast<PickerProfile>(found - kProfileNames.begin());
        const bool regions = hasRegions(m_question.options.profile);
        m_question.options.onReshard = usualMode(m_question.options.profile); // unless the request says otherwise
        const std::string picker = m_top.text("picker", std::string(regions ? "auto_reshard" : "GreedyReshard"));
        const auto kind = std::ranges::find_if(kPickerNames, [&](const char* name) { return lowered(name) == lowered(picker); });
        const bool greedy = lowered(picker) == "greedy";
        if (kind == kPickerNames.end() && !greedy)
            return fail("picker", "there is no picker '" + picker + "'",
                        "pickers are GreedyReshard, NoReshard, PartialsOnly and auto_reshard");
        m_question.options.picker = greedy ? PickerKind::Greedy : static_cast<PickerKind>(kind - kPickerNames.begin());
        const bool inRegion = m_question.options.picker == PickerKind::AutoReshard;
        if (m_question.options.profile != PickerProfile::Shardboard && regions != inRegion)
            fail("picker",
                 profileName(m_question.options.profile) + " does not have "
                     + kPickerNames[static_cast<std::size_t>(m_question.options.picker)],
                 regions ? "it has auto_reshard" : "it has GreedyReshard, NoReshard and PartialsOnly");
    }

    void readMesh()
    {
        const json* mesh = m_top.find("mesh");
        if (mesh == nullptr)
            return fail("mesh", "the key is missing", "write {\"shape\": [4], \"axes\": [\"tp\"]}");
        JsonFields fields(*mesh, m_file, "mesh");
        const auto shape = fields.integers("shape", 1, kMaxDevices);
        const auto names = fields.texts("axes");
        if (fields.error())
            return m_top.adopt(*fields.error());
        refuseUnknown(fields, "mesh");
        if (shape.empty())
            return fail(UpstreamError::ValueError, "mesh.shape", "a mesh has at least one mesh axis", "write [1] for one device");
        if (shape.size() != names.size())
            return fail(UpstreamError::ValueError, "mesh.axes",
                        "there are " + std::to_string(names.size()) + " names for " + std::to_string(shape.size()) + " mesh axes",
                        "name each mesh axis");
        std::vector<MeshAxis> axes;
        for (std::size_t i = 0; i < shape.size(); ++i)
            axes.push_back({ names[i], shape[i] });
        auto made = Mesh::make(std::move(axes), {}, m_top.place("mesh"));
        if (!made.ok())
            return m_top.adopt(made.error());
        m_question.mesh = std::move(made).value();
    }

    /// A size: a number, -1, or a name.
    std::int64_t size(const json& value, const std::string& key)
    {
        if (value.is_string()) {
            const auto& name = value.get_ref<const std::string&>();
            if (name.empty() || name.size() > kLongestName || parseInteger(name))
                fail(key, "'" + shortened(name, kLongestName) + "' is not the name of a size",
                     "write a number, or a name such as \"batch\"");
            return ok() ? m_question.symbols.sizeOf(name) : 0;
        }
        if (!value.is_number_integer()
            || (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestSize))) {
            fail(key, "expected a size or the name of one, found " + shortened(jsonText(value), 40),
                 "write a number, or a name such as \"batch\"");
            return 0;
        }
        const auto number = value.get<std::int64_t>();
        if (number < kWildcard)
            fail(key, "the size " + std::to_string(number) + " is negative", "write 0 or more, or -1 for an open one");
        return number;
    }

    std::optional<Placement> placement(const json& value, const std::string& key)
    {
        const auto found = value.is_string() ? Placement::parse(value.get_ref<const std::string&>()) : std::nullopt;
        if (!found)
            fail(key, "there is no placement " + shortened(jsonText(value), 40), "use R, S0, S1, …, P, Pavg, Pmin, Pmax or U");
        else if (found->partial() && found->reduce != PartialReduce::Sum && isLate(m_question.options.profile))
            fail(UpstreamError::ValueError, key,
                 profileName(m_question.options.profile) + " has partial sums only, no " + found->code(), "use P");
        return found;
    }

    void readInputs()
    {
        const json* inputs = m_top.find("inputs");
        if (inputs == nullptr || !inputs->is_array() || inputs->empty())
            return fail("inputs", "a list of at least one operand is expected",
                        "write [{\"global_shape\": [4, 8], \"placements\": [\"R\"]}]");
        if (inputs->size() > kMostOperands)
            return fail("inputs", "there are more than " + std::to_string(kMostOperands) + " operands", "ask about fewer");
        for (std::size_t i = 0; i < inputs->size() && ok(); ++i)
            readInput((*inputs)[i], indexed("inputs", i), i);
    }

    void readInput(const json& value, const std::string& path, std::size_t index)
    {
        JsonFields fields(value, m_file, path);
        fields.nullIsAbsent();
        PickOperand operand;
        operand.name = fields.text("name", "arg" + std::to_string(index));
        const std::string dtype = fields.text("dtype", std::string("float32"));
        const json* shape = fields.find("global_shape");
        const json* placements = fields.find("placements");
        for (const char* ofVectors : { "message_bytes", "exact_bytes" })
            fields.find(ofVectors);
        if (fields.error())
            return m_top.adopt(*fields.error());
        refuseUnknown(fields, path);
        const auto type = dtypeFromName(dtype);
        if (!type)
            return fail(path + ".dtype", "there is no dtype '" + shortened(dtype, 40) + "'", "use float32, bfloat16, int64, …");
        operand.dtype = *type;
        if (shape == nullptr || !shape->is_array() || shape->size() > kMostDims)
            return fail(path + ".global_shape", "a list of at most " + std::to_string(kMostDims) + " sizes is expected",
                        "write [4, 8]");
        for (std::size_t d = 0; d < shape->size(); ++d)
            operand.shape.push_back(size((*shape)[d], indexed(path + ".global_shape", d)));
        if (placements == nullptr || !placements->is_array())
            return fail(path + ".placements", "a list of placements is expected, one for each mesh axis", "write [\"R\"]");
        const auto axes = static_cast<std::size_t>(m_question.mesh.axisCount());
        if (placements->size() != axes)
            return fail(UpstreamError::ValueError, path + ".placements",
                        "there are " + std::to_string(placements->size()) + " placements for " + std::to_string(axes)
                            + " mesh axes",
                        "give one for each mesh axis");
        for (std::size_t a = 0; a < axes && ok(); ++a) {
            const std::string key = indexed(path + ".placements", a);
            const auto p = placement((*placements)[a], key);
            if (p && p->sharded() && p->dim >= static_cast<int>(operand.shape.size()))
                fail(UpstreamError::ValueError, key,
                     p->code() + " cuts dim " + std::to_string(p->dim) + ", and the tensor has "
                         + std::to_string(operand.shape.size()) + " dims",
                     "");
            operand.placements.push_back(p.value_or(Placement {}));
        }
        m_question.operands.push_back(std::move(operand));
    }

    void readRule()
    {
        m_question.opName = m_top.text("op");
        m_question.fallbackRow = m_top.flag("fallback_row_added", true);
        if (ok() && m_top.find("fallback_row_added") != nullptr && !isEarly(m_question.options.profile))
            return fail("fallback_row_added", profileName(m_question.options.profile) + " appends no row",
                        "leave it out; G0 to G2 and max-26.6 have it");
        if (!ok())
            return;
        const json* rows = m_top.find("rows");
        if (rows != nullptr || lowered(m_question.opName) == "custom") {
            readRows(rows);
            return readNoAttributes();
        }
        m_question.family = findFamily(lowered(m_question.opName));
        if (m_question.family == nullptr)
            return fail("op", "there is no operation '" + shortened(m_question.opName, 80) + "'",
                        "shardctl pick --help lists them; or give its rows");
        const OpFamily& family = *m_question.family;
        const auto count = static_cast<int>(m_question.operands.size());
        if (count < family.fewest || (family.most >= 0 && count > family.most))
            return fail(UpstreamError::ValueError, "inputs",
                        m_question.opName + " takes " + countText(family) + ", found " + std::to_string(count),
                        "give as many operands");
        readAttributes(family);
    }

    static std::string countText(const OpFamily& family)
    {
        const std::string fewest = std::to_string(family.fewest);
        const std::string range = family.most < 0 ? fewest + " or more"
            : family.most == family.fewest        ? fewest
                                                  : fewest + " to " + std::to_string(family.most);
        return range + (range == "1" ? " operand" : " operands");
    }

    void readRows(const json* rows)
    {
        if (rows == nullptr || !rows->is_array() || rows->size() > kMostRows)
            return fail("rows", "a list of at most " + std::to_string(kMostRows) + " rows is expected",
                        "write [[[\"R\"], \"R\"], [[\"S0\"], \"S0\"]]");
        const UpstreamError wrong = isLate(m_question.options.profile) ? UpstreamError::ShardingError : UpstreamError::ValueError;
        Menu& menu = m_question.rows;
        const std::size_t operands = m_question.operands.size();
        menu.soundKnown = false;
        std::size_t outputs = 0;
        for (std::size_t i = 0; i < rows->size() && ok(); ++i) {
            const json& row = (*rows)[i];
            const std::string key = indexed("rows", i);
            if (!row.is_array() || row.size() != 2 || !row[0].is_array())
                return fail(key, "a row is a list of placements and the placement of the output", "write [[\"S0\"], \"S0\"]");
            if (row[0].size() != operands)
                return fail(wrong, key,
                            "the row has " + std::to_string(row[0].size()) + " placements for " + std::to_string(operands)
                                + " operands",
                            "give one for each operand");
            Row made;
            for (std::size_t p = 0; p < row[0].size(); ++p)
                made.operands.push_back(placement(row[0][p], key).value_or(Placement {}));
            const std::size_t results = row[1].is_array() ? row[1].size() : 1;
            if (results == 0 || (i > 0 && results != outputs))
                return fail(wrong, key, "the row has " + std::to_string(results) + " outputs", "all rows have one for each result");
            outputs = results;
            for (std::size_t o = results; o-- > 0;)
                made.result = placement(row[1].is_array() ? row[1][o] : row[1], key).value_or(Placement {});
            menu.rows.push_back(std::move(made));
        }
    }

    /// An operation that brings its rows has nothing else that a rule could ask for.
    void readNoAttributes()
    {
        const json* attributes = m_top.find("attrs");
        if (attributes != nullptr && ok())
            refuseUnknown(JsonFields(*attributes, m_file, "attrs"), "attrs");
    }

    void readAttributes(const OpFamily& family)
    {
        static const json kNone = json::object();
        const json* attributes = m_top.find("attrs");
        JsonFields fields(attributes ? *attributes : kNone, m_file, "attrs");
        if (fields.error())
            return m_top.adopt(*fields.error());
        for (const AttributeSpec& spec : family.attributes) {
            const json* value = fields.find(spec.name);
            const std::string key = std::string("attrs.") + spec.name;
            AttributeValue out;
            if (value != nullptr && value->is_null()) {
                const bool may = family.flattens || (spec.fallback && std::string_view(spec.fallback) == "none");
                if (!may)
                    fail(key, "is null", "leave it out, or give it a value");
                out.none = true;
            } else if (value != nullptr) {
                readAttribute(spec, *value, key, out);
            } else if (spec.fallback == nullptr) {
                fail(key, m_question.opName + " needs it", "give it a value");
            } else if (std::string_view(spec.fallback) == "none") {
                out.none = true;
            } else if (spec.kind == AttributeKind::Choice) {
                readAttribute(spec, json(spec.fallback), key, out);
            } else {
                out.number = parseInteger(spec.fallback).value_or(0);
            }
            m_question.attributes.push_back(std::move(out));
        }
        refuseUnknown(fields, "attrs");
    }

    std::int64_t integer(const json& value, const std::string& key)
    {
        const bool fits = value.is_number_integer()
            && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kLargestNumber));
        if (!fits || value.get<std::int64_t>() < -kLargestNumber) {
            fail(key, "expected a whole number, found " + shortened(jsonText(value), 40),
                 "write a number without quotes and fraction");
            return 0;
        }
        return value.get<std::int64_t>();
    }

    void readAttribute(const AttributeSpec& spec, const json& value, const std::string& key, AttributeValue& out)
    {
        constexpr std::size_t kLongestList = 4096;
        const bool list = spec.kind == AttributeKind::Axes || spec.kind == AttributeKind::Integers
            || spec.kind == AttributeKind::Sizes || spec.kind == AttributeKind::Dims;
        const json one = json::array({ value });
        const json& items = value.is_array() ? value : one;
        if (list
            && (items.size() > kLongestList
                || (spec.kind == AttributeKind::Dims && (!value.is_array() || items.size() > kMostDims))))
            return fail(key, "expected a list of sizes", "at most " + std::to_string(kMostDims));
        switch (spec.kind) {
        case AttributeKind::Axis:
        case AttributeKind::Integer:
            out.number = integer(value, key);
            break;
        case AttributeKind::Axes:
            for (const json& item : items)
                out.list.push_back(integer(item, key));
            break;
        case AttributeKind::Integers:
            for (const json& item : items)
                out.list.push_back(integer(item, key));
            break;
        case AttributeKind::Sizes:
            for (const json& item : items) {
                out.list.push_back(item.is_string() ? size(item, key) : integer(item, key));
                if (ok() && !item.is_string() && out.list.back() < 0)
                    fail(UpstreamError::ValueError, key, "the size " + std::to_string(out.list.back()) + " is negative",
                         "write 0 or more, or a name");
            }
            break;
        case AttributeKind::Choice: {
            const std::string word = value.is_string() ? value.get<std::string>() : std::string();
            const auto found = std::ranges::find_if(spec.choices, [&](const char* c) { return lowered(c) == lowered(word); });
            if (found == spec.choices.end())
                fail(UpstreamError::ValueError, key, "cannot be " + shortened(jsonText(value), 40),
                     "use " + joined({ spec.choices.begin(), spec.choices.end() }));
            out.number = found - spec.choices.begin();
            break;
        }
        case AttributeKind::Number:
            out.number = value.is_number() ? value.get<double>() != 0 : value.is_boolean() ? value.get<bool>() : 1;
            break;
        case AttributeKind::Dims:
            for (std::size_t i = 0; i < items.size() && ok(); ++i)
                out.dims.push_back(targetDim(items[i], indexed(key, i)));
            break;
        }
    }

    /// A size, a name, or "dim of input axis 0", also times a number or more of them.
    TargetDim targetDim(const json& value, const std::string& key)
    {
        TargetDim out;
        if (!value.is_string() || value.get_ref<const std::string&>().find(kDimOf) == std::string::npos) {
            out.size = size(value, key);
            return out;
        }
        const auto& text = value.get_ref<const std::string&>();
        for (const std::string_view part : split(std::string_view(text), '*')) {
            if (const auto factor = parseInteger(part);
                factor && *factor > 0 && out.size <= kLargestNumber && *factor <= kLargestNumber) {
                out.size *= *factor;
                continue;
            }
            const auto dim = part.starts_with(kDimOf) ? parseInteger(part.substr(std::string_view(kDimOf).size())) : std::nullopt;
            if (!dim || *dim < 0 || *dim >= static_cast<std::int64_t>(kMostDims)) {
                fail(key, "'" + shortened(text, 80) + "' is not a size", "write \"dim of input axis 0\", or that times a number");
                return out;
            }
            out.sourceDims.push_back(static_cast<int>(*dim));
        }
        return out;
    }

    void readPolicy()
    {
        const json* policy = m_top.find("policy");
        if (policy == nullptr)
            return;
        JsonFields fields(*policy, m_file, "policy");
        fields.nullIsAbsent();
        refuseForeignPolicy(fields);
        PickerOptions& out = m_question.options;
        out.allowPartialToSharded = fields.flag("allow_partial_to_sharded", false);
        if (fields.find("budget_bytes_per_device"))
            out.budgetBytesPerDevice = fields.number("budget_bytes_per_device", 0, std::numeric_limits<double>::max());
        for (const char* key : { "on_reshard", "mode" }) {
            if (fields.find(key) == nullptr)
                continue;
            const std::string mode = fields.text(key, std::string("silent"));
            const auto found = onReshardFromName(mode);
            if (!found)
                fields.fail(key, upstream(UpstreamError::ValueError, "there is no mode '" + shortened(mode, 40) + "'"),
                            "use silent, warn or raise");
            else
                out.onReshard = *found;
        }
        readTransitions(fields);
        if (fields.error())
            m_top.adopt(*fields.error());
        refuseUnknown(fields, "policy");
        if (m_question.options.profile == PickerProfile::Shardboard && out.allowPartialToSharded
            && m_question.options.picker == PickerKind::AutoReshard)
            out.allowedTransitions.add(Placement::Kind::Partial, Placement::Kind::Sharded);
    }

    void readTransitions(JsonFields& fields)
    {
        const json* allowed = fields.find("allowed_transitions");
        if (allowed == nullptr)
            return;
        PickerOptions& out = m_question.options;
        const std::string name = allowed->is_string() ? allowed->get<std::string>() : std::string();
        if (const auto named = TransitionSet::named(name)) {
            out.allowedTransitions = *named;
            return;
        }
        const auto refuse = [&] {
            fields.fail("allowed_transitions", upstream(UpstreamError::TypeError, "is not a set of transitions"),
                        "write \"DEFAULT\", \"ALL\", or a list such as [\"P->R\", \"S->R\"]");
        };
        if (!allowed->is_array())
            return refuse();
        out.allowedTransitions = TransitionSet();
        for (const json& pair : *allowed) {
            const std::string text = pair.is_string() ? pair.get<std::string>() : std::string();
            if (!out.allowedTransitions.add(text))
                return refuse();
        }
    }

    JsonFields m_top;
    std::string m_file;
    PickQuestion m_question;
};

} // namespace

Result<PickQuestion> readPickQuestion(const json& request, const std::string& file) { return Reader(request, file).read(); }

Error pickError(const Refusal& refusal, const std::string& file)
{
    return inputError(refusal.where.empty() ? file : file + ":" + refusal.where, upstream(refusal.error, refusal.reason),
                      refusal.fix.empty() ? kChange : refusal.fix);
}

} // namespace shardboard
