// SPDX-License-Identifier: Apache-2.0
// Linear attention with a gated delta rule (Qwen3-Next, Qwen3.5) and state spaces of Mamba-2: projections, a short convolution over
// queries, keys and values, the scan, and a gated norm; the state spaces of the first Mamba, and layers of a short convolution
// between gates (LFM2), which have no scan. A prompt scans from a state of zeros, and what stays is the state after it; decoding
// has the state and the tokens that the convolution looks back on, and goes one step further.
#include "model/families/graphbuilder.h"

#include <cmath>
#include <functional>

namespace shardboard {

namespace {

/// Values behind the projections, but for the short convolution [B,S,·].
struct Parts {
    TensorId q, k, v; ///< before the convolution
    TensorId gate; ///< [B,S,heads,p] or, of a state space, [B,S,heads p]
    TensorId rate; ///< before its function, [B,S,heads]
    TensorId step; ///< what decays come from, before the bias, [B,S,heads]
};

class RecurrentBuilder {
public:
    explicit RecurrentBuilder(GraphBuilder& builder)
        : m_builder(builder)
        , m_model(builder.model())
        , m_spec(m_model.recurrent)
        , m_delta(m_spec.kind == RecurrentKind::DeltaRule)
        , m_name(m_delta                                         ? "linear_attn."
                     : m_spec.kind == RecurrentKind::Lightning   ? "self_attn."
                     : m_spec.kind == RecurrentKind::Convolution ? "conv."
                                                                 : "mamba.")
    {
    }

    TensorId build(TensorId x)
    {
        if (m_spec.kind == RecurrentKind::Selective)
            return selective(x);
        if (m_spec.kind == RecurrentKind::Convolution)
            return convolution(x);
        if (m_spec.kind == RecurrentKind::Lightning)
            return lightning(x);
        const Parts parts = !m_delta ? ofStateSpace(x) : m_spec.grouped ? grouped(x) : m_spec.keyDecay ? eachApart(x) : apart(x);
        TensorId q = heads("q", convolved("q", parts.q, 0, m_spec.keyDim), m_spec.keyHeads, "key heads");
        TensorId k = heads("k", convolved("k", parts.k, m_spec.keySize(), m_spec.keyDim), m_spec.keyHeads, "key heads");
        TensorId v = parts.v;
        if (m_delta) {
            v = convolved("v", v, 2 * m_spec.keySize(), m_spec.valueDim);
            q = unit("q", q);
            k = m_builder.scaled(m_name + "k_scale", unit("k", k), 1 / std::sqrt(static_cast<double>(m_spec.keyDim)),
                                 "k of length 1");
        }
        v = heads("v", v, m_spec.heads, "heads");
        const TensorId step = smoothStep(parts.step, m_spec.keyDecay ? m_spec.keySize() : m_spec.heads);
        const TensorId rate = m_delta ? m_builder.op(m_name + "rate", OpKind::Sigmoid, { parts.rate }, { "write strength" }) : step;
        TensorId y = scan(q, k, v, decay(step), rate);
        if (!m_delta) {
            const TensorId skip = m_builder.weight(m_name + "D", { m_spec.heads }, { "heads" }, { 1.0, 0.1 }, { "" });
            const TensorId passed = m_builder.op(m_name + "skip", OpKind::HeadScale, { v, skip }, { "x passed on" });
            y = m_builder.op(m_name + "add_skip", OpKind::Add, { y, passed }, { "values with x" });
        }
        return projected(m_delta ? gatedByHead(y, parts.gate) : gatedWhole(merged("y", y), parts.gate));
    }

private:
    using Side = GraphBuilder::Side;

    TensorId projected(TensorId out)
    {
        return m_builder.linear(m_name + "out_proj", out, m_builder.hiddenSide(),
                                { m_spec.innerSize(), "heads x value dim", "heads", m_spec.valueDim }, m_spec.bias,
                                "attention out");
    }

