// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/maxtext/maxtexttarget.h"

#include "model/io/exports/exportrefusals.h"
#include "model/io/exports/exporttext.h"
#include "model/io/exports/leftout.h"
#include "model/io/exports/pythontext.h"
#include "model/io/maxtext/rulefilewriter.h"
#include "model/io/names/carriedlayout.h"
#include "model/io/names/namesjson.h"
#include "model/io/targets/maxtext/maxtextactivations.h"
#include "model/io/targets/maxtext/maxtextaxes.h"
#include "model/io/targets/maxtext/rulesearch.h"
#include "model/rules/rulesetup.h"
#include "model/text/contains.h"
#include "model/text/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace shardboard {

namespace {

using nlohmann::ordered_json;
using Axes = std::vector<std::string>;

/// What is exported: MaxText's parameters with the rules for them, and why some have none.
struct MaxTextPlan {
    Mesh mesh; ///< under MaxText's names
    std::shared_ptr<const ParameterNames> names;
    std::vector<RuleTensor> tensors;
    std::vector<const NamedParameter*> parameters; ///< of each tensor
    RuleSearch search;
    std::vector<ExportRefusal> refusals;
};

std::string axesText(const Axes& axes) { return axes.empty() ? "nothing" : joined(axes); }

Axes axesOf(const std::vector<AxisRef>& refs, const Mesh& mesh)
{
    Axes out;
    for (const AxisRef& ref : refs)
        if (mesh.axis(ref.axis).size > 1)
            out.push_back(mesh.axis(ref.axis).name);
    return out;
}

/// A weight of a model without a known architecture: its dims get logical names of their own, so that any layout has rules.
NamedParameter looseParameter(const TensorSpec& spec, std::size_t index)
{
    NamedParameter out;
    out.name = "tensor" + std::to_string(index);
    out.sources = { spec.name };
    for (std::size_t dim = 0; dim < spec.shape.size(); ++dim) {
        out.logicalNames.push_back(out.name + "_dim" + std::to_string(dim));
        out.factors.push_back({ out.logicalNames.back(), spec.shape[dim] });
        out.from.push_back({ static_cast<int>(dim) });
        out.dims.push_back({ static_cast<int>(dim) });
    }
    return out;
}

std::shared_ptr<ParameterNames> looseNames(const Evaluation& evaluation)
{
    auto names = std::make_shared<ParameterNames>();
    names->scheme = NameScheme::MaxText;
    for (const WeightLayout& weight : evaluation.weights)
        if (weight.spec.role == TensorRole::Weight)
            names->parameters.push_back(looseParameter(weight.spec, names->parameters.size()));
    return names;
}

/// Built-in models of which MaxText 0.2.5 has a configuration under the same name.
bool isKnown(const ModelSpec& model)
{
    static const std::set<std::string> kKnown {
        "llama2-7b",     "llama2-70b",      "llama3-8b",     "llama3-70b",      "llama3.1-405b",  "mistral-7b",     "qwen2.5-1.5b",
        "qwen2.5-7b",    "qwen2.5-14b",     "qwen3-0.6b",    "qwen3-1.7b",      "qwen3-4b",       "qwen3-8b",       "qwen3-14b",
        "qwen3-32b",     "mixtral-8x7b",    "mixtral-8x22b", "deepseek2-16b",   "deepseek2-236b", "deepseek3-671b", "kimi-k2-1t",
        "qwen3-30b-a3b", "qwen3-235b-a22b", "gpt-oss-20b",   "qwen3-480b-a35b", "gpt-oss-120b",   "gemma-2b",       "gemma-7b",
        "gemma2-2b",     "gemma2-9b",       "gemma2-27b",    "gemma3-4b",       "gemma3-12b",     "gemma3-27b",
    };
    return kKnown.contains(model.name) && model.source == "builtin:" + model.name;
}

/// What MaxText calls the layers of a family whose sizes say the rest; nothing for others.
std::string decoderBlock(const ModelSpec& model)
{
    if (model.family == "llama")
        return "llama2";
    return model.family == "mistral" || model.family == "qwen2" || model.family == "qwen3" ? model.family : std::string();
}

/// MaxText takes the whole part of this times the devices, which has to be the batch.
std::string perDevice(std::int64_t batch, std::int64_t devices)
{
    if (batch % devices == 0)
        return std::to_string(batch / devices);
    double each = static_cast<double>(batch) / static_cast<double>(devices);
    while (static_cast<std::int64_t>(static_cast<double>(devices) * each) < batch)
        each = std::nextafter(each, each + 1);
    return decimalDigits(each);
}

/// The options that say which model to run: a name that MaxText knows, or the sizes.
std::string modelOptions(const ModelSpec& model)
{
    // MaxText's own sizes of a model may differ: it pads the vocabulary of Gemma 2.
    const std::string vocabulary = " override_model_config=true vocab_size=" + std::to_string(model.vocabSize);
    if (isKnown(model))
        return "model_name=" + model.name + vocabulary;
    const std::string block = decoderBlock(model);
    if (block.empty())
        return "model_name=MODEL" + vocabulary;
    std::string out = "model_name=default" + vocabulary + " decoder_block=" + block;
    for (const auto& [option, size] : { std::pair { "base_emb_dim", model.hiddenSize },
                                        { "base_num_decoder_layers", model.layers },
                                        { "base_num_query_heads", model.heads },
                                        { "base_num_kv_heads", model.kvHeads },
                                        { "head_dim", model.headDim },
                                        { "base_mlp_dim", model.intermediateSize } })
        out += std::string(" ") + option + "=" + std::to_string(size);
    out += " normalization_layer_epsilon=" + decimalDigits(model.norm.epsilon)
        + " rope_max_timescale=" + decimalDigits(model.ropeTheta);
    if (model.tiedEmbeddings)
        out += " logits_via_embedding=true";
    if (model.attentionBias != AttentionBias::None)
        out += " attention_bias=true";
    return out + (model.qkNorm ? " use_qk_norm=true" : "");
}

class MaxTextPlanner {
public:
    MaxTextPlanner(const Design& design, const Evaluation& evaluation)
        : m_design(design)
        , m_evaluation(evaluation)
    {
    }

