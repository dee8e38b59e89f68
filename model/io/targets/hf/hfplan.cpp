// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/hf/hfplan.h"

#include "model/io/exports/moduleflow.h"
#include "model/text/text.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace shardboard {

namespace {

struct Flow {
    bool inputIsCut = false; ///< the operand of a projection comes with its last dim cut
    bool outputIsGathered = false; ///< the result is taken whole by the next operation
};

/// The module of a weight: its name without `.weight` or `.bias`.
std::string moduleOf(const std::string& name)
{
    for (const std::string ending : { ".weight", ".bias" })
        if (name.ends_with(ending))
            return name.substr(0, name.size() - ending.size());
    return name;
}

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
    if (const auto at = text.find(from); at != std::string::npos)
        text.replace(at, from.size(), to);
    return text;
}

/// Of a module in transformers 5.
std::string newNameOf(const std::string& module) { return replaced(module, ".block_sparse_moe.gate", ".mlp.gate"); }

bool isCutOver(const Layout& layout, std::size_t dim, const std::vector<int>& axes)
{
    return dim < layout.dims.size() && std::ranges::any_of(layout.dims[dim], [&](const AxisRef& ref) {
               return std::ranges::find(axes, ref.axis) != axes.end();
           });
}

class PlanBuilder {
public:
    PlanBuilder(const Design& design, const Evaluation& evaluation)
        : m_design(design)
        , m_evaluation(evaluation)
    {
        m_plan.use = axisUse(design, evaluation);
    }

    HfPlan build()
    {
        for (const WeightLayout& weight : m_evaluation.weights)
            if (weight.spec.role == TensorRole::Weight)
                take(weight);
        if (m_design.model.tiedEmbeddings)
            takeTiedHead();
        if (m_experts != kNone && m_experts != kWhole) {
            const std::string module = m_design.model.weightPrefix + "layers.*.mlp.experts";
            (m_experts == kExperts ? m_plan.fiveExperts : m_plan.five)[module] =
                m_experts == kExperts ? "ep_dispatch_experts" : "moe_tp_experts";
            if (m_experts == kExperts)
                noFour("it has no expert-parallel plan for these modules");
        } else if (m_experts == kWhole) {
            m_plan.five[m_design.model.weightPrefix + "layers.*.mlp.experts"] = "replicate";
        }
        if (!m_plan.use.sharded.empty())
            noFour("it has no fully sharded data parallelism");
        for (ExportRefusal& refusal : flowRefusals(m_evaluation, "Hugging Face", [this](const auto& w) { return partsOf(w); }))
            if (std::ranges::none_of(m_plan.refusals,
                                     [&](const ExportRefusal& known) { return known.error.where == refusal.error.where; }))
                m_plan.refusals.push_back(std::move(refusal));
        return std::move(m_plan);
    }

private:
    /// Gathered outputs, split inputs and whole weights take and give all; sinks are no module, and lie whole.
    ModuleParts partsOf(const WeightLayout& weight) const
    {
        const auto style = m_plan.five.find(newNameOf(moduleOf(weight.spec.name)));
        if (style == m_plan.five.end())
            return {};
        return { .takes = style->second == "rowwise", .gives = style->second == "colwise" };
    }

    /// What is cut of the experts; all layers have the same.
    enum Experts { kNone, kWhole, kWidth, kExperts };

    void noFour(const std::string& reason)
    {
        if (m_plan.noFour.empty())
            m_plan.noFour = reason;
    }

    void refuse(const WeightLayout& weight, std::string what, std::string fix)
    {
        m_plan.refusals.push_back({ inputError(weight.spec.name, std::move(what), std::move(fix)), weight.copies });
    }

    /// Dim that the tensor-parallel group cuts: -1 for none; nothing, and refused, where a plan cannot say the layout.
    std::optional<int> tensorDim(const WeightLayout& weight)
    {
        int tensor = -1;
        for (std::size_t dim = 0; dim < weight.layout.dims.size(); ++dim) {
            std::vector<int> axes;
            for (const AxisRef& ref : weight.layout.dims[dim])
                if (m_design.mesh.axis(ref.axis).size > 1)
                    axes.push_back(ref.axis);
            std::vector<int> wanted;
            if (isCutOver(weight.layout, dim, m_plan.use.tensor)) {
                if (tensor >= 0) {
                    refuse(weight, "two of its dims are cut by tensor parallelism, and a style of Hugging Face cuts one",
                           "cut one of them");
                    return std::nullopt;
                }
                tensor = static_cast<int>(dim);
                wanted = m_plan.use.tensor;
            }
            if (dim == 0)
                wanted.insert(wanted.end(), m_plan.use.sharded.begin(), m_plan.use.sharded.end());
            if (axes == wanted)
                continue;
            refuse(weight,
                   "dim " + std::to_string(dim) + " is cut over " + (axes.empty() ? "nothing" : axisNames(m_design.mesh, axes))
                       + ", where "
                       + (wanted.empty() ? "a plan of Hugging Face leaves it whole"
                                         : "Hugging Face cuts it over " + axisNames(m_design.mesh, wanted))
                       + (m_plan.use.sharded.empty() ? "" : " (its FSDP cuts dim 0 of every parameter, after tensor parallelism)"),
                   m_plan.use.sharded.empty()
                       ? "cut it over the tensor axis alone"
                       : "cut it as Hugging Face does, or export to a target that takes a layout for every weight");
            return std::nullopt;
        }
        return tensor;
    }

