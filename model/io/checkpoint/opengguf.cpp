// SPDX-License-Identifier: Apache-2.0
#include "model/io/checkpoint/opengguf.h"

#include "model/families/decoder.h"
#include "model/io/checkpoint/checkpoint.h"
#include "model/io/checkpoint/comparecheckpoint.h"
#include "model/io/file/naturalorder.h"
#include "model/io/gguf/gguf.h"
#include "model/io/huggingface/hfconfig.h"
#include "model/io/safetensors/checkpointfinding.h"
#include "model/text/contains.h"
#include "model/text/numbers.h"
#include "model/text/text.h"
#include "model/text/visibletext.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace shardboard {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// `NAME-00001-of-00003.gguf`
struct SplitName {
    std::string stem;
    std::int64_t number = 0;
    std::int64_t count = 0;
};

std::optional<SplitName> splitName(const std::string& file)
{
    constexpr std::size_t kTail = std::string_view("-00001-of-00003.gguf").size();
    if (file.size() <= kTail || !file.ends_with(".gguf"))
        return std::nullopt;
    const std::string tail = file.substr(file.size() - kTail);
    const auto digits = [&](std::size_t at) -> std::optional<std::int64_t> {
        const std::string text = tail.substr(at, 5);
        if (!std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
            return std::nullopt;
        return std::stoll(text);
    };
    const auto number = digits(1), count = digits(10);
    if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !number || !count)
        return std::nullopt;
    return SplitName { file.substr(0, file.size() - kTail), *number, *count };
}

std::string splitFile(const SplitName& name, std::int64_t number)
{
    const auto five = [](std::int64_t value) {
        const std::string text = std::to_string(value);
        return std::string(5 - std::min<std::size_t>(5, text.size()), '0') + text;
    };
    return name.stem + "-" + five(number) + "-of-" + five(name.count) + ".gguf";
}

/// llama.cpp's name of an architecture, and the family's.
constexpr std::array kArchitectures {
    std::pair { "llama", "llama" },           std::pair { "qwen2", "qwen2" },
    std::pair { "qwen2vl", "qwen2" },         std::pair { "qwen3", "qwen3" },
    std::pair { "qwen3vl", "qwen3" },         std::pair { "qwen2moe", "qwen2_moe" },
    std::pair { "qwen3moe", "qwen3_moe" },    std::pair { "qwen3vlmoe", "qwen3_moe" },
    std::pair { "gemma", "gemma" },           std::pair { "gemma2", "gemma2" },
    std::pair { "gemma3", "gemma3_text" },    std::pair { "phi3", "phi3" },
    std::pair { "deepseek2", "deepseek_v3" }, std::pair { "glm4", "glm4" },
    std::pair { "glm4moe", "glm4_moe" },      std::pair { "command-r", "cohere" },
    std::pair { "cohere2", "cohere2" },       std::pair { "olmo2", "olmo2" },
    std::pair { "olmoe", "olmoe" },           std::pair { "granite", "granite" },
    std::pair { "starcoder2", "starcoder2" }, std::pair { "stablelm", "stablelm" },
    std::pair { "smollm3", "smollm3" },       std::pair { "seed_oss", "seed_oss" },
    std::pair { "exaone4", "exaone4" },       std::pair { "ernie4_5", "ernie4_5" },
    std::pair { "minimax-m2", "minimax_m2" }, std::pair { "arcee", "arcee" },
    std::pair { "mistral3", "ministral3" },   std::pair { "gpt-oss", "gpt_oss" },
};