    MaxTextPlan make()
    {
        auto mesh = maxtextMesh(m_design.mesh);
        if (!mesh.ok()) {
            m_out.refusals.push_back({ mesh.error() });
            return std::move(m_out);
        }
        m_out.mesh = std::move(mesh).value();
        if (m_design.model.hasGraph()) {
            auto names = namesOf(m_design.model, NameScheme::MaxText);
            if (!names.ok()) {
                m_out.refusals.push_back({ inputError("model", names.error().what, "choose a model that MaxText has") });
                return std::move(m_out);
            }
            m_out.names = std::make_shared<const ParameterNames>(std::move(names).value());
        } else {
            m_out.names = looseNames(m_evaluation);
        }
        for (const UnnamedWeight& missing : m_out.names->missing)
            refuse(missing.weight, "MaxText does not have it: " + missing.reason, "export to another target");
        for (const LaidOutParameter& laidOut : laidOutParameters(*m_out.names, m_evaluation, m_design.mesh))
            add(laidOut);
        m_out.search = searchRules(m_out.tensors);
        for (const RuleConflict& conflict : m_out.search.conflicts)
            tell(conflict);
        if (m_out.refusals.empty())
            verify();
        return std::move(m_out);
    }

private:
    /// Each weight once, with its layers.
    void refuse(const std::string& weight, const std::string& what, const std::string& fix)
    {
        if (!m_refused.insert(weight).second)
            return;
        std::int64_t layers = 0;
        for (const WeightLayout& layout : m_evaluation.weights)
            layers += layout.spec.name == weight ? layout.copies : 0;
        m_out.refusals.push_back({ inputError(weight, what, fix), layers });
    }

