// SPDX-License-Identifier: Apache-2.0
// The operations of mixtures of experts, latent attention and other blocks than Llama's, against plain loops in double.
#include "engine/machine/failure.h"
#include "engine/machine/gemm.h"
#include "tests/engine/onedevice.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace shardboard;
using namespace shardboard::engine;
using namespace shardboard::engine::numeric;
using namespace shardboard::engine::test;

namespace {

/// Attention of every query in double; values have a width of their own, of which the first `width` elements count.
Doubles plainAttention(const Doubles& q, const Doubles& k, const Doubles& v, const Shape& qs, const Shape& ks, std::int64_t vWidth,
                       std::int64_t width, double scale, double cap, const Doubles& sinks)
{
    const std::int64_t fresh = qs[1], heads = qs[2], d = qs[3], cached = ks[1], kvHeads = ks[2];
    Doubles out(at(qs[0] * fresh * heads * width));
    for (std::int64_t row = 0; row < qs[0] * fresh * heads; ++row) {
        const std::int64_t h = row % heads, s = row / heads % fresh, b = row / heads / fresh;
        Doubles weights;
        double sum = sinks.empty() ? 0 : std::exp(sinks[at(h)]);
        const auto key = [&](std::int64_t t) { return (b * cached + t) * kvHeads + h / (heads / kvHeads); };
        for (std::int64_t t = 0; t <= cached - fresh + s; ++t) {
            double score = 0;
            for (std::int64_t i = 0; i < d; ++i)
                score += q[at(row * d + i)] * k[at(key(t) * d + i)];
            score *= scale;
            if (cap > 0)
                score = cap * std::tanh(score / cap);
            weights.push_back(std::exp(score));
            sum += weights.back();
        }
        for (std::size_t t = 0; t < weights.size(); ++t)
            for (std::int64_t i = 0; i < width; ++i)
                out[at(row * width + i)] += weights[t] / sum * v[at(key(static_cast<std::int64_t>(t)) * vWidth + i)];
    }
    return out;
}

/// The gates of one row, by sorting.
Doubles plainGates(Doubles logits, const Doubles& bias, const OpAttributes& a)
{
    const std::size_t experts = logits.size();
    Doubles scores(experts);
    double sum = 0;
    for (std::size_t e = 0; e < experts; ++e)
        sum += std::exp(logits[e]);
    for (std::size_t e = 0; e < experts; ++e)
        scores[e] = a.sigmoid ? 1 / (1 + std::exp(-logits[e])) : std::exp(logits[e]) / sum;
    Doubles choice = scores;
    for (std::size_t e = 0; e < bias.size(); ++e)
        choice[e] += bias[e];
    const std::size_t size = experts / at(a.groups);
    std::vector<std::pair<double, std::size_t>> groups;
    for (std::size_t g = 0; g < at(a.groups); ++g) {
        Doubles members(choice.begin() + static_cast<std::ptrdiff_t>(g * size),
                        choice.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
        std::sort(members.rbegin(), members.rend());
        groups.emplace_back(a.sigmoid && size > 1 ? members[0] + members[1] : members[0], g);
    }
    std::sort(groups.rbegin(), groups.rend());
    std::vector<std::pair<double, std::size_t>> allowed;
    for (std::size_t i = 0; i < at(a.chosenGroups); ++i)
        for (std::size_t e = groups[i].second * size; e < (groups[i].second + 1) * size; ++e)
            allowed.emplace_back(choice[e], e);
    std::sort(allowed.rbegin(), allowed.rend());
    Doubles gates(experts);
    double total = 0;
    for (std::size_t i = 0; i < at(a.chosen); ++i)
        total += scores[allowed[i].second];
    for (std::size_t i = 0; i < at(a.chosen); ++i)
        gates[allowed[i].second] = scores[allowed[i].second] * a.scale / (a.normalized ? total : 1);
    return gates;
}

} // namespace

class TestParts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { prepareGemmThread(); }