    /// The first Mamba (arXiv 2312.00752): one weight for values and gates, and from the values steps, keys (B) and queries (C).
    TensorId selective(TensorId x)
    {
        const std::int64_t inner = m_spec.innerSize(), n = m_spec.keyDim, rank = m_spec.stepRank;
        const Ranges both = ranges("in_proj", x, { 2 * inner, "values, gates", "kv_heads" }, "xz");
        const TensorId v = convolved("x", both("x", 0, { inner, "channels", "kv_heads" }), 0, 1);
        const TensorId all = m_builder.linear(m_name + "x_proj", v, { rank + 2 * n, "steps, keys, queries", "" },
                                              { inner, "channels", "heads" }, false, "dt, B, C");
        const auto part = [&](const std::string& name, std::int64_t first, std::int64_t size, const std::string& norm) {
            const TensorId id = slice(name, all, first, size, name == "dt" ? "step rank" : "state");
            return m_spec.partNorms ? m_builder.rmsNorm(m_name + norm, id, "", name + " normed") : id;
        };
        const TensorId steps = part("dt", 0, rank, "dt_layernorm");
        const TensorId k = heads("B", part("B", rank, n, "b_layernorm"), 1, "key heads");
        const TensorId q = heads("C", part("C", rank + n, n, "c_layernorm"), 1, "key heads");
        const TensorId wide = m_builder.linear(m_name + "dt_proj", steps, { inner, "channels", "heads" }, { rank, "step rank", "" },
                                               true, "step before softplus");
        const TensorId dt = m_builder.op(m_name + "dt", OpKind::Softplus, { wide }, { "step" });
        const TensorId log = m_builder.weight(m_name + "A_log", { inner, n }, { "channels", "state" }, { 0.0, 0.5 }, { "", "" });
        const TensorId a = m_builder.op(m_name + "A", OpKind::NegativeExp, { log }, { "A", { "channels", "state" } });
        const TensorId decays = m_builder.op(m_name + "decay", OpKind::HeadOuter, { dt, a }, { "decay", { "channels", "state" } });
        const TensorId channels = heads("v", v, inner, "channels");
        TensorId y = scan(q, k, channels, decays, dt);
        const TensorId skip = m_builder.weight(m_name + "D", { inner }, { "channels" }, { 1.0, 0.1 }, { "" });
        const TensorId passed = m_builder.op(m_name + "skip", OpKind::HeadScale, { channels, skip }, { "x passed on" });
        y = m_builder.op(m_name + "add_skip", OpKind::Add, { y, passed }, { "values with x" });
        return projected(times(merged("y", y), active(both("z", inner, { inner, "channels", "kv_heads" }))));
    }

    /// One weight for queries, keys, and values, head by head; the state decays by a constant of each head, which is no weight.
    TensorId lightning(TensorId x)
    {
        const std::int64_t heads = m_spec.heads, n = m_spec.keyDim, p = m_spec.valueDim, width = 2 * n + p;
        const TensorId all = m_builder.linear(m_name + "qkv_proj", x, { heads * width, "heads x their parts", "kv_heads", width },
                                              m_builder.hiddenSide(), m_spec.bias, "qkv");
        const TensorId active = m_builder.op(m_name + "qkv_act", OpKind::Silu, { all }, { "qkv active" });
        m_builder.inUnits(active, 2, width);
        const TensorId each = this->heads("qkv", active, heads, "heads");
        const std::int64_t batch = m_builder.batch(), tokens = m_builder.newTokens();
        const TensorId decays =
            m_builder.input("decays", { batch, tokens, heads, 1 }, { "batch", "sequence", "heads", "one" }, { -0.1, 0 });
        const TensorId rates = m_builder.input("rates", { batch, tokens, heads }, { "batch", "sequence", "heads" }, { 1, 0 });
        const TensorId y = merged("y",
                                  scan(slice("q", each, 0, n, "head dim"), slice("k", each, n, n, "head dim"),
                                       slice("v", each, 2 * n, p, "head dim"), decays, rates));
        const TensorId gate =
            m_builder.linear(m_name + "output_gate", x, { m_spec.innerSize(), "heads x value dim", "kv_heads", p },
                             m_builder.hiddenSide(), m_spec.bias, "gates raw");
        return projected(times(normed(y), m_builder.op(m_name + "gate_act", OpKind::Sigmoid, { gate }, { "gates open" })));
    }

