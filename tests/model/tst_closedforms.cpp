// SPDX-License-Identifier: Apache-2.0
// The closed forms of memory, FLOPs and utilization against published values.
#include "model/cost/closedforms/activationbytes.h"
#include "model/cost/closedforms/adambytes.h"
#include "model/cost/closedforms/modelflops.h"
#include "model/families/modelsize.h"
#include "tests/support/models.h"
#include "tests/support/runner.h"

#include <QtTest>

using namespace shardboard;

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

/// The GPTs of arXiv 2205.05198, table 3, with what figure 1 says of them in GiB and figure 7 in percent.
struct Gpt {
    const char* name;
    double batch, hidden, heads, layers, stages, chunks;
    double parametersGiB, noneGiB, sequenceSelectiveGiB;
    double percent[4]; ///< of all kept: sequence, selective, both, full recompute
};

constexpr Gpt kGpts[] {
    { "22B", 4, 6144, 64, 48, 1, 1, 45.5625, 59.25, 9.5625, { 66.84, 49.42, 16.18, 7.64 } },
    { "175B", 1, 12288, 96, 96, 8, 3, 45.5625, 66.84375, 12.3515625, { 62.04, 56.53, 18.49, 8.71 } },
    { "530B", 1, 20480, 128, 105, 35, 3, 31.640625, 114.0234375, 23.076171875, { 58.31, 62.04, 20.27, 9.42 } },
    { "1T", 1, 25600, 160, 128, 64, 1, 32.958984375, 131.25, 26.5625, { 58.31, 62.04, 20.27, 9.42 } },
};

MegatronLayer layerOf(const Gpt& gpt) { return { 2048, gpt.batch, gpt.hidden, gpt.heads, 8 }; }

ModelSpec llama8B() { return llama3Model(); }
ModelSpec llama70B() { return denseModel(128256, 8192, 28672, 80, 64, 8, 128); }
ModelSpec llama405B() { return denseModel(128256, 16384, 53248, 126, 128, 8, 128); }

LlamaBlock blockOf(const ModelSpec& m)
{
    const auto wide = [](std::int64_t n) { return static_cast<double>(n); };
    return { wide(m.hiddenSize), wide(m.heads * m.headDim), wide(m.kvHeads * m.headDim), wide(m.heads), wide(m.intermediateSize) };
}

double parametersOf(const ModelSpec& model) { return static_cast<double>(modelSize(model).value().total); }

/// The value as it is printed with so many digits behind the point.
double rounded(double value, int digits) { return QString::number(value, 'f', digits).toDouble(); }

} // namespace

