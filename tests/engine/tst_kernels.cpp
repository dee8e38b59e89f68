// SPDX-License-Identifier: Apache-2.0
// Operations against plain loops in double, on one device and on several.
#include "engine/machine/failure.h"
#include "engine/machine/gemm.h"
#include "engine/ops/execute.h"
#include "engine/values/rounding.h"
#include "tests/engine/bodyruns.h"
#include "tests/engine/onedevice.h"
#include "tests/support/runner.h"

#include <QTest>

#include <cmath>
#include <vector>

using namespace shardboard;
using namespace shardboard::engine;

namespace {

using Doubles = std::vector<double>;

struct Machine {
    Arena arena { std::int64_t { 64 } << 20 };
    TaskPool pool { 2, nullptr };
    CpuExecutor cpu;
    Context context { arena, cpu, &pool, 2, {} };
    Mesh single;

    Sharded tensor(const Shape& shape, const Layout& layout, const Mesh& mesh, const std::string& name, double mean = 0)
    {
        Sharded out(shape, layout, mesh);
        out.source = Source { Generator::values(1, name, mean, 1), Rounding::None, 1 };
        out.allocate(arena);
        for (std::int64_t p = 0; p < out.deviceCount(); ++p)
            fillBox(*out.source, shape, out.box(p), out.data(p));
        return out;
    }
    Sharded whole(const Shape& shape, const std::string& name, double mean = 0)
    {
        return tensor(shape, Layout::replicated(shape.size()), single, name, mean);
    }
    Sharded empty(const Shape& shape)
    {
        Sharded out(shape, Layout::replicated(shape.size()), single);
        out.allocate(arena);
        return out;
    }
};

Doubles values(const Sharded& tensor) { return Doubles(tensor.data(0), tensor.data(0) + tensor.elements(0)); }

double errorOf(const Sharded& result, const Doubles& expected)
{
    double difference = 0;
    double size = 0;
    const Doubles got = values(result);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        difference += (got[i] - expected[i]) * (got[i] - expected[i]);
        size += expected[i] * expected[i];
    }
    return got.size() == expected.size() ? std::sqrt(difference / size) : 1e9;
}

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Causal attention, query by query, in double.
Doubles naiveAttention(const Doubles& q, const Doubles& k, const Doubles& v, const Shape& qs, const Shape& ks)
{
    const std::int64_t batch = qs[0], fresh = qs[1], heads = qs[2], d = qs[3], cached = ks[1], kvHeads = ks[2];
    Doubles out(q.size());
    for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t s = 0; s < fresh; ++s)
            for (std::int64_t h = 0; h < heads; ++h) {
                const std::int64_t kv = h / (heads / kvHeads);
                const auto query = at(((b * fresh + s) * heads + h) * d);
                const auto key = [&](std::int64_t t) { return at(((b * cached + t) * kvHeads + kv) * d); };
                Doubles weights;
                double sum = 0;
                for (std::int64_t t = 0; t <= cached - fresh + s; ++t) {
                    double score = 0;
                    for (std::size_t i = 0; i < at(d); ++i)
                        score += q[query + i] * k[key(t) + i];
                    weights.push_back(std::exp(score / std::sqrt(static_cast<double>(d))));
                    sum += weights.back();
                }
                for (std::size_t i = 0; i < at(d); ++i)
                    for (std::size_t t = 0; t < weights.size(); ++t)
                        out[query + i] += weights[t] / sum * v[key(static_cast<std::int64_t>(t)) + i];
            }
    return out;
}

} // namespace