    void add(const LaidOutParameter& laidOut)
    {
        const NamedParameter& parameter = *laidOut.parameter;
        if (!laidOut.carried.ok()) {
            const Error& error = laidOut.carried.error();
            for (const std::string& source : parameter.sources)
                refuse(source, "in MaxText it is " + parameter.name + ": " + error.what, error.fix);
            return;
        }
        RuleTensor tensor { parameter.name, parameter.logicalNames, {} };
        for (const auto& refs : laidOut.carried.value().layout.dims)
            tensor.wanted.push_back(axesOf(refs, m_out.mesh));
        const auto headDim = std::ranges::find_if(parameter.logicalNames,
                                                  [](const std::string& name) { return name == "kv" || name == "kv_head_dim"; });
        if (headDim != parameter.logicalNames.end() && !parameter.order.empty()
            && !tensor.wanted[static_cast<std::size_t>(headDim - parameter.logicalNames.begin())].empty())
            for (const std::string& source : parameter.sources)
                refuse(source,
                       "its heads are cut inside, and MaxText has the elements of a head in another order: " + parameter.order,
                       "cut whole heads");
        m_out.tensors.push_back(std::move(tensor));
        m_out.parameters.push_back(&parameter);
    }

    void tell(const RuleConflict& conflict)
    {
        const RuleTensor& tensor = m_out.tensors[conflict.tensor];
        const std::string dim = "dim " + std::to_string(conflict.dim) + " of " + tensor.name;
        const std::string wanted = axesText(tensor.wanted[conflict.dim]);
        for (const std::string& source : m_out.parameters[conflict.tensor]->sources) {
            if (conflict.other == conflict.tensor) {
                refuse(source, dim + " has no logical name in MaxText, so that no rule cuts it over " + wanted, "cut another dim");
                continue;
            }
            const RuleTensor& other = m_out.tensors[conflict.other];
            const auto at =
                static_cast<std::size_t>(std::ranges::find(other.names, tensor.names[conflict.dim]) - other.names.begin());
            refuse(source,
                   dim + " is cut over " + wanted + ", and dim " + std::to_string(at) + " of " + other.name + " over "
                       + axesText(other.wanted[at]) + ": MaxText names both '" + tensor.names[conflict.dim]
                       + "', and no order of rules tells them apart",
                   "cut both over the same mesh axes");
        }
    }

    /// By the rules as MaxText resolves them: what the search found is not taken for granted.
    void verify()
    {
        for (std::size_t i = 0; i < m_out.tensors.size(); ++i) {
            const RuleTensor& tensor = m_out.tensors[i];
            const auto resolved = resolveNames(tensor.names, m_out.search.rules, tensor.name);
            if (!resolved.ok() || withoutUselessAxes(resolved.value().spec, m_out.mesh) != tensor.wanted)
                refuse(m_out.parameters[i]->sources.front(),
                       "no rules were found that lay out " + tensor.name + " as the plan does", "report this");
        }
    }