class TestClosedForms : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void megatronMemory()
    {
        for (const Gpt& gpt : kGpts) {
            const double layers = megatronLayersKept(gpt.layers, gpt.stages, gpt.chunks);
            QCOMPARE(megatronParameterBytes(gpt.hidden, gpt.layers, 8, gpt.stages) / kGiB, gpt.parametersGiB);
            QCOMPARE(layers * megatronLayerBytes(layerOf(gpt), MegatronKept::All) / kGiB, gpt.noneGiB);
            QCOMPARE(layers * megatronLayerBytes(layerOf(gpt), MegatronKept::SequenceSelective) / kGiB, gpt.sequenceSelectiveGiB);
        }
    }

    void megatronPercent()
    {
        constexpr MegatronKept kinds[] { MegatronKept::Sequence, MegatronKept::Selective, MegatronKept::SequenceSelective,
                                         MegatronKept::Full };
        for (const Gpt& gpt : kGpts)
            for (std::size_t i = 0; i < std::size(kinds); ++i) {
                const double all = megatronLayerBytes(layerOf(gpt), MegatronKept::All);
                const double percent = 100 * megatronLayerBytes(layerOf(gpt), kinds[i]) / all;
                QVERIFY2(std::abs(percent - gpt.percent[i]) <= 0.15,
                         qPrintable(QString("%1 %2: %3").arg(gpt.name).arg(i).arg(percent)));
            }
        const MegatronLayer layer = layerOf(kGpts[0]);
        QCOMPARE(megatronLayerBytes(layer, MegatronKept::FullSequence) * 8, megatronLayerBytes(layer, MegatronKept::Full));
    }

    void llamaParameters()
    {
        QCOMPARE(modelSize(llama8B())->total, 8030261248);
        QCOMPARE(modelSize(llama70B())->total, 70553706496);
        QCOMPARE(modelSize(llama405B())->total, 405853388800);
        const auto perLayer = [](ModelSpec model) {
            const auto all = modelSize(model)->total;
            --model.layers;
            return all - modelSize(model)->total;
        };
        QCOMPARE(perLayer(llama8B()), 218112000);
        QCOMPARE(perLayer(llama70B()), 855654400);
        QCOMPARE(perLayer(llama405B()), 3187703808);
    }

    void llamaWeightsAndStates()
    {
        const auto weights = [](const ModelSpec& model) { return 2 * parametersOf(model); };
        QCOMPARE(rounded(weights(llama8B()) / kGiB, 2), 14.96);
        QCOMPARE(rounded(weights(llama70B()) / kGiB, 2), 131.42);
        QCOMPARE(rounded(weights(llama405B()) / kGiB, 2), 755.96);
        // Published, in GB: 16, 140, 810.
        QCOMPARE(rounded(weights(llama8B()) / 1e9, 0), 16.0);
        QVERIFY(std::abs(weights(llama70B()) / 1e9 - 140) < 1.5);
        QVERIFY(std::abs(weights(llama405B()) / 1e9 - 810) < 2);
        const auto states = [](const ModelSpec& model, double ranks) {
            return rounded(parametersOf(model) * zeroBytesPerParameter(ZeroStage::Weights, ranks) / 1e9, ranks > 1 ? 2 : 1);
        };
        QCOMPARE(states(llama8B(), 1), 128.5);
        QCOMPARE(states(llama70B(), 1), 1128.9);
        QCOMPARE(states(llama405B(), 1), 6493.7);
        QCOMPARE(states(llama8B(), 64), 2.01);
        QCOMPARE(states(llama70B(), 64), 17.64);
        QCOMPARE(states(llama405B(), 64), 101.46);
    }

    /// 7.5 billion parameters on 64 ranks, arXiv 1910.02054, figure 1.
    void zeroStages()
    {
        const auto gigabytes = [](ZeroStage stage) { return rounded(7.5 * zeroBytesPerParameter(stage, 64), 1); };
        QCOMPARE(gigabytes(ZeroStage::None), 120.0);
        QCOMPARE(gigabytes(ZeroStage::Optimizer), 31.4);
        QCOMPARE(gigabytes(ZeroStage::Gradients), 16.6);
        QCOMPARE(gigabytes(ZeroStage::Weights), 1.9);
        QCOMPARE(adamStateBytes(DType::BF16), 12);
        QCOMPARE(adamStateBytes(DType::F32), 8);
    }

    void llamaActivations()
    {
        QCOMPARE(llamaKeptBytesPerToken(blockOf(llama8B())), 139392.0);
        QCOMPARE(llamaKeptBytesPerToken(blockOf(llama70B())), 274688.0);
        QCOMPARE(llamaKeptBytesPerToken(blockOf(llama405B())), 520704.0);
        QCOMPARE(rounded(llamaKeptBytesPerToken(blockOf(llama8B())) / 4096, 2), 34.03);
        QCOMPARE(rounded(llamaKeptBytesPerToken(blockOf(llama70B())) / 8192, 2), 33.53);
        QCOMPARE(rounded(llamaKeptBytesPerToken(blockOf(llama405B())) / 16384, 2), 31.78);
        const auto whole = [](const ModelSpec& model, bool full) {
            const LlamaBlock block = blockOf(model);
            const double perToken = full ? llamaFullRecomputeBytesPerToken(block) : llamaKeptBytesPerToken(block);
            return perToken * 8192 * static_cast<double>(model.layers) / kGiB;
        };
        QCOMPARE(rounded(whole(llama8B(), false), 1), 34.0);
        QCOMPARE(rounded(whole(llama70B(), false), 1), 167.7);
        QCOMPARE(rounded(whole(llama405B(), false), 1), 500.6);
        QCOMPARE(rounded(whole(llama8B(), false) / 8, 2), 4.25);
        QCOMPARE(rounded(whole(llama70B(), false) / 8, 2), 20.96);
        QCOMPARE(rounded(whole(llama405B(), false) / 8, 2), 62.57);
        QCOMPARE(whole(llama8B(), true), 2.0);
        QCOMPARE(whole(llama70B(), true), 10.0);
        QCOMPARE(whole(llama405B(), true), 31.5);
        QCOMPARE(rounded(logitBytes(128256, 8192, 1) / kGiB, 1), 3.9);
    }

    void keysAndValues()
    {
        const auto bytes = [](const ModelSpec& m) {
            return kvCacheBytesPerToken(static_cast<double>(m.layers), static_cast<double>(m.kvHeads),
                                        static_cast<double>(m.headDim), 2);
        };
        QCOMPARE(bytes(llama8B()), 131072.0);
        QCOMPARE(bytes(llama70B()), 327680.0);
        QCOMPARE(bytes(llama405B()), 516096.0);
        QCOMPARE(bytes(llama8B()) * 128000 / kGiB, 15.625);
        QCOMPARE(bytes(llama70B()) * 128000 / kGiB, 39.0625);
        QCOMPARE(rounded(bytes(llama405B()) * 128000 / kGiB, 2), 61.52);
    }

    void floatingPointOperations()
    {
        const auto linear = [](const ModelSpec& m) {
            const double norms = static_cast<double>((2 * m.layers + 1) * m.hiddenSize);
            const double table = static_cast<double>(m.vocabSize * m.hiddenSize);
            return rounded(linearFlopsPerToken(parametersOf(m) - table - norms) / 1e9, 2);
        };
        const auto attention = [](const ModelSpec& m) {
            return rounded(
                attentionFlopsPerToken(8192, static_cast<double>(m.hiddenSize), static_cast<double>(m.layers), true) / 1e9, 2);
        };
        QCOMPARE(linear(llama8B()), 15.01);
        QCOMPARE(linear(llama70B()), 139.00);
        QCOMPARE(linear(llama405B()), 807.50);
        QCOMPARE(attention(llama8B()), 2.15);
        QCOMPARE(attention(llama70B()), 10.74);
        QCOMPARE(attention(llama405B()), 33.82);
    }

    /// TorchTitan's docs/performance.md: tokens per second on an A100 (312 TFLOP/s) and the utilization beside them.
    void utilization()
    {
        const auto percent = [](const ModelSpec& m, double tokensPerSecond) {
            const double perToken =
                trainingFlopsPerToken(parametersOf(m), static_cast<double>(m.layers), static_cast<double>(m.hiddenSize), 8192);
            return rounded(100 * modelFlopsUtilization(tokensPerSecond, perToken, 312e12), 1);
        };
        QCOMPARE(percent(llama8B(), 2904), 56.8);
        QCOMPARE(percent(llama8B(), 2973), 58.2);
        QCOMPARE(percent(llama70B(), 331), 51.7);
        QCOMPARE(modelFlopsUtilization(100, 1, 0), 0.0);
    }
};

SHARDBOARD_TEST(TestClosedForms)
#include "tst_closedforms.moc"