    void norms()
    {
        OneDevice device;
        const Sharded x = device.made({ 2, 5, 11 }, "x", 0.7), w = device.made({ 11 }, "w"), b = device.made({ 11 }, "b");
        const Doubles in = OneDevice::values(x), weight = OneDevice::values(w), bias = OneDevice::values(b);
        Doubles layer(in.size()), rms(in.size());
        for (std::size_t row = 0; row < 10; ++row) {
            double mean = 0, square = 0, variance = 0;
            for (std::size_t i = 0; i < 11; ++i) {
                mean += in[row * 11 + i] / 11;
                square += in[row * 11 + i] * in[row * 11 + i] / 11;
            }
            for (std::size_t i = 0; i < 11; ++i)
                variance += std::pow(in[row * 11 + i] - mean, 2) / 11;
            for (std::size_t i = 0; i < 11; ++i) {
                layer[row * 11 + i] = (in[row * 11 + i] - mean) / std::sqrt(variance + 0.01) * weight[i] + bias[i];
                rms[row * 11 + i] = in[row * 11 + i] / std::sqrt(square + 0.01) * (weight[i] + 1);
            }
        }
        OpAttributes attributes;
        attributes.epsilon = 0.01;
        VERIFY_NEAR(device.run(OpKind::LayerNorm, { &x, &w, &b }, x.shape(), attributes), layer, 1e-6);
        attributes.offset = 1;
        VERIFY_NEAR(device.run(OpKind::RmsNorm, { &x, &w }, x.shape(), attributes), rms, 1e-6);
    }

    void elements()
    {
        OneDevice device;
        const Sharded x = device.made({ 3, 4, 9 }, "x", 0.2, 2), u = device.made({ 3, 4, 9 }, "u", -0.1, 2);
        const Doubles in = OneDevice::values(x), up = OneDevice::values(u);
        Doubles scaled, capped, gelu, glu;
        for (std::size_t i = 0; i < in.size(); ++i) {
            scaled.push_back(in[i] * 3.5);
            capped.push_back(1.25 * std::tanh(in[i] / 1.25));
            gelu.push_back(0.5 * in[i] * (1 + std::tanh(std::sqrt(2 / M_PI) * (in[i] + 0.044715 * std::pow(in[i], 3)))));
            const double g = std::min(in[i], 1.0);
            glu.push_back(g / (1 + std::exp(-1.702 * g)) * (std::clamp(up[i], -1.0, 1.0) + 1));
        }
        OpAttributes attributes;
        attributes.scale = 3.5;
        VERIFY_NEAR(device.run(OpKind::Scale, { &x }, x.shape(), attributes), scaled, 1e-6);
        attributes.cap = 1.25;
        VERIFY_NEAR(device.run(OpKind::SoftCap, { &x }, x.shape(), attributes), capped, 1e-6);
        VERIFY_NEAR(device.run(OpKind::GeluTanh, { &x }, x.shape()), gelu, 1e-6);
        attributes.cap = 1;
        VERIFY_NEAR(device.run(OpKind::ClampedSwiglu, { &x, &u }, x.shape(), attributes), glu, 1e-6);
    }

    void softCapKeepsSmallAndLargeValues()
    {
        OneDevice device;
        const Floats in { 1e-6f, -1e-4f, 0.05f, 0.31f, -0.33f, 5.0f, -40.0f, 300.0f, 0.0f };
        const Sharded x = device.of({ 1, 1, 9 }, in);
        OpAttributes attributes;
        attributes.cap = 3;
        const Floats got = device.run(OpKind::SoftCap, { &x }, { 1, 1, 9 }, attributes);
        for (std::size_t i = 0; i < in.size(); ++i) {
            const double expected = 3 * std::tanh(double { in[i] } / 3);
            QVERIFY2(std::fabs(double { got[i] } - expected) <= 1e-6 * std::fabs(expected), std::to_string(in[i]).c_str());
        }
    }