/// What llama.cpp calls the parts of a layer, and Llama (ModelSpec::names).
constexpr std::array kParts {
    std::pair { "attn_norm", "input_layernorm" },
    std::pair { "attn_q", "self_attn.q_proj" },
    std::pair { "attn_k", "self_attn.k_proj" },
    std::pair { "attn_v", "self_attn.v_proj" },
    std::pair { "attn_qkv", "self_attn.qkv_proj" },
    std::pair { "attn_output", "self_attn.o_proj" },
    std::pair { "attn_q_norm", "self_attn.q_norm" },
    std::pair { "attn_k_norm", "self_attn.k_norm" },
    std::pair { "attn_q_a", "self_attn.q_a_proj" },
    std::pair { "attn_q_a_norm", "self_attn.q_a_layernorm" },
    std::pair { "attn_q_b", "self_attn.q_b_proj" },
    std::pair { "attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa" },
    std::pair { "attn_kv_a_norm", "self_attn.kv_a_layernorm" },
    std::pair { "attn_kv_b", "self_attn.kv_b_proj" },
    std::pair { "attn_post_norm", "post_attention_layernorm" },
    std::pair { "post_attention_norm", "post_attention_layernorm" },
    std::pair { "ffn_post_norm", "post_feedforward_layernorm" },
    std::pair { "post_ffw_norm", "post_feedforward_layernorm" },
    std::pair { "ffn_gate", "mlp.gate_proj" },
    std::pair { "ffn_up", "mlp.up_proj" },
    std::pair { "ffn_down", "mlp.down_proj" },
    std::pair { "ffn_gate_inp", "mlp.gate" },
    std::pair { "ffn_gate_exps", "mlp.experts.gate_proj" },
    std::pair { "ffn_up_exps", "mlp.experts.up_proj" },
    std::pair { "ffn_down_exps", "mlp.experts.down_proj" },
    std::pair { "ffn_gate_shexp", "mlp.shared_experts.gate_proj" },
    std::pair { "ffn_up_shexp", "mlp.shared_experts.up_proj" },
    std::pair { "ffn_down_shexp", "mlp.shared_experts.down_proj" },
    std::pair { "ffn_gate_inp_shexp", "mlp.shared_expert_gate" },
};

class GgufModelReader {
public:
    GgufModelReader(std::string path, std::string name)
        : m_path(std::move(path))
        , m_name(std::move(name))
    {
    }

    Result<OpenedModel> read()
    {
        if (const Status status = readFiles(); !status.ok())
            return status.error();
        m_architecture = m_first.text("general.architecture");
        m_checkpoint.place = m_path;
        const auto known = std::ranges::find_if(kArchitectures, [&](const auto& each) { return m_architecture == each.first; });
        if (m_architecture.empty())
            return loose("the file does not say its architecture, so its operations are not known");
        if (known == kArchitectures.end())
            return loose("the architecture " + shortened(visibleText(m_architecture), 60)
                         + " of a GGUF file is not understood yet, so its operations are not known");
        m_type = known->second;
        if (m_type == std::string("llama") && has("ffn_gate_exps"))
            m_type = "mixtral";
        if (m_type == "deepseek_v3" && !has("exp_probs_b")) // the second version has no such bias
            m_type = "deepseek_v2";
        auto config = modelFromConfig(configOf(*familyOf(m_type)), m_path);
        if (!config.ok() || !config.value().model.hasGraph())
            return loose("its keys are not those of the family " + m_type + ": "
                         + (config.ok() ? config.value().model.notUnderstood : config.error().text()));
        return planned(std::move(config).value());
    }

private:
    Status readFiles()
    {
        const fs::path path(m_path);
        const auto split = splitName(path.filename().string());
        if (!split || split->count < 2)
            return take(m_path);
        if (split->number < 1 || split->number > split->count)
            return inputError(m_path,
                              "its name has number " + std::to_string(split->number) + " of " + std::to_string(split->count),
                              "give one of the files as they were called");
        Examples missing;
        for (std::int64_t i = 1; i <= split->count; ++i) {
            const fs::path each = path.parent_path() / splitFile(*split, i);
            std::error_code failed;
            if (!fs::exists(each, failed)) {
                missing.add(each.filename().string());
                continue;
            }
            if (const Status status = take(each.string()); !status.ok())
                return status;
        }
        if (missing.count() > 0)
            add("checkpoint-file", Severity::Warning,
                missing.counted("file") + " of " + std::to_string(split->count) + " missing: " + missing.text(),
                "get the missing files");
        const std::int64_t count = m_first.integer("split.tensors.count").value_or(static_cast<std::int64_t>(m_tensors.size()));
        if (missing.count() == 0 && count != static_cast<std::int64_t>(m_tensors.size()))
            add("checkpoint-file", Severity::Error,
                "the files hold " + countText(static_cast<std::int64_t>(m_tensors.size())) + " tensors, and say that they are "
                    + countText(count),
                "get the files again");
        return done();
    }

    Status take(const std::string& path)
    {
        auto file = readGguf(path);
        if (!file.ok())
            return file.error();
        m_checkpoint.files.push_back(fs::path(path).filename().string());
        for (GgufTensor& tensor : file.value().tensors) {
            if (!m_seen.emplace(tensor.name, m_tensors.size()).second)
                return inputError(path, "tensor '" + shortened(visibleText(tensor.name), 120) + "' is in several files",
                                  "remove the files that do not belong together");
            m_tensors.push_back(std::move(tensor));
        }
        if (m_first.version == 0) {
            m_first.version = file.value().version;
            m_first.values = std::move(file.value().values);
        }
        return done();
    }