    /// One weight for two gates and values: the values times the first, convolved, times the second.
    TensorId convolution(TensorId x)
    {
        const std::int64_t inner = m_spec.innerSize();
        const Ranges all = ranges("in_proj", x, { 3 * inner, "gates, gates, values", "kv_heads" }, "BCx");
        const Side part { inner, "channels", "kv_heads" };
        const TensorId gates = all("B", 0, part);
        const TensorId first =
            m_builder.op(m_name + "first_gate", OpKind::Mul, { gates, all("x", 2 * inner, part) }, { "values gated first" });
        return projected(times(all("C", inner, part), convolved("x", first, 0, 1)));
    }

    /// Queries, keys, values, decays, gates and rates each with a weight of their own.
    Parts eachApart(TensorId x)
    {
        const std::int64_t keys = m_spec.keySize(), values = m_spec.innerSize();
        const Side hidden = m_builder.hiddenSide();
        const auto out = [&](const char* name, std::int64_t size, std::int64_t unit, const std::string& result) {
            return m_builder.linear(m_name + name, x, { size, "heads x head dim", "kv_heads", unit }, hidden, m_spec.bias, result);
        };
        const auto through = [&](const std::string& letter, std::int64_t size, std::int64_t unit, const std::string& result) {
            const Side wide { size, "heads x head dim", "kv_heads", unit };
            if (m_spec.gateRank == 0)
                return m_builder.linear(m_name + letter + "_proj", x, wide, hidden, false, result);
            const Side rank { m_spec.gateRank, "gate rank", "" };
            const TensorId low = m_builder.linear(m_name + letter + "_a_proj", x, rank, hidden, false, result + " low");
            return m_builder.linear(m_name + letter + "_b_proj", low, wide, rank, false, result);
        };
        Parts parts {};
        parts.q = out("q_proj", keys, m_spec.keyDim, "q");
        parts.k = out("k_proj", keys, m_spec.keyDim, "k");
        parts.v = out("v_proj", values, m_spec.valueDim, "v");
        parts.step = through("f", keys, m_spec.keyDim, "decays raw");
        parts.gate = heads("z", through("g", values, m_spec.valueDim, "gates raw"), m_spec.heads, "heads");
        parts.rate = m_builder.linear(m_name + "b_proj", x, { m_spec.heads, "heads", "kv_heads" }, hidden, false, "b");
        return parts;
    }

    /// What a projection that is one weight gives, part by part: ranges of one product, or products of their own.
    using Ranges = std::function<TensorId(const std::string& name, std::int64_t first, const Side& part)>;
    Ranges ranges(const std::string& weight, TensorId x, const Side& whole, const std::string& result)
    {
        if (m_model.block.partsApart)
            return [this, weight, x](const std::string& name, std::int64_t first, const Side& part) {
                return m_builder.linear(m_name + weight, x, part, m_builder.hiddenSide(), m_spec.bias, name + " part",
                                        { name, first });
            };
        const TensorId all = m_builder.linear(m_name + weight, x, whole, m_builder.hiddenSide(), m_spec.bias, result);
        return [this, all](const std::string& name, std::int64_t first, const Side& part) {
            return slice(name, all, first, part.size, part.label);
        };
    }

    TensorId slice(const std::string& name, TensorId x, std::int64_t first, std::int64_t size, const std::string& label)
    {
        return m_builder.slice(m_name + name + "_slice", x, first, size, label, name + " part");
    }

    TensorId heads(const std::string& name, TensorId x, std::int64_t count, const std::string& label)
    {
        OpAttributes split;
        split.heads = count;
        return m_builder.op(m_name + name + "_heads", OpKind::SplitHeads, { x }, { name + " of heads", { label, "head dim" } },
                            split);
    }

    TensorId merged(const std::string& name, TensorId x)
    {
        OpAttributes merge;
        merge.heads = m_builder.tensor(x).shape[2];
        const std::int64_t width = m_builder.tensor(x).shape.back();
        const TensorId out =
            m_builder.op(m_name + name + "_merge", OpKind::MergeHeads, { x }, { name + " joined", { "heads x head dim" } }, merge);
        m_builder.inUnits(out, 2, width);
        return out;
    }