    void slices()
    {
        OneDevice device;
        const Sharded x = device.made({ 2, 3, 4, 10 }, "x");
        const Doubles in = OneDevice::values(x);
        Doubles part, odd;
        for (std::size_t row = 0; row < 24; ++row) {
            for (std::size_t i = 3; i < 7; ++i)
                part.push_back(in[row * 10 + i]);
            for (std::size_t i = 0; i < 5; ++i)
                odd.push_back(in[row * 10 + 2 * i + 1]);
        }
        OpAttributes attributes;
        attributes.first = 3;
        VERIFY_NEAR(device.run(OpKind::SliceLast, { &x }, { 2, 3, 4, 4 }, attributes), part, 1e-9);
        attributes.first = 1;
        VERIFY_NEAR(device.run(OpKind::EveryOther, { &x }, { 2, 3, 4, 5 }, attributes), odd, 1e-9);
        VERIFY_NEAR(device.run(OpKind::SplitGroups, { &x }, { 2, 3, 8, 5 }), in, 1e-9); // the same elements in the same order
    }

    void lastTokens()
    {
        OneDevice device;
        const Sharded x = device.made({ 2, 3, 10 }, "x");
        const Doubles in = OneDevice::values(x);
        Doubles last(in.begin() + 20, in.begin() + 30);
        last.insert(last.end(), in.begin() + 50, in.end());
        VERIFY_NEAR(device.run(OpKind::LastToken, { &x }, { 2, 1, 10 }, {}), last, 1e-9);
    }

    void joins()
    {
        OneDevice device;
        const Sharded a = device.made({ 2, 3, 4, 5 }, "a"), b = device.made({ 2, 3, 4, 2 }, "b"),
                      one = device.made({ 2, 3, 1, 2 }, "one");
        const Doubles left = OneDevice::values(a), right = OneDevice::values(b), shared = OneDevice::values(one);
        Doubles joined, keys;
        for (std::size_t row = 0; row < 24; ++row)
            for (std::size_t i = 0; i < 7; ++i) {
                joined.push_back(i < 5 ? left[row * 5 + i] : right[row * 2 + i - 5]);
                keys.push_back(i < 5 ? left[row * 5 + i] : shared[row / 4 * 2 + i - 5]);
            }
        VERIFY_NEAR(device.run(OpKind::JoinLast, { &a, &b }, { 2, 3, 4, 7 }), joined, 1e-9);
        VERIFY_NEAR(device.run(OpKind::JoinKeys, { &a, &one }, { 2, 3, 4, 7 }), keys, 1e-9);
    }

    void rotationOfAPart()
    {
        OneDevice device;
        const Sharded x = device.made({ 2, 5, 3, 10 }, "x");
        Doubles expected = OneDevice::values(x);
        for (std::size_t row = 0; row < 30; ++row)
            for (std::size_t i = 0; i < 2; ++i) {
                const double angle = (4 + static_cast<double>(row / 3 % 5)) / std::pow(100.0, 2.0 * static_cast<double>(i) / 4);
                const double a = expected[row * 10 + 6 + i], b = expected[row * 10 + 8 + i];
                expected[row * 10 + 6 + i] = a * std::cos(angle) - b * std::sin(angle);
                expected[row * 10 + 8 + i] = b * std::cos(angle) + a * std::sin(angle);
            }
        OpAttributes attributes;
        attributes.ropeTheta = 100;
        attributes.position = 4;
        attributes.first = 6;
        attributes.count = 4;
        VERIFY_NEAR(device.run(OpKind::Rope, { &x }, x.shape(), attributes), expected, 1e-6);
    }

