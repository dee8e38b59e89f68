// SPDX-License-Identifier: Apache-2.0
// Adds tensors and operations to a graph in program order; shapes of results come from the rules of the operations. The parts of
// a decoder (attention, MLP, experts) are functions over it, in files of their own.
#pragma once

#include "model/families/modelspec.h"
#include "model/ops/opdefinition.h"
#include "model/ops/workload.h"

#include <map>
#include <string>
#include <vector>

namespace shardboard {

/// A part of a weight that the checkpoint has as one: its own name behind that of the whole, and the elements before it.
struct ProjectionPart {
    std::string name {};
    std::int64_t first = 0;
};

class GraphBuilder {
public:
    using Labels = std::vector<std::string>;

    GraphBuilder(const ModelSpec& model, const Workload& workload);

    const ModelSpec& model() const { return *m_model; }
    /// What follows is of this model, which stays where it is: layers whose attention has other sizes.
    void use(const ModelSpec& model) { m_model = &model; }
    std::int64_t batch() const { return m_batch; }
    std::int64_t newTokens() const { return m_newTokens; }
    std::int64_t cachedTokens() const { return m_cachedTokens; }
    bool decode() const { return m_decode; }
    bool trains() const { return m_trains; }
    DType cacheType() const { return m_cacheType; }
    double capacity() const { return m_capacity; } ///< of experts, by what an even choice gives them
    bool unfusedAttention() const { return m_unfusedAttention; }
    bool scoresAgain() const { return m_scoresAgain; }
    std::int64_t position() const { return m_decode ? m_cachedTokens - 1 : 0; } ///< of the first new token

    /// A new segment, to which everything goes from then on. `weightPrefix` comes before the names of its weights.
    void begin(const std::string& name, const std::string& weightPrefix, TensorId carryIn);
    /// Within the segment, what follows has names of its own: `opPrefix` before those of operations.
    /// `block`: of the weights that are added (GraphTensor::block).
    void nest(const std::string& opPrefix, const std::string& weightPrefix, int block = 0);
    Segment& segment() { return m_graph.segments.back(); }
    /// The graph, or what was wrong with the first operation that cannot be: its result was taken to look like its first operand.
    Result<Graph> finish() &&;
    const TensorSpec& tensor(TensorId id) const { return m_graph.tensor(id); }

    TensorId add(const std::string& name, TensorRole role, Shape shape, Labels labels, DType dtype, Fill fill = {});
    /// An input that all layers share, of [B,S,…]; made when it is first asked for.
    TensorId input(const std::string& name, Shape shape, Labels labels, Fill fill);
    /// `logical` are the names that MaxText's rules have for these dims. The name is completed by the segment's prefix.
    TensorId weight(const std::string& name, Shape shape, Labels labels, Fill fill, Labels logical);
    TensorId weightAt(const std::string& wholeName, Shape shape, Labels labels, Fill fill, Labels logical);
    /// What an operation makes. Labels of the last dims; those of the others, and the density, are the first operand's.
    struct Made {
        std::string name;
        Labels labels {};
        std::vector<OpenSize> sizes {}; ///< that neither operands nor attributes tell
    };
    TensorId op(const std::string& name, OpKind kind, std::vector<TensorId> operands, Made result,
                const OpAttributes& attributes = {});
    /// Elements [first, first + size) of the last dim.
    TensorId slice(const std::string& name, TensorId x, std::int64_t first, std::int64_t size, const std::string& label,
                   const std::string& result);

    /// Times a factor; as it is where that is 1.
    TensorId scaled(const std::string& name, TensorId x, double factor, const std::string& result);

    /// Dim `dim` of a tensor is made of units of so many elements, which belong together (heads).
    void inUnits(TensorId id, std::size_t dim, std::int64_t elements);
    GraphTensor& entry(TensorId id) { return m_graph.entry(id); }