    /// How the plan uses a weight [out, in]: what goes in, and what the next operation takes.
    Flow flowOf(const WeightLayout& weight) const
    {
        Flow flow;
        for (const PlannedSegment& segment : m_evaluation.plan.segments) {
            if (segment.phase != Phase::Forward)
                continue;
            TensorId result = kNoTensor;
            for (const PlannedOp& planned : segment.ops) {
                const Op& op = m_evaluation.graph.ops[planned.op];
                for (const OperandUse& use : planned.operands)
                    if (result != kNoTensor && use.tensor == result && !use.layout.dims.empty()) {
                        flow.outputIsGathered = !isCutOver(use.layout, use.layout.dims.size() - 1, m_plan.use.tensor);
                        return flow;
                    }
                if (result == kNoTensor && planned.operands.size() > 1 && op.operands.size() > 1
                    && std::ranges::find(op.operands, weight.tensor) != op.operands.end()) {
                    result = op.result;
                    const Layout& before = planned.operands.front().before;
                    flow.inputIsCut = !before.dims.empty() && isCutOver(before, before.dims.size() - 1, m_plan.use.tensor);
                }
            }
            if (result != kNoTensor)
                return flow;
        }
        return flow;
    }

    void set(HfStyles& styles, const WeightLayout& weight, const std::string& key, const std::string& style, bool isMain = true)
    {
        const auto [known, isNew] = styles.try_emplace(key, style);
        if (isNew || known->second == style)
            return;
        const bool layers = weight.firstLayer >= 0 && known->first.find('*') != std::string::npos && isMain;
        refuse(weight,
               layers ? "another layer or part of the same module is laid out otherwise (" + known->second + " and " + style
                       + "), and a plan names modules with * for the number of a layer"
                      : "its module has another style: " + known->second + ", and this needs " + style,
               "give all of them the same layout");
    }

    /// The name of an older plan; digits outside of numbers of layers match nothing there (transformers 4 replaces all of them).
    void setFour(const std::string& key, const std::string& style)
    {
        if (std::ranges::any_of(key, [](unsigned char c) { return std::isdigit(c) != 0; })) {
            if (!style.empty())
                noFour("its plans cannot name modules with a digit in their names, such as " + std::string(split(key, '.').back()));
            return;
        }
        if (!style.empty())
            m_plan.four.try_emplace(key, style);
    }

    void take(const WeightLayout& weight)
    {
        const std::string& name = weight.spec.name;
        const auto dim = tensorDim(weight);
        if (!dim)
            return;
        if (isExpertWeight(weight.spec)) {
            takeExpert(weight, *dim);
            return;
        }
        const std::string module = moduleOf(name);
        const std::string newModule = newNameOf(module);
        if (newModule != module)
            m_plan.madeOf[suffix(newModule + ".weight")] = { suffix(name) };
        if (name.ends_with(".sinks")) {
            if (*dim >= 0)
                refuse(weight, "attention sinks are no module, and Hugging Face cuts those of modules only", "leave them whole");
            return;
        }
        if (weight.spec.shape.size() == 1) {
            takeVector(weight, module, *dim);
            return;
        }
        const bool embedding =
            name.find("embed_tokens.") != std::string::npos || name.find("word_embeddings.") != std::string::npos;
        if (embedding) {
            set(m_plan.five, weight, newModule, *dim < 0 ? "replicate" : *dim == 0 ? "embedding_rowwise" : "embedding_colwise");
            setFour(module, *dim < 0 ? "" : *dim == 0 ? "colwise_rep" : "rowwise_rep");
            return;
        }
        if (*dim < 0) {
            const bool latent = name.ends_with(".kv_a_proj_with_mqa.weight") && !m_plan.use.tensor.empty();
            const bool router = newModule.ends_with(".mlp.gate") || newModule.ends_with(".mlp.router");
            if (isOfCutQueries(newModule)) {
                refuse(weight,
                       "it is whole where the queries are cut, and attention in Hugging Face takes the KV heads that a rank has as "
                       "those of its own queries",
                       "use a tensor axis that divides the KV heads");
                return;
            }
            if (latent)
                set(m_plan.five, weight, newModule, "mla_kv_a_proj");
            else if (!router)
                set(m_plan.five, weight, newModule, "replicate");
            return;
        }
        const Flow flow = flowOf(weight);
        const bool head = name.starts_with("lm_head.");
        if (*dim == 0) {
            const bool gathered = head || flow.outputIsGathered;
            set(m_plan.five, weight, newModule, gathered ? "colwise_gather_output" : "colwise");
            setFour(module, gathered ? "colwise_rep" : "colwise");
        } else {
            set(m_plan.five, weight, newModule, flow.inputIsCut ? "rowwise" : "rowwise_split_input");
            setFour(module, flow.inputIsCut ? "rowwise" : "rowwise_rep");
        }
    }