    void attentionOfAllForms_data()
    {
        QTest::addColumn<int>("fresh");
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<int>("stored");
        QTest::addColumn<double>("scale");
        QTest::addColumn<double>("cap");
        QTest::addColumn<bool>("sinks");
        QTest::newRow("other value width") << 9 << 6 << 5 << 0.0 << 0.0 << false;
        QTest::newRow("part of the values") << 1 << 1 << 8 << 0.3 << 0.0 << false;
        QTest::newRow("soft cap") << 9 << 3 << 5 << 0.7 << 0.8 << false;
        QTest::newRow("sinks") << 9 << 2 << 5 << 0.0 << 0.0 << true;
        QTest::newRow("all, some new tokens") << 4 << 2 << 7 << 0.9 << 1.5 << true;
    }
    void attentionOfAllForms()
    {
        QFETCH(int, fresh);
        QFETCH(int, kvHeads);
        QFETCH(int, stored);
        QFETCH(double, scale);
        QFETCH(double, cap);
        QFETCH(bool, sinks);
        OneDevice device;
        const Shape qs { 2, fresh, 6, 8 }, ks { 2, 9, kvHeads, 8 };
        const Sharded q = device.made(qs, "q"), k = device.made(ks, "k"), v = device.made({ 2, 9, kvHeads, stored }, "v");
        const Sharded sink = device.made({ 6 }, "sink");
        std::vector<const Sharded*> operands { &q, &k, &v };
        if (sinks)
            operands.push_back(&sink);
        OpAttributes attributes;
        attributes.scale = scale;
        attributes.cap = cap;
        const Floats got = device.run(sinks ? OpKind::SinkAttention : OpKind::Attention, operands, { 2, fresh, 6, 5 }, attributes);
        const Doubles expected =
            plainAttention(OneDevice::values(q), OneDevice::values(k), OneDevice::values(v), qs, ks, stored, 5,
                           scale > 0 ? scale : 1 / std::sqrt(8.0), cap, sinks ? OneDevice::values(sink) : Doubles {});
        VERIFY_NEAR(got, expected, 1e-6);
    }

    /// Attending to latent vectors with absorbed queries is attending to the keys and values made from them.
    void absorbedAttentionIsExpandedAttention()
    {
        OneDevice device;
        constexpr std::int64_t heads = 3, nope = 4, rope = 2, width = 5, rank = 7, cached = 6;
        const Sharded q = device.made({ 2, 1, heads, nope + rope }, "q"), latent = device.made({ 2, cached, 1, rank }, "latent"),
                      key = device.made({ 2, cached, 1, rope }, "key"), w = device.made({ heads * (nope + width), rank }, "w");
        const Doubles latents = OneDevice::values(latent), keys = OneDevice::values(key), weight = OneDevice::values(w);
        Doubles k, v;
        for (std::size_t token = 0; token < 2 * cached; ++token)
            for (std::size_t head = 0; head < heads; ++head)
                for (std::size_t row = 0; row < nope + width; ++row) {
                    double sum = 0;
                    for (std::size_t i = 0; i < rank; ++i)
                        sum += latents[token * rank + i] * weight[(head * (nope + width) + row) * rank + i];
                    (row < nope ? k : v).push_back(sum);
                    if (row + 1 == nope)
                        k.insert(k.end(), { keys[token * rope], keys[token * rope + 1] });
                }
        const double scale = 1 / std::sqrt(static_cast<double>(nope + rope));
        const Doubles expected =
            plainAttention(OneDevice::values(q), k, v, q.shape(), { 2, cached, heads, nope + rope }, width, width, scale, 0, {});

        const auto tensor = [&](const Shape& shape, const Floats& values) { return device.of(shape, values); };
        OpAttributes part;
        const Sharded qNope = tensor({ 2, 1, heads, nope }, device.run(OpKind::SliceLast, { &q }, { 2, 1, heads, nope }, part));
        part.first = nope;
        const Sharded qRope = tensor({ 2, 1, heads, rope }, device.run(OpKind::SliceLast, { &q }, { 2, 1, heads, rope }, part));
        const Sharded inLatent =
            tensor({ 2, 1, heads, rank }, device.run(OpKind::AbsorbKeys, { &qNope, &w }, { 2, 1, heads, rank }));
        const Sharded query =
            tensor({ 2, 1, heads, rank + rope }, device.run(OpKind::JoinLast, { &inLatent, &qRope }, { 2, 1, heads, rank + rope }));
        const Sharded cache =
            tensor({ 2, cached, 1, rank + rope }, device.run(OpKind::JoinLast, { &latent, &key }, { 2, cached, 1, rank + rope }));
        OpAttributes attributes;
        attributes.scale = scale;
        const Sharded y = tensor({ 2, 1, heads, rank },
                                 device.run(OpKind::Attention, { &query, &cache, &cache }, { 2, 1, heads, rank }, attributes));
        VERIFY_NEAR(device.run(OpKind::AbsorbValues, { &y, &w }, { 2, 1, heads, width }), expected, 1e-5);
    }