    /// One weight: of each key head its query, its key, the values and the gates of its heads; another one: rates and steps.
    Parts grouped(TensorId x)
    {
        const std::int64_t groups = m_spec.keyHeads, n = m_spec.keyDim, own = m_spec.heads / groups, values = own * m_spec.valueDim;
        const std::int64_t width = 2 * (n + values);
        const TensorId all =
            heads("qkvz",
                  m_builder.linear(m_name + "in_proj_qkvz", x, { groups * width, "key heads x their parts", "kv_heads", width },
                                   m_builder.hiddenSide(), m_spec.bias, "qkvz"),
                  groups, "key heads");
        const TensorId rates =
            heads("ba",
                  m_builder.linear(m_name + "in_proj_ba", x, { 2 * m_spec.heads, "key heads x their rates", "kv_heads", 2 * own },
                                   m_builder.hiddenSide(), m_spec.bias, "ba"),
                  groups, "key heads");
        OpAttributes split;
        split.heads = m_spec.heads;
        Parts out {};
        out.q = merged("q", slice("q", all, 0, n, "head dim"));
        out.k = merged("k", slice("k", all, n, n, "head dim"));
        out.v = merged("v", slice("v", all, 2 * n, values, "values of a key head"));
        out.gate = m_builder.op(m_name + "z_heads", OpKind::SplitGroups,
                                { slice("z", all, 2 * n + values, values, "values of a key head") },
                                { "gates", { "heads", "head dim" } }, split);
        out.rate = merged("b", slice("b", rates, 0, own, "heads of a key head"));
        out.step = merged("a", slice("a", rates, own, own, "heads of a key head"));
        return out;
    }

    Parts apart(TensorId x)
    {
        const std::int64_t keys = m_spec.keySize(), values = m_spec.innerSize();
        const Side hidden = m_builder.hiddenSide();
        const Ranges qkv = ranges("in_proj_qkv", x, { m_spec.channels(), "queries, keys, values", "kv_heads" }, "qkv");
        const Side keyPart { keys, "key heads x head dim", "kv_heads", m_spec.keyDim };
        const Side rates { m_spec.heads, "heads", "kv_heads" };
        Parts out {};
        out.gate = heads("z",
                         m_builder.linear(m_name + "in_proj_z", x, { values, "heads x value dim", "kv_heads", m_spec.valueDim },
                                          hidden, m_spec.bias, "z"),
                         m_spec.heads, "heads");
        out.rate = m_builder.linear(m_name + "in_proj_b", x, rates, hidden, m_spec.bias, "b");
        out.step = m_builder.linear(m_name + "in_proj_a", x, rates, hidden, m_spec.bias, "a");
        out.q = qkv("q", 0, keyPart);
        out.k = qkv("k", keys, keyPart);
        out.v = qkv("v", 2 * keys, { values, "heads x value dim", "kv_heads", m_spec.valueDim });
        return out;
    }

    /// One weight: gates, values, keys (B), queries (C), steps, each of all heads. The convolution's channels are values, keys,
    /// queries.
    Parts ofStateSpace(TensorId x)
    {
        const std::int64_t inner = m_spec.innerSize(), keys = m_spec.keySize();
        const Ranges all =
            ranges("in_proj", x, { inner + m_spec.channels() + m_spec.heads, "gates, values, keys, queries, steps", "kv_heads" },
                   "zxbcdt");
        const Side wide { inner, "heads x head dim", "kv_heads", m_spec.valueDim };
        const Side keyPart { keys, "groups x state", "kv_heads", m_spec.keyDim };
        Parts out {};
        out.gate = all("z", 0, wide);
        out.v = convolved("x", all("x", inner, wide), 0, m_spec.valueDim);
        out.k = all("B", 2 * inner, keyPart);
        out.q = all("C", 2 * inner + keys, keyPart);
        out.step = all("dt", 2 * inner + 2 * keys, { m_spec.heads, "heads", "kv_heads" });
        return out;
    }

