// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/sharded.h"
#include "engine/values/generator.h"
#include "engine/values/rounding.h"
#include "tests/support/runner.h"

#include <QTest>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

using namespace shardboard;
using namespace shardboard::engine;

namespace {

std::vector<float> stretch(const Generator& generator, std::int64_t start, std::int64_t count)
{
    std::vector<float> out(static_cast<std::size_t>(count));
    generator.fill(start, count, out.data());
    return out;
}

double correlation(const std::vector<float>& a, const std::vector<float>& b)
{
    double ab = 0;
    double aa = 0;
    double bb = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ab += double { a[i] } * double { b[i] };
        aa += double { a[i] } * double { a[i] };
        bb += double { b[i] } * double { b[i] };
    }
    return ab / std::sqrt(aa * bb);
}

} // namespace

class TestGenerator : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void hasTheMeanAndDeviationAskedFor()
    {
        constexpr std::int64_t kCount = 1 << 20;
        const auto values = stretch(Generator::values(1, "w", 2.0, 0.5), 0, kCount);
        double sum = 0;
        double squares = 0;
        const double half = 0.5 * std::sqrt(3.0);
        std::vector<int> bins(64, 0);
        for (const float value : values) {
            sum += double { value };
            squares += (double { value } - 2) * (double { value } - 2);
            QVERIFY(std::fabs(double { value } - 2) <= half * 1.000001);
            ++bins[static_cast<std::size_t>(std::min(63.0, (double { value } - 2 + half) / (2 * half) * 64))];
        }
        // Five standard errors of each estimate.
        QVERIFY(std::fabs(sum / kCount - 2) < 5 * 0.5 / std::sqrt(double { kCount }));
        QVERIFY(std::fabs(std::sqrt(squares / kCount) - 0.5) < 0.002);
        double chi = 0;
        for (const int count : bins)
            chi += std::pow(count - kCount / 64.0, 2) / (kCount / 64.0);
        QVERIFY2(chi < 130, std::to_string(chi).c_str()); // 63 degrees of freedom: mean 63, 130 is far out
    }

    void namesSeedsAndNeighboursAreUnrelated()
    {
        constexpr std::int64_t kCount = 1 << 18;
        const auto a = stretch(Generator::values(1, "layers.0.q", 0, 1), 0, kCount);
        const double limit = 5 / std::sqrt(double { kCount });
        for (const auto& b : { stretch(Generator::values(1, "layers.1.q", 0, 1), 0, kCount),
                               stretch(Generator::values(2, "layers.0.q", 0, 1), 0, kCount),
                               stretch(Generator::values(1, "layers.0.q", 0, 1), 1, kCount),
                               stretch(Generator::values(1, "layers.0.q", 0, 1), 4096, kCount),
                               stretch(Generator::values(1, "layers.0.q", 0, 1), std::int64_t { 1 } << 32, kCount) })
            QVERIFY2(std::fabs(correlation(a, b)) < limit, std::to_string(correlation(a, b)).c_str());
    }

    void anyCutGivesTheSameValues()
    {
        const Generator generator = Generator::values(3, "w", 0, 1);
        const std::int64_t start = (std::int64_t { 1 } << 32) - 100; // across the border of the 32-bit index
        const auto whole = stretch(generator, start, 300);
        for (std::int64_t i = 0; i < 300; ++i)
            QCOMPARE(stretch(generator, start + i, 1)[0], whole[static_cast<std::size_t>(i)]);
        QCOMPARE(stretch(generator, start + 77, 151), std::vector<float>(whole.begin() + 77, whole.begin() + 77 + 151));
    }

    void shardsMakeTheirOwnValues()
    {
        const Mesh mesh = Mesh::parse("a=2,b=3").value();
        const Shape shape { 7, 5, 11 };
        const Source source { Generator::values(9, "t", 0, 1), Rounding::None, 1 };
        std::vector<float> whole(7 * 5 * 11);
        fillBox(source, shape, { { 0, 7 }, { 0, 5 }, { 0, 11 } }, whole.data());
        QCOMPARE(whole, stretch(source.generator, 0, 7 * 5 * 11));
        Layout layout = Layout::replicated(3);
        layout.dims[0] = { { 1 } };
        layout.dims[2] = { { 0 } };
        for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
            const Box box = boxAt(shape, layout, mesh, position);
            std::vector<float> shard(static_cast<std::size_t>(volumeOf(box)));
            fillBox(source, shape, box, shard.data());
            std::size_t next = 0;
            for (std::int64_t i = box[0].lo; i < box[0].hi; ++i)
                for (std::int64_t j = box[1].lo; j < box[1].hi; ++j)
                    for (std::int64_t k = box[2].lo; k < box[2].hi; ++k)
                        QCOMPARE(shard[next++], whole[static_cast<std::size_t>((i * 5 + j) * 11 + k)]);
            QCOMPARE(next, shard.size());
        }
    }

    void tokensAreWholeNumbersOfTheVocabulary()
    {
        const auto tokens = stretch(Generator::tokens(1, "tokens", 10), 0, 100000);
        std::map<float, int> counts;
        for (const float token : tokens)
            ++counts[token];
        QCOMPARE(counts.size(), std::size_t { 10 });
        for (const auto& [token, count] : counts) {
            QVERIFY(token >= 0 && token < 10 && token == std::floor(token));
            QVERIFY(std::abs(count - 10000) < 500);
        }
    }

    void roundsToNearestEven()
    {
        std::vector<float> bf { 1.0f, 1.00390625f, 1.01171875f, 1.004f, -3.14159265f, 0.0f };
        roundValues(Rounding::BF16, 6, bf.data());
        QCOMPARE(bf, (std::vector<float> { 1.0f, 1.0f, 1.015625f, 1.0078125f, -3.140625f, 0.0f }));
        std::vector<float> half { 1.0f, 1.00048828125f, 1.00146484375f, 65519.0f, 65520.0f, 5.9604645e-8f, 2.9e-8f, -1e-5f };
        roundValues(Rounding::F16, 8, half.data());
        QCOMPARE(half[1], 1.0f);
        QCOMPARE(half[2], 1.001953125f);
        QCOMPARE(half[3], 65504.0f);
        QVERIFY(std::isinf(half[4]));
        QCOMPARE(half[5], 5.9604645e-8f);
        QVERIFY(half[6] == 0.0f);
        QCOMPARE(half[7], -168 * 5.9604644775390625e-8f); // 1e-5 is 167.77 steps of 2^-24
        float notNumber = std::numeric_limits<float>::quiet_NaN();
        roundValues(Rounding::BF16, 1, &notNumber);
        QVERIFY(std::isnan(notNumber));
    }
};

SHARDBOARD_TEST(TestGenerator)
#include "tst_generator.moc"