    void gates_data()
    {
        QTest::addColumn<bool>("sigmoid");
        QTest::addColumn<bool>("bias");
        QTest::addColumn<bool>("normalized");
        QTest::addColumn<int>("groups");
        QTest::addColumn<int>("chosenGroups");
        QTest::newRow("softmax") << false << false << false << 1 << 1;
        QTest::newRow("softmax, normalised") << false << false << true << 1 << 1;
        QTest::newRow("softmax, groups") << false << false << false << 4 << 2;
        QTest::newRow("sigmoid, bias, groups") << true << true << true << 4 << 2;
        QTest::newRow("sigmoid, bias") << true << true << true << 1 << 1;
    }
    void gates()
    {
        QFETCH(bool, sigmoid);
        QFETCH(bool, bias);
        QFETCH(bool, normalized);
        QFETCH(int, groups);
        QFETCH(int, chosenGroups);
        OneDevice device;
        OpAttributes attributes;
        attributes.chosen = 3;
        attributes.scale = 2.5;
        attributes.sigmoid = sigmoid;
        attributes.normalized = normalized;
        attributes.groups = groups;
        attributes.chosenGroups = chosenGroups;
        const Sharded logits = device.made({ 3, 7, 12 }, "logits"), correction = device.made({ 12 }, "bias", 0, 0.3);
        Doubles expected;
        for (std::size_t row = 0; row < 21; ++row) {
            const Doubles all = OneDevice::values(logits);
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * 12);
            const Doubles one =
                plainGates(Doubles(begin, begin + 12), bias ? OneDevice::values(correction) : Doubles {}, attributes);
            expected.insert(expected.end(), one.begin(), one.end());
        }
        std::vector<const Sharded*> operands { &logits };
        if (bias)
            operands.push_back(&correction);
        VERIFY_NEAR(device.run(bias ? OpKind::BiasedTopKGates : OpKind::TopKGates, operands, logits.shape(), attributes), expected,
                    1e-6);
    }

    void tokensToExpertsAndBack()
    {
        OneDevice device;
        constexpr std::size_t experts = 5, tokens = 6, hidden = 4;
        const Sharded x = device.made({ 2, 3, hidden }, "x"), y = device.made({ experts, 2, 3, hidden }, "y");
        Floats gateValues(tokens * experts);
        for (std::size_t i = 0; i < gateValues.size(); ++i)
            gateValues[i] = i % 3 == 0 ? 0.1f * static_cast<float>(i + 1) : 0.0f;
        const Sharded gates = device.of({ 2, 3, experts }, gateValues);
        const Doubles in = OneDevice::values(x), out = OneDevice::values(y);
        Doubles dispatched, combined(tokens * hidden);
        for (std::size_t e = 0; e < experts; ++e)
            for (std::size_t t = 0; t < tokens; ++t)
                for (std::size_t i = 0; i < hidden; ++i) {
                    const double gate = double { gateValues[t * experts + e] };
                    dispatched.push_back(gate != 0 ? in[t * hidden + i] : 0);
                    combined[t * hidden + i] += gate * out[(e * tokens + t) * hidden + i];
                }
        VERIFY_NEAR(device.run(OpKind::Dispatch, { &x, &gates }, y.shape()), dispatched, 1e-9);
        VERIFY_NEAR(device.run(OpKind::Combine, { &y, &gates }, x.shape()), combined, 1e-6);
    }

    void productsOfExperts_data()
    {
        QTest::addColumn<bool>("transposed");
        QTest::addColumn<bool>("streamed");
        QTest::addColumn<int>("tokens");
        for (const bool transposed : { false, true })
            for (const bool streamed : { false, true })
                for (const int tokens : { 3, 400 })
                    QTest::addRow("%s, %s, %d tokens", transposed ? "transposed" : "plain", streamed ? "streamed" : "whole", tokens)
                        << transposed << streamed << tokens;
    }
    void productsOfExperts()
    {
        QFETCH(bool, transposed);
        QFETCH(bool, streamed);
        QFETCH(int, tokens);
        OneDevice device;
        constexpr std::size_t experts = 3, in = 5, out = 37;
        const std::size_t rows = at(2 * tokens);
        const Shape weightShape = transposed ? Shape { experts, in, out } : Shape { experts, out, in };
        const Sharded whole = device.made(weightShape, "w");
        const Sharded w = streamed ? device.unmade(weightShape, "w") : device.made(weightShape, "w");
        const Sharded b = device.made({ experts, out }, "b");
        Floats values = randomFloats(static_cast<std::int64_t>(experts * rows * in), 3);
        for (std::size_t row = 0; row < experts * rows; ++row)
            if (row % 4 != 1)
                std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(row * in), in, 0.0f);
        const Sharded x = device.of({ experts, 2, tokens, in }, values);
        const Doubles weight = OneDevice::values(whole), bias = OneDevice::values(b);
        Doubles expected, withBias;
        for (std::size_t e = 0; e < experts; ++e)
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t o = 0; o < out; ++o) {
                    double sum = 0;
                    for (std::size_t i = 0; i < in; ++i)
                        sum += double { values[(e * rows + r) * in + i] }
                            * weight[e * in * out + (transposed ? i * out + o : o * in + i)];
                    expected.push_back(sum);
                    withBias.push_back((e * rows + r) % 4 == 1 ? sum + bias[e * out + o] : 0);
                }
        const Shape shape { experts, 2, tokens, out };
        const Floats y = device.run(transposed ? OpKind::ExpertLinearT : OpKind::ExpertLinear, { &x, &w }, shape);
        VERIFY_NEAR(y, expected, 1e-6);
        const Sharded before = device.of(shape, y);
        VERIFY_NEAR(device.run(OpKind::ExpertBias, { &before, &b }, shape), withBias, 1e-6);
    }

    /// A device must hold what its part of the result needs.
    void partsThatDoNotFitAreRefused()
    {
        Arena arena { std::int64_t { 1 } << 24 };
        TaskPool pool { 1, nullptr };
        CpuExecutor cpu;
        Context context { arena, cpu, &pool, 1, {} };
        const Mesh mesh = Mesh::parse("a=2").value();
        const auto tensor = [&](const Shape& shape, int dim) {
            Sharded out(
                shape, dim < 0 ? Layout::replicated(shape.size()) : Layout::cut(shape.size(), static_cast<std::size_t>(dim), { 0 }),
                mesh);
            out.allocate(arena);
            return out;
        };
        const auto refused = [&](const OpCall& call, Sharded& result) {
            try {
                executeOp(context, call, result);
            } catch (const Failure& failure) {
                return failure.code == "bad-plan" && failure.where == "op";
            }
            return false;
        };
        const Sharded x = tensor({ 2, 4, 6 }, -1), gates = tensor({ 2, 4, 8 }, 0);
        Sharded y = tensor({ 8, 2, 4, 6 }, 0);
        QVERIFY(refused({ OpKind::Dispatch, {}, { &x, &gates }, "op" }, y));
        const Sharded cutLogits = tensor({ 2, 4, 8 }, 2);
        Sharded out = tensor({ 2, 4, 8 }, 2);
        OpAttributes attributes;
        attributes.chosen = 2;
        QVERIFY(refused({ OpKind::TopKGates, attributes, { &cutLogits }, "op" }, out));
        const Sharded w = tensor({ 8, 3, 6 }, -1), tokens = tensor({ 8, 2, 4, 6 }, 0);
        Sharded product = tensor({ 8, 2, 4, 3 }, 0);
        QVERIFY(refused({ OpKind::ExpertLinear, {}, { &tokens, &w }, "op" }, product));
    }
};

SHARDBOARD_TEST(TestParts)
#include "tst_parts.moc"
