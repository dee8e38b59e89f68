// SPDX-License-Identifier: Apache-2.0
// Weights, gradients, optimizer states, reductions, and caches in types of their own: bytes by hand.
#include "model/io/design/designfile.h"
#include "model/ops/precision.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>

#include <cmath>
#include <map>

using namespace shardboard;

namespace {

constexpr std::int64_t kParameters = 8'030'261'248; // Llama 3 8B

Design training(std::int64_t microBatches = 1)
{
    return designOn("fsdp=8", llama3Model(), { WorkloadKind::Train, 16, 8192, DType::BF16, microBatches, Recompute::Full }, "fsdp");
}

Precision types(const char* text)
{
    Precision out;
    (void)sure(readPrecision(text, out, "--precision"));
    return out;
}

/// Of a device in a step, by what they are of.
std::map<std::string, std::int64_t> movedBytes(const Evaluation& evaluation)
{
    std::map<std::string, std::int64_t> out;
    for (const Collective& collective : evaluation.plan.collectives)
        out[collectiveName(collective.kind)] += collective.bytes * collective.count;
    return out;
}

} // namespace

class TestPrecision : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// What says what a workload says anyway changes nothing.
    void saidIsAsUsual()
    {
        for (const std::int64_t microBatches : { 1, 2 }) {
            Design design = training(microBatches);
            const auto usual = evaluated(design);
            design.workload.precision = types("weights=bf16,activations=bf16,cache=bf16,optimizer=f32,master=f32,reductions=bf16");
            design.workload.precision.gradients = microBatches > 1 ? DType::F32 : DType::BF16;
            const auto said = evaluated(design);
            QVERIFY(said->plan.memory == usual->plan.memory);
            QCOMPARE(said->plan.seconds(), usual->plan.seconds());
            QCOMPARE(said->plan.collectiveBytes(), usual->plan.collectiveBytes());
        }
    }

    /// Stored in f32 they are their own copy; they are gathered in bf16 as before, and a layer's gradients go out in twice the
    /// bytes.
    void asFsdpMixedPrecision()
    {
        Design design = training();
        const auto usual = evaluated(design);
        QCOMPARE(usual->plan.memory.weights, kParameters / 8 * 2);
        design.workload.precision = types("weights=f32,gradients=f32,reductions=f32");
        const auto mixed = evaluated(design);
        QCOMPARE(mixed->plan.memory.weights, kParameters / 8 * 4);
        QCOMPARE(mixed->plan.memory.masterWeights, 0);
        QCOMPARE(mixed->plan.memory.optimizer, kParameters / 8 * 8);
        QCOMPARE(mixed->plan.memory.gathered, usual->plan.memory.gathered);
        const auto before = movedBytes(*usual);
        auto after = movedBytes(*mixed);
        QCOMPARE(after["all-gather"], before.at("all-gather"));
        QCOMPARE(after["reduce-scatter"], 2 * before.at("reduce-scatter"));
        QVERIFY(mixed->plan.seconds() > usual->plan.seconds());
    }

    void optimizerStatesInTwoBytes()
    {
        Design design = training(2);
        const auto usual = evaluated(design);
        QCOMPARE(usual->plan.memory.gradients, kParameters / 8 * 4);
        design.workload.precision = types("gradients=bf16,optimizer=bf16,master=bf16");
        const auto narrow = evaluated(design);
        QCOMPARE(narrow->plan.memory.gradients, kParameters / 8 * 2);
        QCOMPARE(narrow->plan.memory.optimizer, kParameters / 8 * 4);
        QCOMPARE(narrow->plan.memory.masterWeights, 0); // the weights are bf16 themselves
        QVERIFY(narrow->plan.computeSeconds < usual->plan.computeSeconds); // the step reads less
    }

    void cachesAndWeightsOfServing()
    {
        for (const WorkloadKind kind : { WorkloadKind::Prefill, WorkloadKind::Decode }) {
            Design design = designOn("model=8", llama3Model(), { kind, 8, 8192, DType::BF16 }, "megatron-tp");
            const auto usual = evaluated(design);
            design.workload.precision = types("cache=f8e4m3");
            const auto narrow = evaluated(design);
            QCOMPARE(2 * narrow->plan.memory.kvCache, usual->plan.memory.kvCache);
            QCOMPARE(narrow->plan.memory.weights, usual->plan.memory.weights);
            if (kind == WorkloadKind::Decode)
                QVERIFY(narrow->plan.computeSeconds < usual->plan.computeSeconds);
            design.workload.precision = types("weights=f8e4m3");
            const auto weights = evaluated(design);
            QCOMPARE(2 * weights->plan.memory.weights, usual->plan.memory.weights);
            QCOMPARE(weights->plan.memory.kvCache, usual->plan.memory.kvCache);
        }
    }

    /// Each step reads weights that are stored in f32 and writes them in the type that products take: 6 bytes of an element, but
    /// not of the table in which rows are looked up.
    void castsTakeTime()
    {
        Design design = designOn("data=2,model=4", llama3Model(), { WorkloadKind::Decode, 32, 4096, DType::BF16 }, "megatron-tp");
        const auto seconds = [&] { return evaluated(design)->plan.computeSeconds; };
        const double usual = seconds();
        design.workload.precision = types("weights=f32");
        const double elements = (static_cast<double>(kParameters) - 128'256.0 * 4096) / 4;
        const DeviceSpec device = findHardware("dgx-h100").value().device;
        const double rate = device.kernels.memoryEfficiency * device.memoryBytesPerSecond;
        const double expected = 6 * elements / rate;
        QVERIFY2(std::abs((seconds() - usual) / expected - 1) < 0.1, qPrintable(QString::number((seconds() - usual) / expected)));
    }

    /// What activations are held in moves bytes; products are computed in the workload's type.
    void productsAreInTheirOwnType()
    {
        for (const DType dtype : { DType::BF16, DType::F8E4M3 }) {
            Design design = training();
            design.workload.dtype = dtype;
            const auto usual = evaluated(design);
            design.workload.precision = types("activations=f32");
            const auto wide = evaluated(design);
            QVERIFY(wide->plan.computeSeconds > usual->plan.computeSeconds);
            QVERIFY(wide->plan.computeSeconds < 1.7 * usual->plan.computeSeconds);
            for (std::size_t s = 0; s < usual->plan.segments.size(); ++s)
                for (std::size_t i = 0; i < usual->plan.segments[s].ops.size(); ++i)
                    if (const KernelWork& work = usual->plan.segments[s].ops[i].work; work.flops > 0)
                        QVERIFY(wide->plan.segments[s].ops[i].work.dtype == work.dtype);
        }
    }

    void filesKeepIt()
    {
        Design design = training();
        QVERIFY(designText(design).find("precision") == std::string::npos);
        design.workload.precision = types("weights=f32,optimizer=bf16");
        const std::string text = designText(design);
        QVERIFY(sure(designFromText(text, "d")).workload.precision == design.workload.precision);
        const auto refuse = [&](const char* from, const char* to, const char* expected) {
            std::string changed = text;
            changed.replace(changed.find(from), std::string(from).size(), to);
            const auto read = designFromText(changed, "d");
            QVERIFY2(!read.ok() && read.error().text().find(expected) != std::string::npos,
                     read.ok() ? "it was read" : read.error().text().c_str());
        };
        refuse("\"optimizer\":\"bf16\"", "\"optimizer\":\"i64\"", "optimizer states cannot be held in i64; use f32, bf16");
        refuse("\"optimizer\":\"bf16\"", "\"optimizer\":7", "d:workload.precision.optimizer");
        refuse("\"optimizer\":\"bf16\"", "\"optimizer\":\"f33\"", "d:workload.precision.optimizer");
        refuse("\"precision\": {", "\"precision\": [],\"none\": {", "d:workload.precision");
    }

    void textsAreRead()
    {
        QCOMPARE(precisionText(types("weights=float32,cache=fp8")), std::string("weights=f32,cache=f8e4m3"));
        for (const char* wrong : { "weights", "weight=f32", "weights=f33", "=f32", "weights=", "weights=f32,x", "weights==f32" }) {
            Precision precision;
            QVERIFY2(!readPrecision(wrong, precision, "--precision").ok(), wrong);
        }
    }
};

SHARDBOARD_TEST(TestPrecision)
#include "tst_precision.moc"