    void add(const std::string& kind, Severity severity, const std::string& message, const std::string& repair = {})
    {
        m_findings.push_back(checkpointFinding(kind, severity, m_path, message, repair));
    }

    bool has(const std::string& part) const
    {
        return std::ranges::any_of(
            m_tensors, [&](const GgufTensor& tensor) { return tensor.name.find("." + part + ".") != std::string::npos; });
    }

    const GgufTensor* tensor(const std::string& name) const
    {
        const auto found = m_seen.find(name);
        return found == m_seen.end() ? nullptr : &m_tensors[found->second];
    }

    std::optional<double> key(const std::string& name) const { return m_first.number(m_architecture + "." + name); }

    /// What a config.json of the family would say.
    json configOf(const FamilyFile& family) const
    {
        json all = json::object();
        const auto whole = [&](const char* to, const char* from) {
            if (const auto value = key(from); value && std::abs(*value) < 4e15)
                all[to] = static_cast<std::int64_t>(*value);
        };
        const auto real = [&](const char* to, const char* from) {
            if (const auto value = key(from))
                all[to] = std::round(*value * 1e12) / 1e12; // f32, printed
        };
        whole("hidden_size", "embedding_length");
        whole("num_hidden_layers", "block_count");
        if (const auto layers = key("block_count"), further = key("nextn_predict_layers");
            layers && further && *further >= 1 && *further < *layers && *layers < 4e15)
            all["num_hidden_layers"] = static_cast<std::int64_t>(*layers - *further); // of the file's layers the last ones
        whole("intermediate_size", "feed_forward_length");
        whole("num_attention_heads", "attention.head_count");
        whole("num_key_value_heads", "attention.head_count_kv");
        whole("head_dim", "attention.key_length");
        whole("sliding_window", "attention.sliding_window");
        for (const char* to : { "num_experts", "num_local_experts", "n_routed_experts" })
            whole(to, "expert_count");
        whole("num_experts_per_tok", "expert_used_count");
        whole("moe_intermediate_size", "expert_feed_forward_length");
        whole("shared_expert_intermediate_size", "expert_shared_feed_forward_length");
        whole("n_shared_experts", "expert_shared_count");
        whole("first_k_dense_replace", "leading_dense_block_count");
        whole("q_lora_rank", "attention.q_lora_rank");
        whole("kv_lora_rank", "attention.kv_lora_rank");
        whole("qk_rope_head_dim", "rope.dimension_count");
        whole("n_group", "expert_group_count");
        whole("topk_group", "expert_group_used_count");
        real("rms_norm_eps", "attention.layer_norm_rms_epsilon");
        real("layer_norm_eps", "attention.layer_norm_epsilon");
        real("rope_theta", "rope.freq_base");
        real("routed_scaling_factor", "expert_weights_scale");
        if (key("attention.value_length_mla"))
            whole("v_head_dim", "attention.value_length_mla");
        else if (m_architecture == "deepseek2")
            whole("v_head_dim", "attention.value_length");
        if (m_architecture == "deepseek2") {
            const auto head = key("attention.key_length_mla") ? key("attention.key_length_mla") : key("attention.key_length");
            if (const auto rope = key("rope.dimension_count"); head && rope && std::abs(*head) < 4e15 && std::abs(*rope) < 4e15)
                all["qk_nope_head_dim"] = static_cast<std::int64_t>(*head - *rope);
            all["num_key_value_heads"] = all.value("num_attention_heads", 0);
            if (!key("attention.q_lora_rank"))
                all["q_lora_rank"] = nullptr;
        }
        if (const GgufTensor* table = tensor("token_embd.weight"); table != nullptr && table->shape.size() == 2)
            all["vocab_size"] = table->shape[0];
        all["tie_word_embeddings"] = tensor("output.weight") == nullptr;
        const bool bias = has("attn_q") && tensor("blk.0.attn_q.bias") != nullptr;
        all["attention_bias"] = bias;
        json out = { { "model_type", family.type }, { "torch_dtype", "bfloat16" } };
        for (const auto& [name, value] : all.items())
            if (family.config.contains(name) || contains(family.required, name) || name == "tie_word_embeddings")
                out[name] = value;
        return out;
    }

