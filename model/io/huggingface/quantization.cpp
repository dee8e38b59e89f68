// SPDX-License-Identifier: Apache-2.0
#include "model/io/huggingface/quantization.h"

#include "model/text/contains.h"
#include "model/text/names.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr std::int64_t kLargestBlock = std::int64_t { 1 } << 20;
constexpr std::size_t kMostModules = 100'000; ///< of modules that are not packed
constexpr std::size_t kMostPatterns = 1'000;
constexpr std::size_t kLongestModule = 300;

const json* member(const json& object, const char* key)
{
    if (!object.is_object())
        return nullptr;
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> number(const json& object, std::initializer_list<const char*> keys)
{
    for (const char* key : keys)
        if (const json* value = member(object, key); value != nullptr && value->is_number())
            if (const double real = value->get<double>(); real >= -1 && real <= static_cast<double>(kLargestBlock))
                return static_cast<std::int64_t>(real);
    return std::nullopt;
}

std::string text(const json& object, const char* key)
{
    const json* value = member(object, key);
    const std::string out = value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
    return out.size() > kLongestModule || nameProblem(out) ? std::string() : out;
}

bool flag(const json& object, const char* key)
{
    const json* value = member(object, key);
    return value != nullptr && value->is_boolean() && value->get<bool>();
}

std::vector<std::string> texts(const json& object, const char* key)
{
    std::vector<std::string> out;
    if (const json* list = member(object, key); list != nullptr && list->is_array())
        for (const json& item : *list)
            if (item.is_string() && out.size() < kMostModules)
                if (std::string name = item.get<std::string>();
                    !name.empty() && name.size() <= kLongestModule && !nameProblem(name))
                    out.push_back(std::move(name));
    return out;
}

bool isNumber(std::string_view part)
{
    return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

/// Numbers between dots as stars; the first of them is told.
std::string starred(const std::string& name, std::string& firstNumber)
{
    std::string out;
    for (const std::string_view part : split(name, '.')) {
        if (isNumber(part) && firstNumber.empty())
            firstNumber = part;
        out += (out.empty() ? "" : ".") + (isNumber(part) ? std::string("*") : std::string(part));
    }
    return out;
}

/// A regular expression over names as a pattern, where it has nothing but dots, `.*`, ends, and escapes.
std::optional<std::string> patternOf(std::string_view expression)
{
    std::string out;
    bool open = true; // a match may end anywhere
    for (std::size_t i = 0; i < expression.size(); ++i) {
        const char c = expression[i];
        const char next = i + 1 < expression.size() ? expression[i + 1] : '\0';
        if (c == '^' && i == 0)
            continue;
        if (c == '$' && i + 1 == expression.size())
            open = false;
        else if (c == '\\' && next == '.')
            out += '.', ++i;
        else if (c == '\\' && next == 'd' && i + 2 < expression.size() && expression[i + 2] == '+')
            out += '*', i += 2;
        else if (c == '.' && (next == '*' || next == '+'))
            out += '*', ++i;
        else if (c == '.')
            out += '?';
        else if (std::string_view("[](){}|+*?\\$^").find(c) != std::string_view::npos)
            return std::nullopt;
        else
            out += c;
    }
    return open ? out + "*" : out;
}

class QuantizationReader {
public:
    QuantizationReader(const json& config, const std::string& layers, std::int64_t layerCount)
        : m_config(config)
        , m_layers(layers)
        , m_layerCount(layerCount)
    {
    }

    Quantization read()
    {
        m_out.method = text(m_config, "quant_method");
        if (m_out.method.empty())
            m_out.method = member(m_config, "quant_algo") != nullptr ? "modelopt" : "unnamed";
        std::vector<PackedWeights> packed =
            m_out.method == "compressed-tensors" || member(m_config, "config_groups") != nullptr ? groups() : oneFormat();
        m_out.text = m_out.method;
        if (packed.empty())
            return std::move(m_out);
        leaveOut();
        if (m_out.packed.size() + packed.size() > kMostPatterns) {
            m_out.remarks.push_back("it names more than " + std::to_string(kMostPatterns)
                                    + " kinds of weights, of which the first count");
            packed.resize(std::min(packed.size(), kMostPatterns / 2));
            m_out.packed.resize(std::min(m_out.packed.size(), kMostPatterns - packed.size()));
        }
        m_out.packed.insert(m_out.packed.end(), packed.begin(), packed.end());
        m_out.text += ", " + said(packed.front().packing);
        return std::move(m_out);
    }

private:
    static std::string said(const WeightPacking& packing)
    {
        const auto bits = static_cast<std::int64_t>(packing.bits);
        const std::string each = std::to_string(bits) + " bits";
        if (packing.outBlock > 1)
            return each + " in blocks of " + std::to_string(packing.outBlock) + " x " + std::to_string(packing.inBlock);
        if (packing.outBlock == 0)
            return each + ", one scale for a weight";
        return packing.inBlock > 0 ? each + " in groups of " + std::to_string(packing.inBlock) : each + ", a scale for each row";
    }

    PackedWeights all(WeightPacking packing) const { return { m_layers + "*", m_out.method, packing }; }

    std::vector<PackedWeights> oneFormat()
    {
        const std::string& method = m_out.method;
        const std::int64_t bits = number(m_config, { "bits", "w_bit", "weight_bits" }).value_or(4);
        const std::int64_t group = std::max<std::int64_t>(0, number(m_config, { "group_size", "q_group_size" }).value_or(128));
        const bool integers = bits >= 1 && bits <= 8;
        if ((method == "gptq" || method == "gptqmodel" || method == "awq" || method == "auto-round" || method == "intel/auto-round")
            && integers) {
            if (flag(m_config, "desc_act"))
                m_out.remarks.push_back(
                    "columns are ordered by activation (desc_act): an engine that cuts the input dim has all scales on every "
                    "device");
            if (const json* dynamic = member(m_config, "dynamic"); dynamic != nullptr && !dynamic->empty())
                m_out.remarks.push_back("single weights have other bits or groups (dynamic)");
            std::vector<PackedWeights> out { all({ static_cast<double>(bits), 1, group, 16.0 + static_cast<double>(bits) }) };
            if (flag(m_config, "lm_head"))
                out.push_back({ "lm_head.weight", method, out.front().packing });
            return out;
        }
        if (method == "fp8" || method == "fbgemm_fp8" || method == "finegrained_fp8" || method == "mxfp8") {
            if (method == "mxfp8")
                return { all({ 8, 1, 32, 8 }) };
            if (method == "fbgemm_fp8")
                return { all({ 8, 1, 0, 32 }) };
            return { all(block(m_config, "weight_block_size").value_or(WeightPacking { 8, 0, 0, 32 })) };
        }
        if (method == "mxfp4")
            return { all({ 4, 1, 32, 8 }) };
        if (method == "bitsandbytes") {
            if (flag(m_config, "load_in_8bit"))
                return { all({ 8, 1, 0, 32 }) };
            return { all({ 4, 1, 64, flag(m_config, "bnb_4bit_use_double_quant") ? 8.0 : 32.0 }) };
        }
        if (method == "bitnet")
            return { all({ 2, 0, 0, 16 }) };
        if (method == "modelopt" || method == "modelopt_fp4")
            return ofModelopt();
        return {};
    }

    std::vector<PackedWeights> ofModelopt()
    {
        const std::string algorithm = text(m_config, "quant_algo");
        const std::int64_t group = number(m_config, { "group_size" }).value_or(16);
        if (algorithm == "FP8")
            return { all({ 8, 0, 0, 32 }) };
        if (algorithm == "FP8_PER_CHANNEL_PER_TOKEN")
            return { all({ 8, 1, 0, 32 }) };
        if (algorithm == "FP8_PB_WO")
            return { all({ 8, 128, 128, 32 }) };
        if (algorithm == "NVFP4" || algorithm == "W4A16_NVFP4" || (algorithm.empty() && m_out.method == "modelopt_fp4"))
            return { all({ 4, 1, group > 0 ? group : 16, 8 }) };
        if (algorithm == "MXFP8")
            return { all({ 8, 1, 32, 8 }) };
        if (algorithm == "W4A16_AWQ" || algorithm == "W4A8_AWQ")
            return { all({ 4, 1, group > 0 ? group : 128, 16 }) };
        return {};
    }

    /// `[128, 128]` of fp8.
    static std::optional<WeightPacking> block(const json& config, const char* key)
    {
        const json* size = member(config, key);
        if (size == nullptr || !size->is_array() || size->size() != 2)
            return std::nullopt;
        WeightPacking packing { 8, 0, 0, 32 };
        for (const std::size_t i : { std::size_t { 0 }, std::size_t { 1 } }) {
            const json& each = (*size)[i];
            if (!each.is_number_integer() || each.get<double>() < 1 || each.get<double>() > static_cast<double>(kLargestBlock))
                return std::nullopt;
            (i == 0 ? packing.outBlock : packing.inBlock) = each.get<std::int64_t>();
        }
        return packing;
    }

    /// compressed-tensors, and what modelopt writes like it: groups of weights with a format each.
    std::vector<PackedWeights> groups()
    {
        std::vector<PackedWeights> named, general;
        const json* list = member(m_config, "config_groups");
        if (list == nullptr || !list->is_object())
            return {};
        for (const auto& [key, group] : list->items()) {
            const json* weights = member(group, "weights");
            if (weights == nullptr || general.size() + named.size() > kMostPatterns)
                continue;
            const auto packing = packingOf(*weights, text(group, "format"));
            if (!packing)
                continue;
            for (const std::string& target : texts(group, "targets")) {
                const bool linear = target == "Linear" || target.ends_with("Linear");
                if (linear) {
                    general.push_back(all(*packing));
                    continue;
                }
                for (const std::string& pattern : patterns(target))
                    named.push_back({ pattern, m_out.method, *packing });
            }
        }
        named.insert(named.end(), general.begin(), general.end());
        return named;
    }

    std::optional<WeightPacking> packingOf(const json& weights, const std::string& groupFormat) const
    {
        const std::string format = groupFormat.empty() ? text(m_config, "format") : groupFormat;
        const std::int64_t bits = number(weights, { "num_bits" }).value_or(8);
        const std::int64_t group = std::max<std::int64_t>(0, number(weights, { "group_size" }).value_or(0));
        if (bits < 1 || bits > 16)
            return std::nullopt;
        std::string strategy = text(weights, "strategy");
        if (strategy.empty())
            strategy = group > 0 ? "group" : "tensor";
        const bool real = text(weights, "type") == "float";
        const bool asymmetric = member(weights, "symmetric") != nullptr && !flag(weights, "symmetric");
        double scale = 16 + (asymmetric ? static_cast<double>(bits) : 0);
        if (format.find("fp4") != std::string::npos || (real && bits == 4))
            scale = 8; // e4m3 for NVFP4, e8m0 for MXFP4
        WeightPacking packing { static_cast<double>(bits), 1, 0, scale };
        if (strategy == "block") {
            const auto blocks = block(weights, "block_structure");
            if (!blocks)
                return std::nullopt;
            packing.outBlock = blocks->outBlock;
            packing.inBlock = blocks->inBlock;
        } else if (strategy == "group" || strategy == "tensor_group") {
            packing.inBlock = group > 0 ? group : 128;
        } else if (strategy == "tensor") {
            packing.outBlock = 0;
        }
        return packing;
    }

    /// Of a module, or of a regular expression over modules: patterns of its weights.
    std::vector<std::string> patterns(const std::string& module)
    {
        if (module.starts_with("re:")) {
            const auto pattern = patternOf(std::string_view(module).substr(3));
            if (!pattern) {
                m_out.remarks.push_back("the expression " + shortened(visibleText(module), 60) + " is not followed");
                return {};
            }
            return { pattern->ends_with("*") ? *pattern : *pattern + ".*", *pattern };
        }
        if (module.find_first_of("*?") != std::string::npos)
            return { module.ends_with("*") ? module : module + ".*" };
        return { module + ".*", "*." + module + ".*" };
    }

    /// Routers, convolutions and tables are never packed; modules that the config names are not.
    void leaveOut()
    {
        const auto plain = [&](const std::string& pattern) { m_out.packed.push_back({ pattern, {}, {} }); };
        // First, because a list that is too long loses its end.
        for (const char* name : { "*.gate.weight", "*.router.*", "*router.weight", "*.shared_expert_gate.weight", "*conv1d*",
                                  "*.conv.*", "*.A_log", "*.indexer.weights_proj.*", "*norm*", "*embed*" })
            plain(name);
        std::map<std::string, std::set<std::string>> modules; // with the layers in which they are named
        for (const char* key : { "modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "llm_int8_skip_modules" })
            for (const std::string& name : texts(m_config, key)) {
                std::string layer;
                const bool plainName = !name.starts_with("re:") && name.find_first_of("*?") == std::string::npos;
                modules[plainName ? starred(name, layer) : name].insert(layer);
            }
        std::size_t single = 0;
        for (const auto& [name, layers] : modules) {
            const bool inLayers = layers.size() > 1 || !layers.begin()->empty();
            if (inLayers && static_cast<std::int64_t>(layers.size()) * 8 < m_layerCount) {
                ++single;
                continue;
            }
            for (const std::string& pattern : patterns(name))
                plain(pattern);
        }
        if (single > 0)
            m_out.remarks.push_back(std::to_string(single) + " modules of single layers are not packed, and count as if they were");
    }

    const json& m_config;
    std::string m_layers;
    std::int64_t m_layerCount;
    Quantization m_out;
};

} // namespace

Quantization readQuantization(const json& config, const std::string& layers, std::int64_t layerCount)
{
    return QuantizationReader(config, layers, layerCount).read();
}

std::string packedWeightOf(const std::string& stored)
{
    constexpr std::array kEndings { std::pair { ".qweight", ".weight" }, std::pair { ".weight_packed", ".weight" },
                                    std::pair { "_blocks", "" }, std::pair { "_packed", "" } };
    for (const auto& [end, plain] : kEndings)
        if (stored.ends_with(end))
            return stored.substr(0, stored.size() - std::string_view(end).size()) + plain;
    return {};
}

} // namespace shardboard