    /// One side of a linear layer: its size, what it means, its logical name, and the elements of its units if it has any.
    struct Side {
        std::int64_t size;
        std::string label;
        std::string logical;
        std::int64_t unit = 0;
    };
    Side hiddenSide() const { return { m_model->hiddenSize, "hidden", "embed" }; }
    /// y = x Wt (+ bias); `name` is both the operation and, with the segment's prefix, the weight.
    TensorId linear(const std::string& name, TensorId x, const Side& out, const Side& in, bool bias, const std::string& result,
                    const ProjectionPart& part = {});
    /// The weight, named as a whole, is that part of it along `dim`: `qkv_proj.weight` becomes `qkv_proj.q.weight`. Without a
    /// name of the part nothing happens.
    TensorId asPart(TensorId weight, std::size_t dim, const ProjectionPart& part);

    /// The norm that the model has over the hidden dim; `name` is both the operation and the weight.
    TensorId norm(const std::string& name, TensorId x, const std::string& result);
    /// A layer norm with a bias over the last dim, which means `label`.
    TensorId layerNorm(const std::string& name, TensorId x, const std::string& label, const std::string& result);
    /// An RMS norm (where the model has layer norms, one without a bias) over the last dim, which means `label`.
    TensorId rmsNorm(const std::string& name, TensorId x, const std::string& label, const std::string& result);

    /// act(gate) * up, or act(up) alone where there is no gate; the names begin with `prefix`, those of results with `what`.
    TensorId activation(const std::string& prefix, const std::string& what, TensorId gate, TensorId up);

private:
    /// What the checkpoint calls a part, its weight or its bias (ModelSpec::names).
    std::string ownName(const std::string& name) const;

    const ModelSpec* m_model;
    DType m_dtype;
    DType m_activationType;
    DType m_cacheType;
    bool m_trains;
    std::int64_t m_batch;
    std::int64_t m_newTokens;
    std::int64_t m_cachedTokens;
    double m_capacity;
    bool m_decode;
    bool m_unfusedAttention;
    bool m_scoresAgain;
    std::string m_prefix;
    std::string m_opPrefix;
    int m_block = 0;
    std::map<std::string, TensorId> m_inputs;
    Status m_status = done();
    Graph m_graph;
};

// The parts of a block, from the normed residual stream to what is added to it.
TensorId attentionPart(GraphBuilder& builder, TensorId x);
TensorId latentAttentionPart(GraphBuilder& builder, TensorId x);
/// Attention to what another part of the model gives, `others`, of as many tokens.
TensorId crossAttentionPart(GraphBuilder& builder, TensorId x, TensorId others);
/// The vector that a layer looks up for each of `tokens`, through its gate; what it is added to, and what came into the layer.
TensorId layerInputPart(GraphBuilder& builder, TensorId tokens, TensorId y, TensorId x);
TensorId recurrentPart(GraphBuilder& builder, TensorId x);
TensorId mlpPart(GraphBuilder& builder, TensorId x);
/// The router may read something else.
TensorId expertsPart(GraphBuilder& builder, TensorId x, TensorId routed = kNoTensor);

/// A gated or plain MLP; `prefix` is before the names of its weights (`mlp.`), `what` before those of its tensors.
TensorId mlpWith(GraphBuilder& builder, TensorId x, const std::string& prefix, const std::string& what, std::int64_t width);

/// Rotated over [first, first + count) of each head (count 0: all), and for decoding appended to the cache.
TensorId rotated(GraphBuilder& builder, const std::string& letter, TensorId x, std::int64_t first = 0, std::int64_t count = 0);
TensorId cached(GraphBuilder& builder, const std::string& letter, TensorId x);
/// [B,S,count*d] -> [B,S,count,d].
TensorId splitHeads(GraphBuilder& builder, const std::string& letter, TensorId x, std::int64_t count, const std::string& label);
/// Attention (where some keys are chosen, to those), and the heads of its result merged into one dim.
TensorId attended(GraphBuilder& builder, TensorId q, TensorId k, TensorId v, TensorId chosen = kNoTensor);
TensorId mergedHeads(GraphBuilder& builder, TensorId values);

} // namespace shardboard