class TestKernels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Values that bfloat16 holds, through whatever products there are: as exact as float32 sums are.
    void productsOfBf16()
    {
        prepareGemmThread();
        for (const bool ta : { false, true })
            for (const bool tb : { false, true })
                for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>> {
                         { 3, 5, 7 }, { 64, 300, 130 }, { 9, 1000, 77 }, { 129, 65, 257 } }) {
                    const std::int64_t lda = (ta ? m : k) + 3, ldb = (tb ? k : n) + 2, ldc = n + 1;
                    std::vector<float> a(at((ta ? k : m) * lda)), b(at((tb ? n : k) * ldb));
                    for (auto* values : { &a, &b }) {
                        Generator::values(1, values == &a ? "a" : "b", 0, 1)
                            .fill(0, static_cast<std::int64_t>(values->size()), values->data());
                        roundValues(Rounding::BF16, static_cast<std::int64_t>(values->size()), values->data());
                    }
                    for (const float beta : { 0.0f, 1.0f }) {
                        std::vector<float> got(at(m * ldc), 2.0f);
                        bf16gemm(ta, tb, m, n, k, a.data(), lda, b.data(), ldb, beta, got.data(), ldc);
                        for (std::int64_t i = 0; i < m; ++i) {
                            for (std::int64_t j = 0; j < n; ++j) {
                                double sum = double { beta } * 2;
                                for (std::int64_t p = 0; p < k; ++p)
                                    sum += double { a[at(ta ? p * lda + i : i * lda + p)] }
                                        * double { b[at(tb ? j * ldb + p : p * ldb + j)] };
                                QVERIFY(std::fabs(double { got[at(i * ldc + j)] } - sum) < 1e-4);
                            }
                            QCOMPARE(got[at(i * ldc + n)], 2.0f);
                        }
                    }
                }
        qInfo("bfloat16 products: %s", hasBf16Products() ? "yes" : "no, by float32");
    }

    void productsOfAllForms()
    {
        prepareGemmThread();
        for (const bool ta : { false, true })
            for (const bool tb : { false, true })
                for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>> {
                         { 1, 1, 1 }, { 3, 5, 7 }, { 64, 300, 130 }, { 1, 257, 129 }, { 33, 1, 5 }, { 4, 4, 0 } }) {
                    const std::int64_t lda = (ta ? m : k) + 3, ldb = (tb ? k : n) + 2, ldc = n + 1;
                    std::vector<float> a(at((ta ? k : m) * lda + 1)), b(at((tb ? n : k) * ldb + 1)), c(at(m * ldc), 2.0f);
                    Generator::values(1, "a", 0, 1).fill(0, static_cast<std::int64_t>(a.size()), a.data());
                    Generator::values(1, "b", 0, 1).fill(0, static_cast<std::int64_t>(b.size()), b.data());
                    for (const float beta : { 0.0f, 0.5f }) {
                        std::vector<float> got = c;
                        sgemm(ta, tb, m, n, k, 1.5f, a.data(), lda, b.data(), ldb, beta, got.data(), ldc);
                        for (std::int64_t i = 0; i < m; ++i)
                            for (std::int64_t j = 0; j < n; ++j) {
                                double sum = 0;
                                for (std::int64_t p = 0; p < k; ++p)
                                    sum += double { a[at(ta ? p * lda + i : i * lda + p)] }
                                        * double { b[at(tb ? j * ldb + p : p * ldb + j)] };
                                const double expected = 1.5 * sum + double { beta } * 2;
                                QVERIFY(std::fabs(double { got[at(i * ldc + j)] } - expected) < 1e-3);
                            }
                        for (std::int64_t i = 0; i < m; ++i)
                            QCOMPARE(got[at(i * ldc + n)], 2.0f); // what lies between rows is left alone
                    }
                }
    }

    void rmsNorm()
    {
        Machine machine;
        const Sharded x = machine.whole({ 3, 4, 37 }, "x", 0.3);
        const Sharded w = machine.whole({ 37 }, "w", 1);
        Sharded y = machine.empty({ 3, 4, 37 });
        executeOp(machine.context, { OpKind::RmsNorm, { 1e-3, 0, 0, 0 }, { &x, &w }, "norm" }, y);
        const Doubles in = values(x), weight = values(w);
        Doubles expected;
        for (std::size_t row = 0; row < 12; ++row) {
            double sum = 0;
            for (std::size_t i = 0; i < 37; ++i)
                sum += in[row * 37 + i] * in[row * 37 + i];
            for (std::size_t i = 0; i < 37; ++i)
                expected.push_back(in[row * 37 + i] / std::sqrt(sum / 37 + 1e-3) * weight[i]);
        }
        QVERIFY(errorOf(y, expected) < 1e-6);
    }

    void elementwise()
    {
        Machine machine;
        const Sharded x = machine.whole({ 5, 70 }, "x");
        const Doubles in = values(x);
        Sharded y = machine.empty({ 5, 70 });
        Doubles silu, gelu;
        for (const double v : in) {
            silu.push_back(v / (1 + std::exp(-v)));
            gelu.push_back(0.5 * v * (1 + std::erf(v / std::sqrt(2.0))));
        }
        executeOp(machine.context, { OpKind::Silu, {}, { &x }, "silu" }, y);
        QVERIFY(errorOf(y, silu) < 5e-7);
        executeOp(machine.context, { OpKind::Gelu, {}, { &x }, "gelu" }, y);
        QVERIFY(errorOf(y, gelu) < 5e-7);
        for (const Shape& shape : { Shape { 5, 70 }, Shape { 70 }, Shape { 5, 1 }, Shape { 1, 70 }, Shape { 1 } }) {
            const Sharded b = machine.whole(shape, "b");
            const Doubles other = values(b);
            Doubles sum, product;
            for (std::size_t i = 0; i < in.size(); ++i) {
                const std::size_t column = shape.back() == 1 ? 0 : i % 70;
                const std::size_t row = shape.size() == 2 && shape[0] == 5 ? i / 70 : 0;
                sum.push_back(in[i] + other[row * at(shape.back()) + column]);
                product.push_back(in[i] * other[row * at(shape.back()) + column]);
            }
            executeOp(machine.context, { OpKind::Add, {}, { &x, &b }, "add" }, y);
            QVERIFY(errorOf(y, sum) < 1e-6);
            executeOp(machine.context, { OpKind::Mul, {}, { &x, &b }, "mul" }, y);
            QVERIFY(errorOf(y, product) < 1e-6);
        }
    }

    void exponentialsOfExtremeValues()
    {
        numeric::Floats silu { -100.0f, 100.0f, -1e30f, 1e30f, 0.0f, std::nanf("") };
        numeric::each(bodies::Each::Silu, { &silu }, 0, silu);
        QVERIFY(std::fabs(double { silu[0] }) < 1e-30);
        QCOMPARE(silu[1], 100.0f);
        QVERIFY(std::isfinite(silu[2]));
        QCOMPARE(silu[3], 1e30f);
        QVERIFY(std::isnan(silu[5])); // never hidden
    }

    void linearFromMemoryAndFromASource()
    {
        Machine machine;
        const Sharded x = machine.whole({ 2, 3, 50 }, "x");
        const Sharded w = machine.whole({ 33, 50 }, "w");
        Sharded streamed({ 33, 50 }, Layout::replicated(2), machine.single);
        streamed.source = w.source;
        Doubles expected(2 * 3 * 33);
        const Doubles in = values(x), weight = values(w);
        for (std::size_t r = 0; r < 6; ++r)
            for (std::size_t o = 0; o < 33; ++o)
                for (std::size_t i = 0; i < 50; ++i)
                    expected[r * 33 + o] += in[r * 50 + i] * weight[o * 50 + i];
        for (const Sharded* source : { &w, static_cast<const Sharded*>(&streamed) }) {
            Sharded y = machine.empty({ 2, 3, 33 });
            executeOp(machine.context, { OpKind::Linear, {}, { &x, source }, "linear" }, y);
            QVERIFY(errorOf(y, expected) < 1e-6);
        }
    }

    void embeddingOnATableCutByRowsIsPartial()
    {
        Machine machine;
        const Mesh mesh = Mesh::parse("v=3").value();
        Sharded tokens({ 2, 20 }, Layout::replicated(2), mesh);
        tokens.allocate(machine.arena);
        for (std::int64_t p = 0; p < 3; ++p)
            Generator::tokens(1, "tokens", 11).fill(0, 40, tokens.data(p));
        const Sharded whole = machine.whole({ 11, 6 }, "table");
        Sharded streamed({ 11, 6 }, Layout::cut(2, 0, { 0 }), mesh);
        streamed.source = whole.source;
        const Sharded stored = machine.tensor({ 11, 6 }, Layout::cut(2, 0, { 0 }), mesh, "table");
        Layout partial = Layout::replicated(3);
        partial.partial = { { 0 } };
        for (const Sharded* table : { static_cast<const Sharded*>(&streamed), &stored }) {
            Sharded y({ 2, 20, 6 }, partial, mesh);
            y.allocate(machine.arena);
            executeOp(machine.context, { OpKind::Embedding, {}, { &tokens, table }, "embed" }, y);
            for (std::int64_t i = 0; i < 240; ++i) {
                const auto token = static_cast<std::int64_t>(tokens.data(0)[i / 6]);
                for (std::int64_t p = 0; p < 3; ++p) {
                    const bool mine = token >= stored.box(p)[0].lo && token < stored.box(p)[0].hi;
                    QCOMPARE(y.data(p)[i], mine ? whole.data(0)[token * 6 + i % 6] : 0.0f);
                }
            }
        }
    }

    /// More than one worker takes at once, and less; the devices' shards are uneven.
    void sumsOverRows()
    {
        Machine machine;
        const Mesh mesh = Mesh::parse("d=3").value();
        for (const std::int64_t rows : { 2501, 20 }) {
            const std::int64_t n = 351;
            const Layout cut = Layout::cut(3, 1, { 0 });
            const Sharded dy = machine.tensor({ 1, rows, n }, cut, mesh, "dy", 0.3);
            const Sharded x = machine.tensor({ 1, rows, n }, cut, mesh, "x", 0.5);
            const Sharded wholeDy = machine.whole({ 1, rows, n }, "dy", 0.3), wholeX = machine.whole({ 1, rows, n }, "x", 0.5);
            for (const OpKind kind : { OpKind::SumLeading, OpKind::RmsNormGradW, OpKind::LayerNormGradW }) {
                Doubles expected(at(n));
                for (std::int64_t row = 0; row < rows; ++row) {
                    const float* in = wholeX.data(0) + row * n;
                    double mean = 0, squares = 0;
                    for (std::int64_t i = 0; i < n; ++i)
                        mean += kind == OpKind::LayerNormGradW ? double { in[i] } / static_cast<double>(n) : 0;
                    for (std::int64_t i = 0; i < n; ++i)
                        squares += (double { in[i] } - mean) * (double { in[i] } - mean);
                    for (std::int64_t i = 0; i < n; ++i) {
                        const double g = double { wholeDy.data(0)[row * n + i] };
                        expected[at(i)] += kind == OpKind::SumLeading
                            ? g
                            : g * (double { in[i] } - mean) / std::sqrt(squares / static_cast<double>(n) + 1e-3);
                    }
                }
                Layout partial = Layout::replicated(1);
                partial.partial = { { 0 } };
                Sharded sums({ n }, partial, mesh);
                sums.allocate(machine.arena);
                OpCall call { kind, { 1e-3, 0, 0, 0 }, { &dy }, "sums" };
                if (kind != OpKind::SumLeading)
                    call.operands.push_back(&x);
                executeOp(machine.context, call, sums);
                for (std::int64_t i = 0; i < n; ++i) {
                    double got = 0;
                    for (std::int64_t device = 0; device < 3; ++device)
                        got += double { sums.data(device)[i] };
                    QVERIFY(std::fabs(got - expected[at(i)]) < 1e-5 * std::sqrt(static_cast<double>(rows)));
                }
            }
        }
    }

    void ropeRotatesByPosition()
    {
        Machine machine;
        const Sharded x = machine.whole({ 2, 5, 3, 8 }, "x");
        Sharded y = machine.empty({ 2, 5, 3, 8 });
        executeOp(machine.context, { OpKind::Rope, { 0, 10000, 7, 0 }, { &x }, "rope" }, y);
        const Doubles in = values(x);
        Doubles expected(in.size());
        for (std::size_t row = 0; row < 30; ++row) {
            const double position = 7 + static_cast<double>(row / 3 % 5);
            for (std::size_t i = 0; i < 4; ++i) {
                const double angle = position / std::pow(10000.0, 2.0 * static_cast<double>(i) / 8);
                const double a = in[row * 8 + i], b = in[row * 8 + i + 4];
                expected[row * 8 + i] = a * std::cos(angle) - b * std::sin(angle);
                expected[row * 8 + i + 4] = b * std::cos(angle) + a * std::sin(angle);
            }
        }
        QVERIFY(errorOf(y, expected) < 1e-6);
    }

    void attention_data()
    {
        QTest::addColumn<int>("fresh");
        QTest::addColumn<int>("cached");
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("kvHeads");
        QTest::newRow("prefill") << 9 << 9 << 4 << 4;
        QTest::newRow("prefill, grouped") << 9 << 9 << 6 << 2;
        QTest::newRow("longer than a block") << 300 << 300 << 2 << 1;
        QTest::newRow("decode") << 1 << 12 << 6 << 3;
        QTest::newRow("some new tokens") << 4 << 12 << 6 << 3;
    }
    void attention()
    {
        QFETCH(int, fresh);
        QFETCH(int, cached);
        QFETCH(int, heads);
        QFETCH(int, kvHeads);
        Machine machine;
        const Shape qs { 2, fresh, heads, 8 }, ks { 2, cached, kvHeads, 8 };
        const Sharded q = machine.whole(qs, "q"), k = machine.whole(ks, "k"), v = machine.whole(ks, "v");
        Sharded y = machine.empty(qs);
        executeOp(machine.context, { OpKind::Attention, {}, { &q, &k, &v }, "attention" }, y);
        const Doubles expected = naiveAttention(values(q), values(k), values(v), qs, ks);
        QVERIFY2(errorOf(y, expected) < 1e-6, std::to_string(errorOf(y, expected)).c_str());

        // The same on three devices that have their query heads and all KV heads.
        const Mesh mesh = Mesh::parse("h=3").value();
        const Sharded qCut = machine.tensor(qs, Layout::cut(4, 2, { 0 }), mesh, "q");
        const Sharded kWhole = machine.tensor(ks, Layout::replicated(4), mesh, "k");
        const Sharded vWhole = machine.tensor(ks, Layout::replicated(4), mesh, "v");
        Sharded yCut(qs, Layout::cut(4, 2, { 0 }), mesh);
        yCut.allocate(machine.arena);
        executeOp(machine.context, { OpKind::Attention, {}, { &qCut, &kWhole, &vWhole }, "attention" }, yCut);
        for (std::int64_t p = 0; p < 3; ++p) {
            std::vector<float> part(at(yCut.elements(p)));
            copyRegion(yCut.box(p), y.box(0), y.data(0), yCut.box(p), part.data());
            for (std::size_t i = 0; i < part.size(); ++i)
                QVERIFY(std::fabs(part[i] - yCut.data(p)[i]) < 1e-5f);
        }
    }

    void cacheKeepsOldTokensAndTakesNewOnes()
    {
        Machine machine;
        const Sharded x = machine.whole({ 2, 2, 3, 4 }, "x");
        Sharded cache = machine.empty({ 2, 5, 3, 4 });
        cache.source = Source { Generator::values(1, "old", 0, 1), Rounding::None, 1 };
        executeOp(machine.context, { OpKind::KvAppend, {}, { &x }, "cache" }, cache);
        const Sharded old = machine.whole({ 2, 5, 3, 4 }, "old");
        for (std::int64_t i = 0; i < 120; ++i) {
            const std::int64_t batch = i / 60, token = i / 12 % 5;
            QCOMPARE(cache.data(0)[i], token < 3 ? old.data(0)[i] : x.data(0)[(batch * 2 + token - 3) * 12 + i % 12]);
        }
    }

    void refusesShardsThatDoNotFit()
    {
        Machine machine;
        const Mesh mesh = Mesh::parse("m=2").value();
        const Sharded q = machine.tensor({ 1, 4, 4, 8 }, Layout::cut(4, 2, { 0 }), mesh, "q");
        const Sharded k = machine.tensor({ 1, 4, 4, 8 }, Layout::cut(4, 1, { 0 }), mesh, "k");
        Sharded y({ 1, 4, 4, 8 }, q.layout(), mesh);
        y.allocate(machine.arena);
        try {
            executeOp(machine.context, { OpKind::Attention, {}, { &q, &k, &k }, "block/attention" }, y);
            QFAIL("keys that are cut were accepted");
        } catch (const Failure& failure) {
            QCOMPARE(failure.code, "bad-plan");
            QCOMPARE(failure.where, "block/attention");
        }
    }

    void gatherWantsItsLastDimWhole()
    {
        Machine machine;
        const Mesh mesh = Mesh::parse("m=2").value();
        const Sharded rows = machine.tensor({ 4, 6 }, Layout::cut(2, 0, { 0 }), mesh, "x");
        Sharded y({ 4, 6 }, rows.layout(), mesh);
        y.allocate(machine.arena);
        executeOp(machine.context, { OpKind::GatherLast, {}, { &rows }, "gather" }, y);
        QCOMPARE(y.data(1)[11], rows.data(1)[11]);
        const Sharded columns = machine.tensor({ 4, 6 }, Layout::cut(2, 1, { 0 }), mesh, "x");
        Sharded z({ 4, 6 }, columns.layout(), mesh);
        z.allocate(machine.arena);
        try {
            executeOp(machine.context, { OpKind::GatherLast, {}, { &columns }, "gather" }, z);
            QFAIL("a cut last dim was accepted");
        } catch (const Failure& failure) {
            QCOMPARE(failure.code, "bad-plan");
        }
    }

    /// As many dims as a tensor of a program may have, of which none can be joined with its neighbor.
    void broadcastsOverEightDims()
    {
        test::OneDevice device;
        const Shape shape { 3, 3, 3, 3, 3, 3, 3, 3 };
        const Sharded a = device.made(shape, "a");
        const Sharded b = device.made({ 1, 3, 1, 3, 1, 3, 1, 3 }, "b");
        const auto sum = device.run(OpKind::Add, { &a, &b }, shape);
        for (std::size_t i = 0; i < sum.size(); ++i) {
            const std::size_t digits[] { i / 729 % 3, i / 81 % 3, i / 9 % 3, i % 3 };
            const std::size_t from = ((digits[0] * 3 + digits[1]) * 3 + digits[2]) * 3 + digits[3];
            QCOMPARE(sum[i], a.data(0)[i] + b.data(0)[from]);
        }
    }

    /// What is broadcast must be on every device that takes it.
    void absentPartsAreNotBroadcast()
    {
        Machine machine;
        const Mesh mesh = Mesh::parse("tp=2").value();
        Sharded a({ 64 }, Layout::replicated(1), mesh);
        Sharded b({ 1 }, Layout::cut(1, 0, { 0 }), mesh);
        Sharded y({ 64 }, Layout::replicated(1), mesh);
        for (Sharded* each : { &a, &b, &y })
            each->allocate(machine.arena);
        QVERIFY_EXCEPTION_THROWN(executeOp(machine.context, { OpKind::Add, {}, { &a, &b }, "add" }, y), Failure);
    }
};

SHARDBOARD_TEST(TestKernels)
#include "tst_kernels.moc"