    const Design& m_design;
    const Evaluation& m_evaluation;
    MaxTextPlan m_out;
    std::set<std::string> m_refused;
};

MaxTextPlan planOf(const Design& design, const Evaluation& evaluation) { return MaxTextPlanner(design, evaluation).make(); }

ActivationRules activationsOf(const Evaluation& evaluation, const MaxTextPlan& plan)
{
    std::vector<std::string> taken;
    for (const LogicalRule& rule : plan.search.rules)
        taken.push_back(rule.name);
    return activationRules(evaluation, plan.mesh, taken);
}

Result<std::vector<ExportRefusal>> refusalsOf(const Design& design, const Evaluation& evaluation,
                                              const std::function<bool()>& stopped)
{
    auto out = commonRefusals(design, evaluation, { .framework = "MaxText", .stages = true, .ownModules = true }, stopped);
    if (!out.ok())
        return out;
    std::vector<ExportRefusal>& refusals = out.value();
    if (const int stages = design.mesh.find(design.pipeline.axis); stages >= 0 && design.mesh.axis(stages).size > 1)
        refusals.push_back({ inputError("pipeline",
                                        "MaxText deals layers to the stages of mesh axis '" + design.mesh.axis(stages).name
                                            + "' itself, in its own circular schedule, and rules cannot say which lie where",
                                        "export a design without the pipeline, on the mesh of one stage") });
    if (!design.mesh.deviceIds().empty())
        refusals.push_back({ inputError("mesh", "MaxText orders the devices itself, and the design has an order of its own",
                                        "let the device ids count up in mesh order") });
    if (refusals.empty())
        refusals = planOf(design, evaluation).refusals;
    return out;
}

/// Its word for what layers compute again, where it has one and all of them do.
std::string rematPolicy(const Workload& workload)
{
    if (workload.kind != WorkloadKind::Train || !workload.recomputesInAll())
        return {};
    if (workload.recompute == Recompute::None || workload.recompute == Recompute::Full)
        return recomputeName(workload.recompute);
    for (const RecomputeAlias& alias : kRecomputeAliases)
        if (std::string_view(alias.source).starts_with("MaxText") && recomputeFromName(alias.parts) == workload.recompute)
            return alias.name;
    return {};
}

std::vector<std::string> leftOutLines(const Design& design, const Evaluation& evaluation)
{
    Design withoutPins = design; // what pins lay out has rules
    withoutPins.pins.clear();
    if (!rematPolicy(design.workload).empty())
        withoutPins.workload.recompute = Recompute::None;
    withoutPins.workload.capacityFactor = 0;
    if (withoutPins.memory.framework == Framework::MaxText)
        withoutPins.memory.framework = Framework::None;
    std::vector<std::string> out = leftOutOf(withoutPins, "XLA");
    if (!design.model.hasGraph())
        return out;
    const MaxTextPlan plan = planOf(design, evaluation);
    if (!plan.refusals.empty())
        return out;
    const ActivationRules activations = activationsOf(evaluation, plan);
    if (!activations.disagreeing.empty())
        out.push_back("activations that MaxText names " + joined(activations.disagreeing)
                      + " are laid out in more than one way in the plan: the rule has the first");
    if (std::ranges::any_of(plan.parameters, [](const NamedParameter* one) { return !one->order.empty(); }))
        out.push_back(
            "the order of elements within heads of query and key: in a checkpoint of Llama 3.1 that MaxText has converted "
            "the two halves of a head stand in turn");
    if (!isKnown(design.model) && decoderBlock(design.model).empty())
        out.push_back(
            "the sizes of the model: MaxText has none of its name, so that MODEL stands for a configuration that has them");
    if (activations.inputNames.empty())
        out.push_back("the layout of the input tokens: MaxText cuts the batch by rules that do not say it");
    if (design.workload.kind == WorkloadKind::Decode)
        out.push_back("the layout of the KV cache: no rule names its dims, so that MaxText keeps it whole");
    return out;
}

std::string usageOf(const Design& design, const Evaluation& evaluation)
{
    if (!design.model.hasGraph())
        return "import flax, yaml\n"
               "rules = yaml.safe_load(open(\"maxtext.yml\"))[\"logical_axis_rules\"]\n"
               "spec = flax.linen.logical_to_mesh_axes((\"tensor0_dim0\", \"tensor0_dim1\"), rules)\n";
    std::string text = "python3 -m maxtext.trainers.pre_train.train maxtext.yml run_name=RUN " + modelOptions(design.model)
        + " max_target_length=" + std::to_string(design.workload.sequence)
        + " per_device_batch_size=" + perDevice(design.workload.batch, design.mesh.deviceCount());
    if (design.model.name.starts_with("llama2")) { // MaxText's file of the model adds a rule, which the command line undoes
        const MaxTextPlan plan = planOf(design, evaluation);
        const auto norm = std::ranges::find(plan.search.rules, "norm", &LogicalRule::name);
        std::string axes;
        if (norm != plan.search.rules.end())
            for (const std::string& axis : norm->axes)
                axes += (axes.empty() ? "\"" : ", \"") + axis + "\"";
        text += " 'logical_axis_rules=[[\"norm\", [" + axes + "]]]'";
    }
    return text + "\n";
}

std::string commented(const std::string& text)
{
    std::string out;
    for (const std::string_view line : split(text, '\n'))
        if (!line.empty())
            out += "#   " + std::string(line) + "\n";
    return out;
}

std::string configText(const Design& design, const Evaluation& evaluation, const MaxTextPlan& plan,
                       const ActivationRules& activations)
{
    std::string text = "# Generated by Shardboard: mesh and logical axis rules of a design for MaxText 0.2.5.\n# Model: "
        + pythonLiteral(design.model.name) + "\n# Mesh axes, as the design and as MaxText calls them:";
    for (int i = 0; i < design.mesh.axisCount(); ++i)
        text += (i > 0 ? ", " : " ") + design.mesh.axis(i).name + " = " + plan.mesh.axis(i).name;
    text += "\n# Use it as the configuration of a run:\n" + commented(usageOf(design, evaluation));
    if (design.model.hasGraph())
        text +=
            "# As custom_mesh_and_rule it is found only in the package, under one of the names that its configs/types.py lists\n"
            "# (configs/custom_mesh_and_rule/pure-fsdp.yml, say); the sizes of the mesh axes are then options of the run.\n";
    const std::vector<std::string> leftOut = leftOutLines(design, evaluation);
    if (!leftOut.empty())
        text += "# Left out of the design:\n";
    for (const std::string& line : leftOut)
        text += "#   " + line + "\n";
    text += "base_config: 'base.yml'\noverride_logical_axis_rules: true\n";
    for (const MeshAxis& axis : plan.mesh.axes())
        text += parallelismOption("ici", axis.name) + ": " + std::to_string(axis.size) + "\n";
    if (plan.mesh.find("fsdp") < 0)
        text += "ici_fsdp_parallelism: 1\n";
    if (const std::string policy = rematPolicy(design.workload); !policy.empty())
        text += "remat_policy: '" + policy + "'\n";
    if (design.model.moe.present() && design.workload.capacityFactor > 0) // which its sparse products do not know
        text += "sparse_matmul: false\ncapacity_factor: " + decimalDigits(design.workload.capacityFactor) + "\n";
    if (!activations.inputNames.empty())
        text += "input_data_sharding_logical_axes: ['" + joined(activations.inputNames, "', '") + "']\n";
    std::vector<LogicalRule> rules = plan.search.rules;
    rules.insert(rules.end(), activations.rules.begin(), activations.rules.end());
    return text + ruleFileText(rules, plan.mesh);
}

/// What check.py needs to know beside the rules: which parameter is made of which weights.
std::string namesText(const Design& design, const Evaluation& evaluation, const MaxTextPlan& plan,
                      const ActivationRules& activations)
{
    ordered_json axes = ordered_json::array();
    for (int i = 0; i < design.mesh.axisCount(); ++i)
        axes.push_back(
            { { "design", design.mesh.axis(i).name }, { "maxtext", plan.mesh.axis(i).name }, { "size", plan.mesh.axis(i).size } });
    ordered_json parameters = ordered_json::array();
    for (const NamedParameter& parameter : plan.names->parameters)
        parameters.push_back(parameterJson(parameter));
    const ordered_json document { { "model", design.model.name },
                                  { "tensors", weightCount(evaluation) }, // in shards.json
                                  { "axes", std::move(axes) },
                                  { "input", activations.inputNames },
                                  { "parameters", std::move(parameters) } };
    return document.dump(1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

Result<std::vector<ExportedFile>> filesOf(const Design& design, const Evaluation& evaluation)
{
    const MaxTextPlan plan = planOf(design, evaluation);
    const ActivationRules activations = design.model.hasGraph() ? activationsOf(evaluation, plan) : ActivationRules {};
    return std::vector<ExportedFile> {
        { "maxtext.yml", textSource(configText(design, evaluation, plan, activations)) },
        { "names.json", textSource(namesText(design, evaluation, plan, activations)) },
        { "check.py", textSource(std::string(exportText("maxtext/check.py"))) },
    };
}

} // namespace

ExportTarget maxtextTarget()
{
    return { .id = "maxtext",
             .title = "MaxText",
             .summary = "mesh and logical axis rules as a configuration",
             .check = "check.py",
             .refusals = refusalsOf,
             .leftOut = leftOutLines,
             .usage = usageOf,
             .files = filesOf };
}

} // namespace shardboard
