// SPDX-License-Identifier: Apache-2.0
// A mixture of experts in place of the MLP. Tokens of experts are tensors [experts, batch, sequence, ·] that hold data only
// where the router chose the expert: with the tokens cut over a mesh axis and the experts' weights cut over the same axis,
// the way between the two cuts is the all-to-all of expert parallelism.
#include "model/families/graphbuilder.h"

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

/// Names of the weights, after the layer's prefix. A `*` stands for the number of the expert.
struct ExpertNames {
    std::string block; ///< `mlp.` or `block_sparse_moe.`
    std::string router;
    std::string gate, up, down;
};

ExpertNames namesOf(ExpertStorage storage)
{
    switch (storage) {
    case ExpertStorage::Mixtral:
        return { "block_sparse_moe.", "gate", "experts.*.w1.weight", "experts.*.w3.weight", "experts.*.w2.weight" };
    case ExpertStorage::Packed:
        return { "mlp.", "router", "experts.gate_up_proj", {}, "experts.down_proj" };
    case ExpertStorage::Joined:
    case ExpertStorage::JoinedT:
        return { "mlp.", "gate", "experts.gate_up_proj", {}, "experts.down_proj" };
    case ExpertStorage::Stacked:
    case ExpertStorage::Flat:
        return { "mlp.", "gate", "experts.gate_proj.weight", "experts.up_proj.weight", "experts.down_proj.weight" };
    case ExpertStorage::Separate:
        break;
    }
    return { "mlp.", "gate", "experts.*.gate_proj.weight", "experts.*.up_proj.weight", "experts.*.down_proj.weight" };
}

class ExpertsBuilder {
public:
    explicit ExpertsBuilder(GraphBuilder& builder)
        : m_builder(builder)
        , m_model(builder.model())
        , m_moe(m_model.moe)
        , m_names(namesOf(m_moe.storage))
    {
    }

    TensorId build(TensorId x, TensorId routed)
    {
        const TensorId gates = router(routed != kNoTensor ? routed : x);
        const TensorId read = m_moe.latentSize > 0 ? m_builder.linear(m_names.block + "fc1_latent_proj", x, hidden(),
                                                                      m_builder.hiddenSide(), m_model.mlpBias, "latent of experts")
                                                   : x;
        TensorId y = m_builder.op(m_names.block + "dispatch", OpKind::Dispatch, { read, gates },
                                  { "dispatched", { "experts", "batch", "sequence", hidden().label } });
        m_builder.entry(y).density =
            std::min(1.0, m_builder.capacity() * static_cast<double>(m_moe.chosen) / static_cast<double>(m_moe.experts));
        y = m_moe.together() ? packed(y) : separate(y);
        TensorId combined = m_builder.op(m_names.block + "combine", OpKind::Combine, { y, gates },
                                         { "routed out", { "batch", "sequence", hidden().label } });
        m_builder.entry(combined).density = 1;
        if (m_moe.latentSize > 0)
            combined = m_builder.linear(m_names.block + "fc2_latent_proj", combined, m_builder.hiddenSide(), hidden(),
                                        m_model.mlpBias, "routed out of latent");
        if (m_moe.sharedExperts == 0)
            return combined;
        TensorId shared = mlpWith(m_builder, x, m_names.block + "shared_experts.", "shared", m_moe.sharedSize());
        if (m_moe.sharedGate)
            shared = gatedBySigmoid(x, shared);
        return m_builder.op(m_names.block + "add_shared", OpKind::Add, { combined, shared }, { "mlp out" });
    }

private:
    /// Times the sigmoid of one more product of x: as if it were one expert, always chosen, that has done its work.
    TensorId gatedBySigmoid(TensorId x, TensorId shared)
    {
        const std::string name = m_names.block + "shared_expert_gate";
        const TensorId logits =
            m_builder.linear(name, x, { 1, "one", "" }, { m_model.hiddenSize, "hidden", "embed_moe" }, false, "shared gate logit");
        OpAttributes attributes;
        attributes.chosen = attributes.groups = attributes.chosenGroups = 1;
        attributes.sigmoid = true;
        attributes.scale = 1;
        const TensorId gate = m_builder.op(name + ".sigmoid", OpKind::TopKGates, { logits }, { "shared gate" }, attributes);
        const TensorId one = m_builder.op(name + ".expert", OpKind::Dispatch, { shared, gate },
                                          { "shared as one expert", { "one", "batch", "sequence", "hidden" } });
        return m_builder.op(name + ".mul", OpKind::Combine, { one, gate }, { "shared gated", { "batch", "sequence", "hidden" } });
    }

