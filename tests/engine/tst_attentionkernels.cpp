// SPDX-License-Identifier: Apache-2.0
// Attention of one head, whole and block by block, forward and backward, against loops in double and central differences.
#include "engine/machine/gemm.h"
#include "engine/ops/kernels/attention.h"
#include "engine/ops/kernels/ringattention.h"
#include "tests/engine/numeric.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

using namespace shardboard::engine;
using namespace shardboard::engine::numeric;

namespace {

/// The same attention straight from its definition.
struct Naive {
    AttentionBlock block;
    std::optional<double> sink;

    Doubles operator()(const Doubles& q, const Doubles& k, const Doubles& v) const
    {
        const double scale = block.scale != 0 ? block.scale : 1 / std::sqrt(static_cast<double>(block.headDim));
        Doubles out(at(block.queries * block.valueDim));
        for (std::int64_t i = 0; i < block.queries; ++i) {
            double sum = sink ? std::exp(*sink) : 0;
            Doubles weights(at(block.keys));
            for (std::int64_t j = 0; j < block.keys; ++j) {
                const std::int64_t distance = (block.firstQuery + i) - (block.firstKey + j);
                if ((block.causal && distance < 0) || (block.window > 0 && distance >= block.window))
                    continue;
                double score = 0;
                for (std::int64_t c = 0; c < block.headDim; ++c)
                    score += q[at(i * block.headDim + c)] * k[at(j * block.headDim + c)];
                score *= scale;
                if (block.cap > 0)
                    score = block.cap * std::tanh(score / block.cap);
                weights[at(j)] = std::exp(score);
                sum += weights[at(j)];
            }
            for (std::int64_t j = 0; j < block.keys && sum > 0; ++j)
                for (std::int64_t c = 0; c < block.valueDim; ++c)
                    out[at(i * block.valueDim + c)] += weights[at(j)] / sum * v[at(j * block.valueDim + c)];
        }
        return out;
    }
};

struct Inputs {
    Floats q, k, v, dy;
    explicit Inputs(const AttentionBlock& b)
        : q(randomFloats(b.queries * b.headDim, 1))
        , k(randomFloats(b.keys * b.headDim, 2))
        , v(randomFloats(b.keys * b.valueDim, 3))
        , dy(randomFloats(b.queries * b.valueDim, 4))
    {
    }
};

struct Answers {
    Doubles out, dq, dk, dv;
    double dSink = 0;
};

/// By central differences of the loss sum(dy * out), element by element.
Answers answersFor(const Naive& naive, const Inputs& in)
{
    const Doubles q = doubles(in.q), k = doubles(in.k), v = doubles(in.v), dy = doubles(in.dy);
    Answers answers;
    answers.out = naive(q, k, v);
    answers.dq = gradientOf([&](const Doubles& at) { return dot(naive(at, k, v), dy); }, q);
    answers.dk = gradientOf([&](const Doubles& at) { return dot(naive(q, at, v), dy); }, k);
    answers.dv = gradientOf([&](const Doubles& at) { return dot(naive(q, k, at), dy); }, v);
    if (naive.sink)
        answers.dSink = gradientOf(
            [&](const Doubles& at) {
                return dot(Naive { naive.block, at[0] }(q, k, v), dy);
            },
            { *naive.sink })[0];
    return answers;
}

Rows rowsOf(Floats& values, std::int64_t n) { return { values.data(), n }; }
ConstRows rowsOf(const Floats& values, std::int64_t n) { return { values.data(), n }; }

struct Results {
    Floats out, dq, dk, dv;
    float dSink = 0;
    explicit Results(const AttentionBlock& b)
        : out(at(b.queries * b.valueDim), 9.0f)
        , dq(at(b.queries * b.headDim), 9.0f)
        , dk(at(b.keys * b.headDim))
        , dv(at(b.keys * b.valueDim))
    {
    }
};

Results runWhole(const AttentionBlock& b, const Inputs& in, const float* sink)
{
    Results r(b);
    Floats scratch(at(attentionScratch(b.keys)), std::nanf(""));
    attendHead(b, rowsOf(in.q, b.headDim), rowsOf(in.k, b.headDim), rowsOf(in.v, b.valueDim), sink, scratch.data(),
               rowsOf(r.out, b.valueDim));
    attendHeadBackward(b, rowsOf(in.q, b.headDim), rowsOf(in.k, b.headDim), rowsOf(in.v, b.valueDim), sink,
                       rowsOf(in.dy, b.valueDim), scratch.data(),
                       { rowsOf(r.dq, b.headDim), rowsOf(r.dk, b.headDim), rowsOf(r.dv, b.valueDim), &r.dSink });
    return r;
}

/// The keys cut at `cuts`, in the order `order`.
Results runRing(const AttentionBlock& b, const Inputs& in, const float* sink, const std::vector<std::int64_t>& cuts,
                const std::vector<std::size_t>& order)
{
    Results r(b);
    Floats highest(at(b.queries), 9.0f), sum(at(b.queries), 9.0f), dots(at(b.queries), 9.0f);
    Floats scratch(at(attentionScratch(b.keys)), std::nanf(""));
    const RingState state { highest.data(), sum.data(), rowsOf(r.out, b.valueDim) };
    const auto part = [&](std::size_t index) {
        AttentionBlock p = b;
        p.firstKey = b.firstKey + cuts[index];
        p.keys = cuts[index + 1] - cuts[index];
        return p;
    };
    ringStart(b.queries, b.valueDim, sink, state);
    for (const std::size_t index : order)
        ringAttend(part(index), rowsOf(in.q, b.headDim), { in.k.data() + cuts[index] * b.headDim, b.headDim },
                   { in.v.data() + cuts[index] * b.valueDim, b.valueDim }, scratch.data(), state);
    ringFinish(b.queries, b.valueDim, state);
    ringDots(b.queries, b.valueDim, rowsOf(in.dy, b.valueDim), rowsOf(r.out, b.valueDim), dots.data());
    std::fill(r.dq.begin(), r.dq.end(), 0.0f);
    for (const std::size_t index : order)
        ringBackward(part(index), rowsOf(in.q, b.headDim), { in.k.data() + cuts[index] * b.headDim, b.headDim },
                     { in.v.data() + cuts[index] * b.valueDim, b.valueDim }, rowsOf(in.dy, b.valueDim), highest.data(), sum.data(),
                     dots.data(), scratch.data(),
                     { rowsOf(r.dq, b.headDim),
                       { r.dk.data() + cuts[index] * b.headDim, b.headDim },
                       { r.dv.data() + cuts[index] * b.valueDim, b.valueDim },
                       nullptr });
    if (sink != nullptr)
        r.dSink = ringSinkGradient(b.queries, *sink, highest.data(), sum.data(), dots.data());
    return r;
}

AttentionBlock blockOf(std::int64_t queries, std::int64_t keys, std::int64_t headDim, std::int64_t valueDim,
                       std::int64_t firstQuery)
{
    AttentionBlock block;
    block.queries = queries;
    block.keys = keys;
    block.headDim = headDim;
    block.valueDim = valueDim;
    block.firstQuery = firstQuery;
    return block;
}

} // namespace