    /// With rows [first, …) of the taps, which all parts share; of a state space `first` counts from behind the values. `unit`
    /// channels belong together.
    TensorId convolved(const std::string& name, TensorId x, std::int64_t first, std::int64_t unit)
    {
        const std::int64_t channels = m_builder.tensor(x).shape.back();
        if (!m_delta && name != "x") // k before q
            first = m_spec.innerSize() + (name == "q" ? m_spec.keySize() : 0);
        if (m_spec.keyDecay) { // taps for each part
            first = 0;
            m_taps = kNoTensor;
        }
        if (m_taps == kNoTensor) {
            const std::string weight = m_name + (m_spec.keyDecay ? name + "_conv1d" : "conv1d");
            const std::int64_t all = m_spec.keyDecay ? channels : m_spec.channels();
            m_taps = m_builder.weight(weight + ".weight", { all, 1, m_spec.taps }, { "channels", "one", "taps" },
                                      { 0.0, 1 / std::sqrt(static_cast<double>(m_spec.taps)) }, { "", "", "" });
            if (m_spec.convolutionBias)
                m_tapBias = m_builder.weight(weight + ".bias", { all }, { "channels" }, { 0.0, 0.1 }, { "" });
        }
        const TensorId seen = withLast(name, x, channels, unit);
        OpAttributes attributes;
        attributes.first = first;
        TensorId y = m_builder.op(m_name + name + "_conv", OpKind::CausalConv, { seen, m_taps },
                                  { name + " convolved", {}, { { "s", m_builder.newTokens() } } }, attributes);
        if (m_tapBias != kNoTensor) {
            const TensorId bias = m_builder.slice(m_name + name + "_conv_bias_slice", m_tapBias, first, channels, "channels",
                                                  name + " convolution bias");
            y = m_builder.op(m_name + name + "_conv_bias", OpKind::Add, { y, bias }, { name + " convolved, with bias" });
        }
        if (m_spec.kind != RecurrentKind::Convolution)
            y = m_builder.op(m_name + name + "_act", OpKind::Silu, { y }, { name + " active" });
        m_builder.inUnits(y, 2, unit);
        return y;
    }

    /// As many tokens as the convolution has taps stay; decoding has those before beside the new one.
    TensorId withLast(const std::string& name, TensorId x, std::int64_t channels, std::int64_t unit)
    {
        if (!m_builder.decode()) {
            m_builder.entry(x).cached = true;
            m_builder.entry(x).cachedShare =
                std::min(1.0, static_cast<double>(m_spec.taps) / static_cast<double>(m_builder.newTokens()));
            return x;
        }
        const TensorId cache =
            m_builder.op(m_name + name + "_last", OpKind::KvAppend, { heads(name + " new", x, channels / unit, "heads") },
                         { name + " of last tokens", {}, { { "c", m_spec.taps } } });
        m_builder.entry(cache).cached = true;
        return merged(name + " last", cache);
    }

    /// Of length sqrt(n), so that a factor makes it 1.
    TensorId unit(const std::string& name, TensorId x)
    {
        OpAttributes attributes;
        attributes.epsilon = 1e-6 / static_cast<double>(m_spec.keyDim);
        return m_builder.op(m_name + name + "_norm", OpKind::UnitNorm, { x }, { name + " normed" }, attributes);
    }

    TensorId smoothStep(TensorId raw, std::int64_t count)
    {
        const TensorId bias = m_builder.weight(m_name + "dt_bias", { count }, { "heads" }, { 0.0, 0.5 }, { "" });
        const TensorId sum = m_builder.op(m_name + "dt_sum", OpKind::Add, { raw, bias }, { "step before softplus" });
        return m_builder.op(m_name + "dt", OpKind::Softplus, { sum }, { "step" });
    }

    /// -exp(A) of each head times its step: [B,S,heads,1], or a step for each element of a key.
    TensorId decay(TensorId step)
    {
        const TensorId log = m_builder.weight(m_name + "A_log", { m_spec.heads }, { "heads" }, { 0.0, 0.5 }, { "" });
        const TensorId a = m_builder.op(m_name + "A", OpKind::NegativeExp, { log }, { "A", { "heads" } });
        return m_builder.op(m_name + "decay", OpKind::HeadScale, { heads("dt", step, m_spec.heads, "heads"), a }, { "decay" });
    }

