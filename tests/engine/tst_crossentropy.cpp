// SPDX-License-Identifier: Apache-2.0
// Cross-entropy on a vocabulary that is cut over devices, against its definition in double and central differences.
#include "tests/engine/bodyruns.h"
#include "tests/support/runner.h"

#include <QTest>

#include <algorithm>
#include <limits>

using namespace shardboard::engine;
using namespace shardboard::engine::numeric;

namespace {

/// -log softmax at the target, row by row.
Doubles losses(const Doubles& logits, const Floats& targets)
{
    const std::size_t rows = targets.size(), n = logits.size() / rows;
    Doubles out;
    for (std::size_t r = 0; r < rows; ++r) {
        double top = logits[r * n];
        for (std::size_t i = 0; i < n; ++i)
            top = std::max(top, logits[r * n + i]);
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i)
            sum += std::exp(logits[r * n + i] - top);
        out.push_back(targets[r] < 0 ? 0 : std::log(sum) + top - logits[r * n + static_cast<std::size_t>(targets[r])]);
    }
    return out;
}

struct Outcome {
    Floats loss;
    Floats gradient;
};

/// The columns of a vocabulary that a device has.
struct Device {
    std::int64_t first = 0;
    std::int64_t n = 0;
    Floats logits;

    void run(bodies::Loss kind, float scale, const std::vector<const Floats*>& operands, Floats& out) const
    {
        bodies::LossBody body;
        body.kind = kind;
        body.scale = scale;
        bodies::LossBody::Entry entry;
        entry.logits = elements(logits);
        bodies::Elements* const others[] = { &entry.first, &entry.second, &entry.third };
        for (std::size_t i = 0; i < operands.size(); ++i)
            *others[i] = elements(*operands[i]);
        entry.out = elements(out);
        entry.firstColumn = first;
        entry.n = n;
        entry.rows = static_cast<std::int64_t>(kind == bodies::Loss::Gradient ? operands[0]->size() : out.size());
        runAll(body, entry, entry.rows);
    }
};

/// Each part of the vocabulary as one device, the reductions between them by hand.
Outcome run(const Floats& logits, const Floats& targets, const std::vector<std::int64_t>& cuts, float scale)
{
    using bodies::Loss;
    const auto rows = static_cast<std::int64_t>(targets.size());
    const std::int64_t n = cuts.back();
    std::vector<Device> devices;
    Floats highest(at(rows), -std::numeric_limits<float>::infinity()), sum(at(rows)), picked(at(rows)), part(at(rows));
    for (std::size_t p = 0; p + 1 < cuts.size(); ++p) {
        Device device { cuts[p], cuts[p + 1] - cuts[p], {} };
        for (std::int64_t r = 0; r < rows; ++r)
            device.logits.insert(device.logits.end(), logits.begin() + r * n + cuts[p], logits.begin() + r * n + cuts[p + 1]);
        devices.push_back(device);
    }
    for (const Device& device : devices) {
        device.run(Loss::Highest, 1, {}, part);
        for (std::size_t r = 0; r < part.size(); ++r)
            highest[r] = std::max(highest[r], part[r]);
    }
    for (const Device& device : devices) {
        device.run(Loss::Sum, 1, { &highest }, part);
        for (std::size_t r = 0; r < part.size(); ++r)
            sum[r] += part[r];
        device.run(Loss::Target, 1, { &targets }, part);
        for (std::size_t r = 0; r < part.size(); ++r)
            picked[r] += part[r];
    }
    Outcome outcome { Floats(at(rows)), Floats(logits.size()) };
    devices.front().run(Loss::Token, 1, { &highest, &sum, &picked }, outcome.loss);
    for (std::size_t r = 0; r < targets.size(); ++r)
        if (targets[r] < 0)
            outcome.loss[r] = 0; // it does not count
    for (Device& device : devices) {
        device.run(Loss::Gradient, scale, { &highest, &sum, &targets }, device.logits); // in place
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t i = 0; i < device.n; ++i)
                outcome.gradient[at(r * n + device.first + i)] = device.logits[at(r * device.n + i)];
    }
    return outcome;
}

} // namespace

class TestCrossEntropy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void cutVocabularies()
    {
        const Floats targets { 0, 36, 12, -100, 11, 24 };
        const Floats logits = randomFloats(6 * 37, 1, 0.5, 3);
        const auto total = [&](const Doubles& at) { return 0.25 * dot(losses(at, targets), Doubles(6, 1.0)); };
        for (const auto& cuts :
             std::vector<std::vector<std::int64_t>> { { 0, 37 }, { 0, 12, 37 }, { 0, 12, 13, 13, 36, 37 }, { 0, 0, 37 } }) {
            const Outcome got = run(logits, targets, cuts, 0.25f);
            VERIFY_NEAR(got.loss, losses(doubles(logits), targets), 1e-6);
            VERIFY_NEAR(got.gradient, gradientOf(total, doubles(logits)), 1e-6);
        }
    }

    void largeLogits()
    {
        const Floats logits { 1000, 998, -1000, 5, -800, -801 };
        const Floats targets { 1, 2 };
        const Outcome got = run(logits, targets, { 0, 1, 3 }, 1);
        VERIFY_NEAR(got.loss, losses(doubles(logits), targets), 1e-6);
        QVERIFY(std::fabs(double { got.gradient[0] } - 1 / (1 + std::exp(-2.0))) < 1e-6);
        QCOMPARE(got.gradient[5], -1.0f);
        QCOMPARE(got.gradient[3], 1.0f);
    }

    void manyColumns()
    {
        const std::int64_t n = 50001;
        const Floats logits = randomFloats(2 * n, 1), targets { 7, 50000 };
        const Outcome got = run(logits, targets, { 0, 20000, n }, 1);
        VERIFY_NEAR(got.loss, losses(doubles(logits), targets), 1e-6);
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i)
            sum += double { got.gradient[at(i)] };
        QVERIFY(std::fabs(sum) < 1e-6);
    }
};

SHARDBOARD_TEST(TestCrossEntropy)
#include "tst_crossentropy.moc"