class TestAttentionKernels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { prepareGemmThread(); }

    void small_data()
    {
        QTest::addColumn<int>("queries");
        QTest::addColumn<int>("keys");
        QTest::addColumn<int>("headDim");
        QTest::addColumn<int>("valueDim");
        QTest::addColumn<int>("firstQuery");
        QTest::addColumn<bool>("causal");
        QTest::addColumn<int>("window");
        QTest::addColumn<double>("scale");
        QTest::addColumn<double>("sink");
        QTest::addColumn<double>("cap");
        const double none = std::numeric_limits<double>::quiet_NaN();
        QTest::newRow("prefill") << 7 << 7 << 4 << 4 << 0 << true << 0 << 0.0 << none << 0.0;
        QTest::newRow("other value dim") << 6 << 6 << 6 << 3 << 0 << true << 0 << 0.0 << none << 0.0;
        QTest::newRow("wider values") << 5 << 9 << 3 << 8 << 4 << true << 0 << 0.3 << none << 0.0;
        QTest::newRow("decode") << 1 << 12 << 4 << 4 << 11 << true << 0 << 0.0 << none << 0.0;
        QTest::newRow("a range of the queries") << 4 << 12 << 4 << 4 << 3 << true << 0 << 0.0 << none << 0.0;
        QTest::newRow("everything seen") << 5 << 8 << 4 << 4 << 0 << false << 0 << 0.0 << none << 0.0;
        QTest::newRow("sink") << 6 << 6 << 4 << 4 << 0 << true << 0 << 0.0 << 0.7 << 0.0;
        QTest::newRow("high sink, range") << 4 << 12 << 4 << 2 << 5 << true << 0 << 0.0 << 3.5 << 0.0;
        QTest::newRow("low sink") << 3 << 5 << 4 << 2 << 2 << true << 0 << 0.0 << -30.0 << 0.0;
        QTest::newRow("window") << 9 << 9 << 4 << 4 << 0 << true << 3 << 0.0 << none << 0.0;
        QTest::newRow("window and sink") << 5 << 9 << 4 << 4 << 4 << true << 2 << 0.0 << 0.2 << 0.0;
        QTest::newRow("some see nothing") << 6 << 4 << 4 << 4 << -3 << true << 0 << 0.0 << none << 0.0;
        QTest::newRow("some see the sink only") << 6 << 4 << 4 << 4 << -3 << true << 0 << 0.0 << 0.1 << 0.0;
        QTest::newRow("all see nothing") << 3 << 4 << 4 << 4 << -9 << true << 0 << 0.0 << none << 0.0;
        QTest::newRow("cap") << 7 << 7 << 4 << 4 << 0 << true << 0 << 0.0 << none << 0.8;
        QTest::newRow("cap, sink, range") << 4 << 12 << 4 << 3 << 5 << true << 0 << 1.5 << 0.4 << 1.2;
    }
    void small()
    {
        QFETCH(int, queries);
        QFETCH(int, keys);
        QFETCH(int, headDim);
        QFETCH(int, valueDim);
        QFETCH(int, firstQuery);
        QFETCH(bool, causal);
        QFETCH(int, window);
        QFETCH(double, scale);
        QFETCH(double, sink);
        QFETCH(double, cap);
        AttentionBlock block = blockOf(queries, keys, headDim, valueDim, firstQuery);
        block.causal = causal;
        block.window = window;
        block.scale = scale;
        block.cap = cap;
        const Inputs in(block);
        const auto sinkValue = static_cast<float>(sink);
        const float* sinkOrNull = std::isnan(sink) ? nullptr : &sinkValue;
        const Answers answers =
            answersFor({ block, sinkOrNull == nullptr ? std::nullopt : std::optional(double { sinkValue }) }, in);
        const std::vector<std::int64_t> cuts { 0, 1, keys / 2, keys };
        for (const Results& got :
             { runWhole(block, in, sinkOrNull), runRing(block, in, sinkOrNull, { 0, keys }, { 0 }),
               runRing(block, in, sinkOrNull, cuts, { 0, 1, 2 }), runRing(block, in, sinkOrNull, cuts, { 2, 0, 1 }) }) {
            VERIFY_NEAR(got.out, answers.out, 1e-6);
            VERIFY_NEAR(got.dq, answers.dq, 2e-6);
            VERIFY_NEAR(got.dk, answers.dk, 2e-6);
            VERIFY_NEAR(got.dv, answers.dv, 2e-6);
            QVERIFY(std::fabs(double { got.dSink } - answers.dSink) < 2e-6 * (1 + std::fabs(answers.dSink)));
        }
    }

    /// More queries than are worked on at once; slopes along random directions are the answer.
    void manyQueries_data()
    {
        QTest::addColumn<int>("window");
        QTest::newRow("all keys") << 0;
        QTest::newRow("window") << 70;
    }
    void manyQueries()
    {
        QFETCH(int, window);
        AttentionBlock block = blockOf(300, 410, 16, 8, 110);
        block.window = window;
        const Inputs in(block);
        const float sink = 0.5f;
        const Naive naive { block, 0.5 };
        const Doubles q = doubles(in.q), k = doubles(in.k), v = doubles(in.v), dy = doubles(in.dy);
        const Doubles expected = naive(q, k, v);
        const Results whole = runWhole(block, in, &sink);
        const Results ring = runRing(block, in, &sink, { 0, 100, 200, 300, 410 }, { 1, 0, 3, 2 });
        VERIFY_NEAR(ring.out, doubles(whole.out), 1e-6);
        VERIFY_NEAR(ring.dq, doubles(whole.dq), 1e-6);
        VERIFY_NEAR(ring.dk, doubles(whole.dk), 1e-6);
        VERIFY_NEAR(ring.dv, doubles(whole.dv), 1e-6);
        for (const Results& got : { whole, ring }) {
            VERIFY_NEAR(got.out, expected, 1e-6);
            for (unsigned seed = 10; seed < 13; ++seed) {
                const auto near = [&](const Floats& gradient, const Doubles& x, const auto& loss) {
                    const Doubles direction = doubles(randomFloats(static_cast<std::int64_t>(x.size()), seed));
                    const Doubles g = doubles(gradient);
                    return std::fabs(dot(g, direction) - slopeAlong(loss, x, direction)) / std::sqrt(dot(g, g));
                };
                QVERIFY(near(got.dq, q, [&](const Doubles& at) { return dot(naive(at, k, v), dy); }) < 1e-5);
                QVERIFY(near(got.dk, k, [&](const Doubles& at) { return dot(naive(q, at, v), dy); }) < 1e-5);
                QVERIFY(near(got.dv, v, [&](const Doubles& at) { return dot(naive(q, k, at), dy); }) < 1e-5);
            }
        }
    }

    /// Two devices with half of the queries each, and query heads that share a KV head, in the layout [S, h, d].
    void groupedHeadsAndRangesAddUp()
    {
        const std::int64_t tokens = 6, heads = 4, kvHeads = 2, d = 4, dv = 2;
        const Floats q = randomFloats(tokens * heads * d, 1), k = randomFloats(tokens * kvHeads * d, 2);
        const Floats v = randomFloats(tokens * kvHeads * dv, 3), dy = randomFloats(tokens * heads * dv, 4);
        const auto column = [&](const Doubles& from, std::int64_t head, std::int64_t count, std::int64_t n) {
            Doubles out;
            for (std::int64_t s = 0; s < tokens; ++s)
                for (std::int64_t i = 0; i < n; ++i)
                    out.push_back(from[at((s * count + head) * n + i)]);
            return out;
        };
        const auto loss = [&](const Doubles& aq, const Doubles& ak, const Doubles& av) {
            double sum = 0;
            for (std::int64_t h = 0; h < heads; ++h)
                sum += dot(Naive { blockOf(tokens, tokens, d, dv, 0), {} }(column(aq, h, heads, d), column(ak, h / 2, kvHeads, d),
                                                                           column(av, h / 2, kvHeads, dv)),
                           column(doubles(dy), h, heads, dv));
            return sum;
        };
        Floats dq(q.size()), dk(k.size()), dvs(v.size());
        Floats scratch(at(attentionScratch(tokens)));
        for (const std::int64_t first : { std::int64_t { 0 }, std::int64_t { 4 } })
            for (std::int64_t h = 0; h < heads; ++h) {
                const std::int64_t kv = h / 2;
                const AttentionBlock block = blockOf(first == 0 ? 4 : 2, tokens, d, dv, first);
                attendHeadBackward(block, { q.data() + (first * heads + h) * d, heads * d }, { k.data() + kv * d, kvHeads * d },
                                   { v.data() + kv * dv, kvHeads * dv }, nullptr,
                                   { dy.data() + (first * heads + h) * dv, heads * dv }, scratch.data(),
                                   { { dq.data() + (first * heads + h) * d, heads * d },
                                     { dk.data() + kv * d, kvHeads * d },
                                     { dvs.data() + kv * dv, kvHeads * dv },
                                     nullptr });
            }
        const Doubles wq = doubles(q), wk = doubles(k), wv = doubles(v);
        VERIFY_NEAR(dq, gradientOf([&](const Doubles& at) { return loss(at, wk, wv); }, wq), 2e-6);
        VERIFY_NEAR(dk, gradientOf([&](const Doubles& at) { return loss(wq, at, wv); }, wk), 2e-6);
        VERIFY_NEAR(dvs, gradientOf([&](const Doubles& at) { return loss(wq, wk, at); }, wv), 2e-6);
    }

    /// A cache cut over three devices: each sees some keys, their states are merged.
    void statesMerge()
    {
        const AttentionBlock block = blockOf(2, 12, 4, 3, 10);
        const Inputs in(block);
        const float sink = 0.3f;
        const Doubles expected = Naive { block, double { sink } }(doubles(in.q), doubles(in.k), doubles(in.v));
        Floats scratch(at(attentionScratch(12)));
        for (const auto& order : { std::array<std::size_t, 2> { 0, 2 }, std::array<std::size_t, 2> { 2, 0 } }) {
            std::vector<Floats> outs(3, Floats(6)), highest(3, Floats(2)), sums(3, Floats(2));
            for (std::size_t p = 0; p < 3; ++p) {
                // The second device has nothing at all, and the third has the sink.
                const std::int64_t from = p == 0 ? 0 : 7, to = p == 2 ? 12 : 7;
                AttentionBlock part = block;
                part.firstKey = from;
                part.keys = to - from;
                const RingState state { highest[p].data(), sums[p].data(), rowsOf(outs[p], 3) };
                ringStart(2, 3, p == 2 ? &sink : nullptr, state);
                ringAttend(part, rowsOf(in.q, 4), { in.k.data() + from * 4, 4 }, { in.v.data() + from * 3, 3 }, scratch.data(),
                           state);
            }
            const RingState state { highest[1].data(), sums[1].data(), rowsOf(outs[1], 3) };
            for (const std::size_t other : order)
                ringMerge(2, 3, highest[other].data(), sums[other].data(), rowsOf(std::as_const(outs[other]), 3), state);
            ringFinish(2, 3, state);
            VERIFY_NEAR(outs[1], expected, 1e-6);
        }
    }

    /// What is not asked for is not written, and changes nothing else.
    void gradientsOneByOne()
    {
        const AttentionBlock block = blockOf(5, 7, 4, 3, 2);
        const Inputs in(block);
        const float sink = 0.4f;
        const Results all = runWhole(block, in, &sink);
        const Results ring = runRing(block, in, &sink, { 0, 7 }, { 0 });
        Floats scratch(at(attentionScratch(7))), highest(5), sum(5), dots(5), out(15);
        const RingState state { highest.data(), sum.data(), rowsOf(out, 3) };
        ringStart(5, 3, &sink, state);
        ringAttend(block, rowsOf(in.q, 4), rowsOf(in.k, 4), rowsOf(in.v, 3), scratch.data(), state);
        ringFinish(5, 3, state);
        ringDots(5, 3, rowsOf(in.dy, 3), rowsOf(out, 3), dots.data());
        for (int which = 0; which < 4; ++which) {
            Results one(block);
            AttentionGradients gradients;
            if (which == 0)
                gradients.dq = rowsOf(one.dq, 4);
            else if (which == 1)
                gradients.dk = rowsOf(one.dk, 4);
            else if (which == 2)
                gradients.dv = rowsOf(one.dv, 3);
            else
                gradients.dSink = &one.dSink;
            attendHeadBackward(block, rowsOf(in.q, 4), rowsOf(in.k, 4), rowsOf(in.v, 3), &sink, rowsOf(in.dy, 3), scratch.data(),
                               gradients);
            QCOMPARE(one.dq, which == 0 ? all.dq : Floats(20, 9.0f));
            QCOMPARE(one.dk, which == 1 ? all.dk : Floats(28));
            QCOMPARE(one.dv, which == 2 ? all.dv : Floats(21));
            QCOMPARE(one.dSink, which == 3 ? all.dSink : 0.0f);
            if (which == 3)
                break;
            for (Floats* values : { &one.dq, &one.dk, &one.dv })
                std::fill(values->begin(), values->end(), 0.0f);
            ringBackward(block, rowsOf(in.q, 4), rowsOf(in.k, 4), rowsOf(in.v, 3), rowsOf(in.dy, 3), highest.data(), sum.data(),
                         dots.data(), scratch.data(), gradients);
            QCOMPARE(one.dq, which == 0 ? ring.dq : Floats(20));
            QCOMPARE(one.dk, which == 1 ? ring.dk : Floats(28));
            QCOMPARE(one.dv, which == 2 ? ring.dv : Floats(21));
        }
    }

    /// Logits far from 0 neither overflow nor lose the others.
    void largeScores()
    {
        AttentionBlock block = blockOf(4, 4, 2, 2, 0);
        block.scale = 40;
        const Inputs in(block);
        const Answers answers = answersFor({ block, {} }, in);
        for (const Results& got : { runWhole(block, in, nullptr), runRing(block, in, nullptr, { 0, 2, 4 }, { 0, 1 }) }) {
            VERIFY_NEAR(got.out, answers.out, 1e-4); // scores of about 100 have an error of about 1e-5 in float
            VERIFY_NEAR(got.dq, answers.dq, 1e-4);
            VERIFY_NEAR(got.dk, answers.dk, 1e-4);
        }
    }
};

SHARDBOARD_TEST(TestAttentionKernels)
#include "tst_attentionkernels.moc"