    TensorId scan(TensorId q, TensorId k, TensorId v, TensorId decay, TensorId rate)
    {
        OpAttributes attributes;
        attributes.delta = m_delta;
        attributes.count = m_spec.keyDim;
        attributes.scale = m_delta ? 1 / static_cast<double>(m_spec.keyDim) : 1; // queries of length 1, divided by sqrt(n)
        const std::string name = m_name + "scan";
        const Shape& values = m_builder.tensor(v).shape;
        if (!m_builder.decode()) {
            const TensorId y = m_builder.op(name, OpKind::StateScan, { q, k, v, decay, rate },
                                            { "values of heads", { "heads", "head dim" } }, attributes);
            // The state that stays is n elements, f32, for each element of a token's values.
            m_builder.entry(y).cached = true;
            m_builder.entry(y).cachedShare = 32.0 / static_cast<double>(bitsOf(m_builder.tensor(y).dtype))
                * static_cast<double>(m_spec.keyDim) / static_cast<double>(values[1]);
            return y;
        }
        OpAttributes append;
        append.delta = m_delta;
        const TensorId state = m_builder.op(m_name + "state", OpKind::StateAppend, { k, v, decay, rate },
                                            { "state", { "batch", "heads", "key dim", "head dim" } }, append);
        m_builder.entry(state).cached = true;
        m_builder.entry(state).spec.dtype = DType::F32;
        OpAttributes read;
        read.scale = attributes.scale;
        const TensorId y =
            m_builder.op(name, OpKind::StateRead, { q, state }, { "values of heads", { "heads", "head dim" } }, read);
        return y;
    }

    /// A norm of each head, times the active gate.
    TensorId gatedByHead(TensorId y, TensorId gate)
    {
        OpAttributes attributes;
        attributes.epsilon = m_model.norm.epsilon;
        const TensorId gamma =
            m_builder.weight(m_name + "norm.weight", { m_spec.valueDim }, { "head dim" }, { 1.0, 0.1 }, { "norm" });
        const TensorId normed = m_builder.op(m_name + "norm", OpKind::RmsNorm, { y, gamma }, { "values normed" }, attributes);
        const TensorId open =
            m_spec.keyDecay ? m_builder.op(m_name + "gate_act", OpKind::Sigmoid, { gate }, { "gates open" }) : active(gate);
        return merged("y", times(normed, open));
    }

    TensorId gatedWhole(TensorId y, TensorId gate)
    {
        if (m_spec.normGroups == 0)
            return times(y, active(gate));
        return m_spec.normFirst ? times(normed(y), active(gate)) : normed(times(y, active(gate)));
    }

    TensorId active(TensorId gate) { return m_builder.op(m_name + "gate_act", OpKind::Silu, { gate }, { "gate active" }); }
    TensorId times(TensorId a, TensorId b) { return m_builder.op(m_name + "gate_mul", OpKind::Mul, { a, b }, { "values gated" }); }

    /// Over all heads together, or in groups with one weight for all.
    TensorId normed(TensorId y)
    {
        OpAttributes attributes;
        attributes.epsilon = m_model.norm.epsilon;
        const std::int64_t inner = m_spec.innerSize();
        const TensorId gamma =
            m_builder.weight(m_name + "norm.weight", { inner }, { "heads x head dim" }, { 1.0, 0.1 }, { "norm" });
        if (m_spec.normGroups == 1)
            return m_builder.op(m_name + "norm", OpKind::RmsNorm, { y, gamma }, { "values normed" }, attributes);
        const TensorId groups = heads("norm groups", y, m_spec.normGroups, "norm groups");
        const TensorId units = m_builder.op(m_name + "norm", OpKind::UnitNorm, { groups }, { "groups normed" }, attributes);
        const TensorId each = heads("norm each", merged("norm groups", units), inner, "heads x head dim");
        return merged("norm each", m_builder.op(m_name + "norm_weight", OpKind::HeadScale, { each, gamma }, { "values normed" }));
    }

    GraphBuilder& m_builder;
    const ModelSpec& m_model;
    const RecurrentSpec& m_spec;
    bool m_delta;
    std::string m_name;
    TensorId m_taps = kNoTensor;
    TensorId m_tapBias = kNoTensor;
};

} // namespace

TensorId recurrentPart(GraphBuilder& builder, TensorId x) { return RecurrentBuilder(builder).build(x); }

} // namespace shardboard