    /// Keys or values of an attention whose queries, which come before them, stay cut.
    bool isOfCutQueries(const std::string& module) const
    {
        if (!module.ends_with(".self_attn.k_proj") && !module.ends_with(".self_attn.v_proj"))
            return false;
        const auto queries = m_plan.five.find(module.substr(0, module.size() - 6) + "q_proj");
        return queries != m_plan.five.end() && queries->second == "colwise";
    }

    /// A bias goes with the weight of its module, which comes before it; a norm stays whole.
    void takeVector(const WeightLayout& weight, const std::string& module, int dim)
    {
        const std::string& name = weight.spec.name;
        if (name.ends_with(".bias") && m_plan.five.contains(module)) {
            const bool column = m_plan.five.at(module).starts_with("colwise");
            if (column != (dim == 0))
                refuse(weight,
                       column ? "it is whole, and Hugging Face cuts the bias of a column-parallel module with it"
                              : "it is cut, and Hugging Face leaves this bias whole",
                       "lay it out with its weight");
            return;
        }
        if (dim == 0)
            refuse(weight, "no style of Hugging Face cuts it", "leave it whole");
        const bool perHead = name.ends_with(".q_norm.weight") || name.ends_with(".k_norm.weight");
        if (perHead && !m_plan.use.tensor.empty())
            set(m_plan.five, weight, module, "replicated_with_grad_allreduce");
    }

    void takeTiedHead()
    {
        const auto embedding = m_plan.five.find(m_design.model.weightPrefix + "embed_tokens");
        if (embedding == m_plan.five.end())
            return;
        const std::string& style = embedding->second;
        m_plan.five["lm_head"] = style == "embedding_rowwise" ? "colwise_gather_output"
            : style == "embedding_colwise"                    ? "rowwise_split_input"
                                                              : "replicate";
        if (style != "replicate")
            m_plan.four["lm_head"] = style == "embedding_rowwise" ? "colwise_rep" : "rowwise_rep";
    }

    static std::string suffix(const std::string& name)
    {
        const auto star = name.find("*.");
        return star == std::string::npos ? name : name.substr(star + 2);
    }

    void takeExpert(const WeightLayout& weight, int dim)
    {
        const std::string& name = weight.spec.name;
        const ExpertStorage storage = m_design.model.moe.storage;
        const auto at = name.find(storage == ExpertStorage::Mixtral ? ".block_sparse_moe.experts." : ".mlp.experts.");
        if (at == std::string::npos) {
            refuse(weight, "Hugging Face has no module of this name", "use the checkpoint's names");
            return;
        }
        const std::string experts = name.substr(0, at) + ".mlp.experts.";
        const bool down = name.find(".down_proj") != std::string::npos || name.ends_with(".w2.weight");
        const bool bias = name.ends_with("_bias");
        const std::string parameter = storage == ExpertStorage::Packed ? name : experts + (down ? "down_proj" : "gate_up_proj");
        if (parameter != name)
            m_plan.madeOf[suffix(parameter)].push_back(suffix(name));
        const bool cutExperts = dim == 0;
        const Experts kind = dim < 0 ? kWhole : cutExperts ? kExperts : kWidth;
        // The bias of a projection whose result is added up over ranks is whole, whatever is cut.
        const bool follows = bias && down && kind == kWhole && m_experts == kWidth;
        if (m_experts != kNone && m_experts != kind && !follows) {
            refuse(weight,
                   "other weights of the experts are cut otherwise, and Hugging Face treats the experts of a layer as one module",
                   "cut all of them over the experts, or all over their width");
            return;
        }
        if (!follows)
            m_experts = kind;
        if (kind == kWidth && storage == ExpertStorage::Packed) {
            refuse(weight,
                   "Hugging Face cannot cut the width of these experts: every rank would add the bias of the down projection",
                   "cut whole experts");
            return;
        }
        if (kind == kExperts)
            set(m_plan.fiveExperts, weight, parameter, "grouped_gemm");
        else if (kind == kWidth)
            set(m_plan.five, weight, parameter, down ? "rowwise" : "packed_colwise");
        else
            set(m_plan.five, weight, parameter, "replicate");
        if (kind != kWhole)
            setFour(moduleOf(name), kind == kWidth ? (down ? "rowwise" : "colwise") : "");
    }

    const Design& m_design;
    const Evaluation& m_evaluation;
    HfPlan m_plan;
    Experts m_experts = kNone;
};

} // namespace

HfPlan hfPlan(const Design& design, const Evaluation& evaluation) { return PlanBuilder(design, evaluation).build(); }

} // namespace shardboard