    TensorId router(TensorId x)
    {
        const std::string name = m_names.block + m_names.router;
        const std::string in = m_moe.routerBias ? "embed" : "embed_moe";
        const TensorId logits = m_builder.linear(name, x, { m_moe.experts, "experts", "" }, { m_model.hiddenSize, "hidden", in },
                                                 m_moe.routerBias, "router logits");
        OpAttributes attributes;
        attributes.chosen = m_moe.chosen;
        attributes.groups = m_moe.groups;
        attributes.chosenGroups = m_moe.chosenGroups;
        attributes.sigmoid = m_moe.score == RouterScore::Sigmoid;
        attributes.normalized = m_moe.normalizedGates;
        attributes.scale = m_moe.gateScale;
        const std::string op = m_names.block + "top_k";
        if (!m_moe.correctionBias) {
            const TensorId gates = m_builder.op(op, OpKind::TopKGates, { logits }, { "gates" }, attributes);
            return m_moe.besideMlp ? scaledByExpert(gates) : gates;
        }
        const TensorId bias = m_builder.weight(m_names.block + "gate.e_score_correction_bias", { m_moe.experts }, { "experts" },
                                               { 0.0, 0.1 }, { "" });
        return m_builder.op(op, OpKind::BiasedTopKGates, { logits, bias }, { "gates" }, attributes);
    }

    /// A factor for each expert (Gemma 4).
    TensorId scaledByExpert(TensorId gates)
    {
        OpAttributes split;
        split.heads = m_moe.experts;
        const TensorId apart = m_builder.op(m_names.block + "gates_apart", OpKind::SplitHeads, { gates },
                                            { "gates of experts", { "experts", "one" } }, split);
        const TensorId factors =
            m_builder.weight(m_names.block + "gate.per_expert_scale", { m_moe.experts }, { "experts" }, { 1.0, 0.1 }, { "" });
        const TensorId scaled =
            m_builder.op(m_names.block + "gates_scale", OpKind::HeadScale, { apart, factors }, { "gates scaled" });
        return m_builder.op(m_names.block + "gates_joined", OpKind::MergeHeads, { scaled }, { "gates of tokens", { "experts" } },
                            split);
    }

    using Side = GraphBuilder::Side;
    /// What experts read and give.
    Side hidden() const
    {
        return m_moe.latentSize > 0 ? Side { m_moe.latentSize, "latent", "" } : Side { m_model.hiddenSize, "hidden", "embed_moe" };
    }
    Side inner() const { return { m_moe.intermediateSize, "intermediate", "mlp_moe" }; }

    /// An operation whose result is [experts, batch, sequence, last].
    TensorId expert(const std::string& name, OpKind kind, std::vector<TensorId> operands, const std::string& result,
                    const Side& last, const OpAttributes& attributes = {})
    {
        return m_builder.op(m_names.block + "experts." + name, kind, std::move(operands), { result, { last.label } }, attributes);
    }

    TensorId matmul(const std::string& name, const std::string& weightName, TensorId x, const Side& out, const Side& in,
                    const std::string& result, const ProjectionPart& part = {})
    {
        const bool transposed = m_moe.storage == ExpertStorage::Packed || m_moe.storage == ExpertStorage::JoinedT
            || (m_moe.storage == ExpertStorage::Flat && name == "down_proj");
        Shape shape { m_moe.experts, out.size, in.size };
        GraphBuilder::Labels labels { "experts", "out (" + out.label + ")", "in (" + in.label + ")" };
        GraphBuilder::Labels logical { "exp", out.logical, in.logical };
        if (transposed) {
            std::swap(shape[1], shape[2]);
            std::swap(labels[1], labels[2]);
            std::swap(logical[1], logical[2]);
        }
        const TensorId w =
            m_builder.asPart(m_builder.weight(m_names.block + weightName, std::move(shape), std::move(labels),
                                              { 0.0, 1.0 / std::sqrt(static_cast<double>(in.size)) }, std::move(logical)),
                             transposed ? 2 : 1, part);
        if (m_moe.apart())
            m_builder.entry(w).pieces = m_moe.experts;
        return expert(name + (part.name.empty() ? "" : "." + part.name), transposed ? OpKind::ExpertLinearT : OpKind::ExpertLinear,
                      { x, w }, result, out);
    }

