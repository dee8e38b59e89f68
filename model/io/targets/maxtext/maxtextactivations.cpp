// SPDX-License-Identifier: Apache-2.0
#include "model/io/targets/maxtext/maxtextactivations.h"

#include "model/text/contains.h"
#include "model/text/glob.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace shardboard {

namespace {

constexpr int kResult = -1;

/// A value of the plan: what operations of this name take as an operand, or make. What MaxText calls its dims; several names of a
/// dim are separated by blanks.
struct NamedValue {
    std::string_view op;
    int operand;
    std::array<std::string_view, 4> dims;
};

constexpr std::array kValues {
    NamedValue { "*input_layernorm",
                 0,
                 { "activation_batch", "activation_norm_length activation_input_length_attn", "activation_embed", "" } },
    NamedValue { "*self_attn.q_proj", 0, { "activation_batch_attn", "activation_length_attn", "activation_embed_attn", "" } },
    NamedValue { "*self_attn.q_a_proj", 0, { "activation_batch_attn", "activation_length_attn", "activation_embed_attn", "" } },
    NamedValue { "*self_attn.attention", 0, { "activation_kv_batch", "activation_q_length", "activation_heads", "activation_kv" } },
    NamedValue { "*self_attn.attention", 1, { "", "activation_kv_length", "activation_kv_heads", "activation_kv_head_dim" } },
    NamedValue { "*mlp.up_proj", 0, { "activation_batch", "activation_length", "", "" } },
    NamedValue { "*mlp.down_proj", 0, { "activation_batch", "activation_length", "activation_mlp", "" } },
    NamedValue { "*dispatch",
                 0,
                 { "activation_batch_moe", "activation_length_moe activation_norm_length_moe", "activation_embed_moe", "" } },
    NamedValue { "*experts.down_proj", 0, { "activation_exp", "", "", "activation_mlp_moe" } },
    NamedValue { "*lm_head", 0, { "", "activation_length", "", "" } },
    NamedValue { "lm_head", kResult, { "", "", "activation_vocab", "" } },
};

class ActivationCollector {
public:
    ActivationCollector(const Mesh& mesh, const std::vector<std::string>& taken)
        : m_mesh(mesh)
        , m_taken(taken)
    {
    }

    void add(const Layout& layout, const NamedValue& value)
    {
        for (std::size_t dim = 0; dim < std::min(layout.dims.size(), value.dims.size()); ++dim) {
            std::string_view names = value.dims[dim];
            while (!names.empty()) {
                const std::size_t end = std::min(names.find(' '), names.size());
                give(std::string(names.substr(0, end)), layout.dims[dim]);
                names.remove_prefix(std::min(end + 1, names.size()));
            }
        }
    }

    void give(const std::string& name, const std::vector<AxisRef>& refs)
    {
        std::vector<std::string> axes;
        for (const AxisRef& ref : refs) {
            if (!ref.whole())
                return;
            if (m_mesh.axis(ref.axis).size > 1)
                axes.push_back(m_mesh.axis(ref.axis).name);
        }
        if (contains(m_taken, name))
            return;
        const auto known = std::ranges::find(m_out.rules, name, &LogicalRule::name);
        if (known == m_out.rules.end())
            m_out.rules.push_back({ name, std::move(axes), {} });
        else if (known->axes != axes && !contains(m_out.disagreeing, name))
            m_out.disagreeing.push_back(name);
    }

    const std::vector<std::string>* axesOf(const std::string& name) const
    {
        const auto known = std::ranges::find(m_out.rules, name, &LogicalRule::name);
        return known == m_out.rules.end() ? nullptr : &known->axes;
    }

    ActivationRules m_out;

private:
    const Mesh& m_mesh;
    const std::vector<std::string>& m_taken;
};

const Layout* layoutIn(const PlannedOp& op, int operand)
{
    if (operand == kResult)
        return &op.result;
    return static_cast<std::size_t>(operand) < op.operands.size() ? &op.operands[static_cast<std::size_t>(operand)].layout
                                                                  : nullptr;
}

/// Where it enters the norm the residual stream is as it is kept; everywhere else what the operation takes counts.
const Layout* arrivingIn(const PlannedOp& op, const NamedValue& value)
{
    if (value.op == "*input_layernorm" && !op.operands.empty())
        return &op.operands.front().before;
    return layoutIn(op, value.operand);
}

} // namespace

ActivationRules activationRules(const Evaluation& evaluation, const Mesh& mesh, const std::vector<std::string>& taken)
{
    ActivationCollector out(mesh, taken);
    const auto tokens = std::ranges::find(evaluation.weights, TensorRole::Input, [](const WeightLayout& w) { return w.spec.role; });
    const bool hasTokens = tokens != evaluation.weights.end() && tokens->layout.dims.size() == 2;
    if (hasTokens)
        for (const char* name : { "activation_embed_and_logits_batch", "segment_ids_batch" })
            out.give(name, tokens->layout.dims[0]);
    for (const PlannedSegment& segment : evaluation.plan.segments) {
        if (segment.phase != Phase::Forward)
            continue;
        for (const PlannedOp& op : segment.ops) {
            const std::string& name = evaluation.graph.ops[static_cast<std::size_t>(op.op.number())].name;
            for (const NamedValue& value : kValues)
                if (globMatch(value.op, name))
                    if (const Layout* layout = arrivingIn(op, value))
                        out.add(*layout, value);
        }
    }
    if (hasTokens) {
        std::vector<std::string> length;
        for (const AxisRef& ref : tokens->layout.dims[1])
            if (mesh.axis(ref.axis).size > 1)
                length.push_back(mesh.axis(ref.axis).name);
        for (const char* name : { "activation_norm_length", "activation_length", "activation_length_attn" })
            if (const auto* axes = out.axesOf(name); axes != nullptr && *axes == length && out.m_out.inputNames.empty())
                out.m_out.inputNames = { "activation_embed_and_logits_batch", name };
    }
    return std::move(out.m_out);
}

} // namespace shardboard