    /// The name of the family's other checkpoints; empty where it has none.
    std::string translated(const std::string& name, const ModelSpec& model) const
    {
        if (name == "token_embd.weight")
            return model.weightPrefix + model.nameOf("embed_tokens") + ".weight";
        if (name == "output_norm.weight" || name == "output_norm.bias")
            return model.weightPrefix + model.nameOf("norm") + name.substr(11);
        if (name == "output.weight" || name == "output.bias")
            return model.nameOf("lm_head") + name.substr(6);
        const auto parts = split(std::string_view(name), '.');
        if (parts.size() < 4 || parts[0] != "blk")
            return {};
        std::string part(parts[2]);
        const std::string last(parts.back());
        const std::string layer = model.weightPrefix + model.nameOf("layers") + "." + std::string(parts[1]) + ".";
        if (part == "exp_probs_b")
            return layer + model.nameOf("mlp.gate.e_score_correction_bias");
        if (part == "attn_v_b")
            return {}; // counted with attn_k_b
        if (part == "attn_k_b")
            part = "attn_kv_b";
        if (part == "attn_sinks")
            return layer + model.nameOf("self_attn.sinks");
        if (part == "ffn_up" && model.block.joinedGateUp)
            return layer + model.nameOf("mlp.gate_up_proj") + "." + last; // both, gate first
        std::string own;
        if (part == "ffn_norm")
            own = model.norm.perLayer == 4 ? "pre_feedforward_layernorm" : "post_attention_layernorm";
        for (const auto& [theirs, ours] : kParts)
            if (part == theirs)
                own = ours;
        if (own.empty() || parts.size() != 4)
            return {};
        if (const auto whole = model.names.find(own + "." + last); whole != model.names.end())
            return layer + whole->second;
        return layer + model.nameOf(own) + "." + last;
    }

    /// Keys and values of latent attention may be two tensors, head by head.
    Shape expanded(const GgufTensor& keys, const ModelSpec& model) const
    {
        const GgufTensor* values = tensor("blk." + std::string(split(std::string_view(keys.name), '.')[1]) + ".attn_v_b.weight");
        if (values == nullptr || model.mla.latentRank < 1)
            return keys.shape;
        const std::int64_t elements = elementCount(keys.shape).value_or(0) + elementCount(values->shape).value_or(0);
        return { elements / model.mla.latentRank, model.mla.latentRank };
    }

    Result<OpenedModel> planned(ConfigModel config)
    {
        ModelSpec& model = config.model;
        if (model.moe.present() && has("ffn_gate_exps"))
            model.moe.storage = ExpertStorage::Stacked;
        std::vector<std::string> unnamed;
        for (const GgufTensor& each : m_tensors) {
            std::string name = translated(each.name, model);
            if (name.empty()) {
                if (each.name.find("rope_freqs") == std::string::npos && each.name.find("rope_factors") == std::string::npos
                    && each.name.find(".attn_v_b.") == std::string::npos)
                    unnamed.push_back(each.name);
                continue;
            }
            const bool latent = each.name.find(".attn_k_b.") != std::string::npos;
            m_checkpoint.tensors.push_back(
                { name, true, each.type->plain.value_or(model.dtype), latent ? expanded(each, model) : each.shape });
            pack(name, each);
        }
        std::ranges::sort(m_checkpoint.tensors,
                          [](const CheckpointTensor& a, const CheckpointTensor& b) { return naturalLess(a.name, b.name); });
        Workload one;
        one.batch = one.sequence = 1;
        const auto graph = buildDecoder(model, one);
        if (!graph.ok())
            return loose("its sizes do not fit together: " + graph.error().what);
        const CheckpointComparison compared = compareCheckpoint(m_checkpoint, model, graph.value(), { true, false, {}, {} });
        for (const Finding& finding : compared.findings)
            if (finding.kind == "checkpoint-missing" || finding.kind == "checkpoint-shape")
                return loose("its tensors are not those of the family " + m_type + ": " + finding.message);
        for (const Finding& finding : compared.findings)
            if (finding.kind == "checkpoint-extra")
                m_findings.push_back(finding);
        std::set<std::string> known;
        for (const GraphTensor& each : graph.value().tensors)
            known.insert(each.spec.name);
        std::erase_if(m_packed, [&](const auto& each) { return !known.contains(each.first); });
        OpenedModel out { std::move(model), std::move(m_findings) };
        out.model.name = m_name;
        out.model.source = visibleText(m_path);
        for (const auto& [name, packed] : m_packed)
            if (packed.block > 1) // numbers by themselves are as in any checkpoint
                out.model.packed.push_back(packed.averaged(name));
        out.findings.push_back(
            checkpointFinding("quantized", Severity::Note, m_path, "names of weights are those of " + m_type + "; " + said()));
        if (!unnamed.empty())
            out.findings.push_back(checkpointFinding("checkpoint-extra", Severity::Warning, m_path,
                                                     countText(static_cast<std::int64_t>(unnamed.size()))
                                                         + " tensors of the file not in the graph: "
                                                         + shortened(unnamed.front(), 80) + (unnamed.size() > 1 ? ", ..." : ""),
                                                     "they are not shown and not counted"));
        return out;
    }