    TensorId half(const std::string& name, TensorId gateUp, std::int64_t first)
    {
        return m_builder.slice(m_names.block + "experts." + name, gateUp, first, m_moe.intermediateSize, inner().label,
                               "expert " + name);
    }

    TensorId biased(const std::string& name, TensorId x, const Side& out, const std::string& result,
                    const ProjectionPart& part = {})
    {
        if (!m_moe.expertBias)
            return x;
        const TensorId bias =
            m_builder.asPart(m_builder.weight(m_names.block + "experts." + name + (m_moe.together() ? "_bias" : ".bias"),
                                              { m_moe.experts, out.size }, { "experts", "out (" + out.label + ")" }, { 0.0, 0.1 },
                                              { "exp", out.label == "hidden" ? "activation_embed" : "activation_mlp" }),
                             1, part);
        return expert(name + (part.name.empty() ? "" : "." + part.name) + ".bias", OpKind::ExpertBias, { x, bias }, result, out);
    }

    TensorId separate(TensorId x)
    {
        const std::string plain = m_moe.expertBias ? " before bias" : "";
        const auto project = [&](const std::string& name, const std::string& weight, TensorId from, const Side& out, const Side& in,
                                 const std::string& result) {
            return biased(name, matmul(name, weight, from, out, in, result + plain), out, result);
        };
        const TensorId gate =
            m_model.block.gatedMlp ? project("gate_proj", m_names.gate, x, inner(), hidden(), "expert gate") : kNoTensor;
        const TensorId up = project("up_proj", m_names.up, x, inner(), hidden(), "expert up");
        const TensorId inside = m_builder.activation(m_names.block + "experts.", "expert", gate, up);
        return project("down_proj", m_names.down, inside, hidden(), inner(), "expert out");
    }

    /// Gate and up are one weight, in which they take turns or stand one behind the other.
    TensorId packed(TensorId x)
    {
        const bool inTurn = m_moe.storage == ExpertStorage::Packed;
        const Side both { 2 * m_moe.intermediateSize, inTurn ? "gate and up in turn" : "gate, then up", "mlp_moe" };
        const std::string plain = m_moe.expertBias ? " before bias" : "";
        if (!inTurn && m_model.block.partsApart) {
            const auto part = [&](const char* name, std::int64_t first) {
                const std::string result = std::string("expert ") + name;
                return biased("gate_up_proj",
                              matmul("gate_up_proj", m_names.gate, x, inner(), hidden(), result + plain, { name, first }), inner(),
                              result, { name, first });
            };
            const TensorId gate = part("gate", 0);
            return downFrom(m_builder.activation(m_names.block + "experts.", "expert", gate, part("up", inner().size)));
        }
        TensorId gateUp = matmul("gate_up_proj", m_names.gate, x, both, hidden(), "expert gate and up" + plain);
        gateUp = biased("gate_up_proj", gateUp, both, "expert gate and up");
        OpAttributes second;
        second.first = 1;
        const TensorId gate =
            inTurn ? expert("gate", OpKind::EveryOther, { gateUp }, "expert gate", inner()) : half("gate", gateUp, 0);
        const TensorId up = inTurn ? expert("up", OpKind::EveryOther, { gateUp }, "expert up", inner(), second)
                                   : half("up", gateUp, m_moe.intermediateSize);
        return downFrom(m_builder.activation(m_names.block + "experts.", "expert", gate, up));
    }

    TensorId downFrom(TensorId inside)
    {
        const std::string result = m_moe.expertBias ? "expert out before bias" : "expert out";
        const TensorId out = matmul("down_proj", m_names.down, inside, hidden(), inner(), result);
        return biased("down_proj", out, hidden(), "expert out");
    }

    GraphBuilder& m_builder;
    const ModelSpec& m_model;
    const MoeSpec& m_moe;
    ExpertNames m_names;
};

} // namespace

TensorId expertsPart(GraphBuilder& builder, TensorId x, TensorId routed) { return ExpertsBuilder(builder).build(x, routed); }

} // namespace shardboard