    /// Layers may have several types; their mean is exact in the sum.
    struct Packed {
        std::map<std::string, std::int64_t> elements; ///< by type
        std::int64_t block = 1;
        double bits = 0;
        std::int64_t all = 0;

        PackedWeights averaged(const std::string& name) const
        {
            const auto most = std::ranges::max_element(elements, [](const auto& a, const auto& b) { return a.second < b.second; });
            const double each = bits / static_cast<double>(std::max<std::int64_t>(1, all));
            return { name,
                     most->first + (elements.size() > 1 ? " and others" : ""),
                     { 0, 1, block, each * static_cast<double>(block) } };
        }
    };

    void pack(const std::string& name, const GgufTensor& tensor)
    {
        if (tensor.shape.size() < 2)
            return;
        std::string starred;
        for (const std::string_view part : split(std::string_view(name), '.')) {
            const bool number = !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
            starred += (starred.empty() ? "" : ".") + (number ? std::string("*") : std::string(part));
        }
        Packed& packed = m_packed[starred];
        const std::int64_t elements = elementCount(tensor.shape).value_or(0);
        packed.elements[tensor.type->name] += elements;
        packed.block = std::max(packed.block, tensor.type->block);
        packed.bits += 8.0 * static_cast<double>(tensor.bytes);
        packed.all += elements;
    }

    /// `GGUF version 3: 4.85 bits an element (q4_k, q6_k, f32) …`
    std::string said() const
    {
        std::map<std::string, std::int64_t> types;
        double bytes = 0, elements = 0;
        for (const GgufTensor& each : m_tensors) {
            ++types[each.type->name];
            bytes += static_cast<double>(each.bytes);
            elements += static_cast<double>(elementCount(each.shape).value_or(0));
        }
        std::string text;
        for (const auto& [type, count] : types)
            text += (text.empty() ? "" : ", ") + type + " " + std::to_string(count);
        return "GGUF version " + std::to_string(m_first.version) + ", " + formatted("%.2f", 8 * bytes / std::max(1.0, elements))
            + " bits an element, tensors by type: " + text
            + "; memory counts them as stored, and rows of queries and keys may stand in another order";
    }

    Result<OpenedModel> loose(const std::string& why)
    {
        if (m_tensors.empty())
            return inputError(m_path, why + ", and it has no tensors", "give a file with weights");
        ModelSpec model;
        model.name = m_name;
        model.source = visibleText(m_path);
        model.notUnderstood = shortened(why, 600);
        std::vector<GgufTensor> sorted = m_tensors;
        std::ranges::sort(sorted, [](const GgufTensor& a, const GgufTensor& b) { return naturalLess(a.name, b.name); });
        for (const GgufTensor& each : sorted) {
            ModelSpec::LooseWeight weight;
            weight.tensor.name = each.name;
            weight.tensor.shape = each.shape;
            weight.tensor.dtype = each.type->plain.value_or(model.dtype);
            weight.tensor.packing = each.type->packing();
            model.looseWeights.push_back(std::move(weight));
        }
        m_findings.insert(m_findings.begin(),
                          checkpointFinding("not-understood", Severity::Warning, m_path,
                                            model.notUnderstood + "; its " + countText(static_cast<std::int64_t>(m_tensors.size()))
                                                + " weights are shown without a graph"));
        m_findings.push_back(checkpointFinding("quantized", Severity::Note, m_path, said()));
        return OpenedModel { std::move(model), std::move(m_findings) };
    }

    std::string m_path;
    std::string m_name;
    std::string m_architecture;
    std::string m_type;
    GgufFile m_first; ///< its keys alone
    std::vector<GgufTensor> m_tensors; ///< of all files
    std::map<std::string, std::size_t> m_seen; ///< by name, the index into m_tensors
    std::map<std::string, Packed> m_packed;
    Checkpoint m_checkpoint;
    std::vector<Finding> m_findings;
};

} // namespace

Result<OpenedModel> openGguf(const std::string& path, const std::string& name) { return GgufModelReader(path, name).read(); }

std::vector<std::string> ggufModels(const std::string& folder)
{
    std::vector<std::string> out;
    std::error_code failed;
    for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        const auto split = splitName(name);
        if (name.ends_with(".gguf") && (!split || split->number == 1))
            out.push_back(name);
    }
    std::ranges::sort(out, naturalLess);
    return out;
}

} // namespace shardboard
