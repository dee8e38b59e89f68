// SPDX-License-Identifier: Apache-2.0
// Kernel times against measured products and by their laws; what runs beside the computation.
#include "model/cost/kernellimits.h"
#include "model/cost/kerneltime.h"
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/plan/time/compiledcost.h"
#include "model/plan/time/hosttime.h"
#include "model/plan/time/steptime.h"
#include "tests/support/designs.h"
#include "tests/support/runner.h"

#include <QtTest>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

using namespace shardboard;

namespace {

KernelWork product(double b, double m, double n, double k)
{
    KernelWork work;
    work.kernel = KernelClass::Gemm;
    work.gemm = { b, m, n, k };
    work.flops = 2 * b * m * n * k;
    work.bytes = 2 * b * (m * k + k * n + m * n);
    return work;
}

Design llama(const char* mesh, const char* preset, Overlap overlap)
{
    Workload work { WorkloadKind::Train, 16, 2048, DType::BF16 };
    work.overlap = overlap;
    return designOn(mesh, denseModel(4096, 1024, 4096, 4, 16, 8, 64), work, preset);
}

/// The sizes of Qwen3-30B-A3B, two layers.
ModelSpec mixture()
{
    ModelSpec model = denseModel(4096, 2048, 6144, 2, 32, 4, 128);
    model.moe.experts = 128;
    model.moe.chosen = 8;
    model.moe.intermediateSize = 768;
    return model;
}

} // namespace

class TestKernelTime : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// By the largest of what runs beside or after each other; never by what is not there.
    void limitsAreOfTheLargestPart()
    {
        const Hardware hardware = findHardware("dgx-h100").value();
        KernelWork work;
        work.kernel = KernelClass::Gemm;
        work.flops = 1e13;
        const KernelLimits flops = kernelLimits(work, hardware);
        QVERIFY(flops.computes);
        QCOMPARE(flops.device, kernelSeconds(work, hardware));
        QVERIFY(flops.start > 0 && flops.start < 0.01 * flops.device);
        work.bytes = 1e12; // 0.3 s at 3.35 TB/s, where the FLOPs take 0.01 s
        QVERIFY(!kernelLimits(work, hardware).computes);
        std::swap(work.bytes, work.between);
        QVERIFY(!kernelLimits(work, hardware).computes);
        work.between = 0;
        work.flops = 0;
        QCOMPARE(kernelLimits(work, hardware).device, kernelLimits(work, hardware).start);
    }

    void waves()
    {
        QCOMPARE(waveShare({ 1, 128, 256, 64 }, 132), 1.0); // less than a wave: smaller tiles
        QCOMPARE(waveShare({ 1, 128 * 132, 256, 64 }, 132), 1.0);
        QCOMPARE(waveShare({ 1, 128 * 133, 256, 64 }, 132), 133.0 / 264);
        QCOMPARE(waveShare({ 2, 128 * 66, 256, 64 }, 132), 1.0);
        QCOMPARE(waveShare({ 1, 1e6, 1e6, 64 }, 0), 1.0); // a device without such tiles
    }

    /// Nobody gains by computing more: 4,097 tokens once took less than 4,096.
    void growingNeverHelps()
    {
        const Hardware h100 = findHardware("dgx-h100").value();
        for (const double n : { 8.0, 1024.0, 14336.0 / 8, 14337.0, 128256.0 })
            for (const double k : { 64.0, 4096.0 }) {
                double columns = 0;
                double rows = 0;
                for (double m = 1; m < 1100; m += 1) {
                    const double oneMoreRow = kernelSeconds(product(1, m, n, k), h100);
                    const double oneMoreColumn = kernelSeconds(product(1, n, m, k), h100);
                    QVERIFY2(oneMoreRow >= rows * (1 - 1e-12) && oneMoreColumn >= columns * (1 - 1e-12),
                             qPrintable(QStringLiteral("%1 %2 %3").arg(m).arg(n).arg(k)));
                    rows = oneMoreRow;
                    columns = oneMoreColumn;
                }
            }
    }

    /// By hand: 8192^3 in bf16 on an H100: 32 x 64 tiles on 132 multiprocessors are 15.5 of 16 waves.
    void byHand()
    {
        const Hardware h100 = findHardware("dgx-h100").value();
        const double flops = 2.0 * 8192 * 8192 * 8192;
        const double share = 64.0 * 32 / 132 / 16;
        const double deep = 8192.0 / (8192 + 172);
        const double rate = 0.858 * 0.90 * 989.4e12;
        QVERIFY(qFuzzyCompare(kernelSeconds(product(1, 8192, 8192, 8192), h100), 5.5e-6 + flops / (rate * share * deep)));
        // Half of the time of a tile's product in fp8, and as long for its start and end.
        KernelWork fp8 = product(1, 8192, 8192, 8192);
        fp8.dtype = DType::F8E4M3;
        const double deepFp8 = 8192 / (8192 + 172 * 1978.9 / 989.4);
        QVERIFY(qFuzzyCompare(kernelSeconds(fp8, h100), 5.5e-6 + flops / (0.75 * 0.90 * 1978.9e12 * share * deepFp8)));
        KernelWork norm;
        norm.kernel = KernelClass::Memory;
        norm.bytes = 1e9;
        QVERIFY(qFuzzyCompare(kernelSeconds(norm, h100), 5.5e-6 + 1e9 / (0.80 * 3.35e12)));
        QCOMPARE(kernelSeconds({}, h100), 0.0);
    }

    /// An array of 128: 4,097 columns are as dear as 4,224; it is the inner dim and the cheaper of the others that count.
    void arrays()
    {
        QCOMPARE(paddedShare({ 1, 4096, 4096, 4096 }, 128), 1.0);
        QCOMPARE(paddedShare({ 1, 4096, 4096, 64 }, 128), 0.5);
        QCOMPARE(paddedShare({ 1, 4096, 100, 4096 }, 128), 1.0);
        QCOMPARE(paddedShare({ 1, 100, 64, 4096 }, 128), 100.0 / 128);
        QCOMPARE(paddedShare({ 1, 100, 64, 4096 }, 0), 1.0);
        const Hardware v5e = findHardware("tpu-v5e-pod").value();
        const double flops = 2.0 * 8192 * 8192 * 8192;
        // 6.047 ms, of which 0.105 are the call (JAX documentation, pallas/tpu/matmul).
        const double seconds = kernelSeconds(product(1, 8192, 8192, 8192), v5e);
        QVERIFY(qFuzzyCompare(seconds, 5.5e-6 + flops / (0.95 * 197e12)));
        QVERIFY(std::abs(seconds / (6.047e-3 - 0.105e-3) - 1) < 0.02);
    }

    /// FlashAttention-3's paper, figures 5 and 6, H100, cuDNN and FlashAttention-3: 595 and 648 forward, 516 and 561 backward at
    /// 16,384 keys; a head of 64 and few keys reach less; FlashAttention-2 322 backward.
    void attention()
    {
        const DeviceSpec h100 = *findDevice("h100-sxm");
        KernelWork work;
        work.kernel = KernelClass::Attention;
        work.headDim = 128;
        work.keys = 16384;
        const double forward = attentionRate(work, h100) / 1e12;
        QVERIFY2(forward > 560 && forward < 650, qPrintable(QString::number(forward)));
        work.keys = 1024;
        QVERIFY(attentionRate(work, h100) / 1e12 / forward < 0.75);
        work.keys = 16384;
        work.headDim = 64;
        QVERIFY(qFuzzyCompare(attentionRate(work, h100) / 1e12, forward * 0.75));
        work.headDim = 128;
        work.backward = true;
        const double backward = attentionRate(work, h100) / 1e12;
        QVERIFY2(backward > 480 && backward < 560, qPrintable(QString::number(backward)));
        work.flash2 = true;
        QVERIFY(attentionRate(work, h100) / 1e12 < 322);
        work.flash2 = false;
        work.backward = false;
        work.headDim = 0; // nothing is known
        work.keys = 0;
        QVERIFY(qFuzzyCompare(attentionRate(work, h100), 0.62 * 989.4e12));
    }

    /// Small kernels start one after the other: a layer takes as long as the host, but not in a recorded graph.
    void host()
    {
        KernelConstants kernels;
        kernels.hostSeconds = 4e-6;
        KernelWork work = product(16, 128, 128, 128);
        work.launches = 2;
        QCOMPARE(hostSeconds(work, kernels), 8e-6);
        work.hostCalls = 16;
        QCOMPARE(hostSeconds(work, kernels), 72e-6);
        work.inGraph = true;
        QCOMPARE(hostSeconds(work, kernels), 0.0);
        Design design =
            designOn("data=2", denseModel(512, 128, 256, 2, 4, 4, 32), { WorkloadKind::Train, 2, 32, DType::BF16 }, "replicate");
        const auto plain = evaluate(design).value();
        Hardware slow = hardwareOf(design).value();
        slow.device.kernels.hostSeconds = 1e-3;
        setHardware(design, slow);
        const auto waits = evaluate(design).value();
        double kernelsOf = 0;
        for (const PlannedSegment& segment : waits->plan.segments)
            for (const PlannedOp& op : segment.ops)
                kernelsOf += static_cast<double>(op.count) * op.work.launches * (op.work.kernel == KernelClass::None ? 0 : 1);
        QVERIFY(plain->plan.computeSeconds < 0.1 * waits->plan.computeSeconds);
        // While the device waits for gradients to be reduced, the host runs ahead.
        const double step = waits->plan.computeSeconds + waits->plan.exposedSeconds;
        QVERIFY(std::abs(step / (kernelsOf * 1e-3) - 1) < 1e-9);
        CompiledCost compiled(waits->graph, waits->plan, DType::BF16);
        QVERIFY(std::abs(compiled.on(slow).seconds / waits->plan.seconds() - 1) < 1e-9);
    }

    /// Against a hundred layers, one after the other: the host starts steps in turn, the device runs them in turn, and the host
    /// goes on after what it reads back when the device is done with it.
    void hostRunsAheadUntilItReads()
    {
        std::uint32_t state = 12345;
        const auto random = [&](double most) {
            state = state * 1664525 + 1013904223;
            return most * static_cast<double>(state >> 8) / (1 << 24);
        };
        int waited = 0;
        for (int round = 0; round < 200; ++round) {
            std::vector<HostStep> steps;
            for (int i = 0; i < 12; ++i)
                steps.push_back({ random(1) < 0.2 ? 0 : random(1), random(round % 2 == 0 ? 1.5 : 0.8), false });
            if (round % 3 != 0)
                steps[static_cast<std::size_t>(random(12))] = { 0.3, 0.4, true };
            double host = 0, device = 0, before = 0;
            for (int layer = 0; layer < 200; ++layer) {
                before = layer == 100 ? device : before;
                for (const HostStep& step : steps) {
                    host += step.host;
                    device = (step.host > 0 ? std::max(device, host) : device) + step.device;
                    host = step.readsBack ? std::max(host, device) : host;
                }
            }
            std::vector<double> waits;
            double predicted = 0;
            if (hostWaits(steps, waits))
                for (const double wait : waits)
                    predicted += wait;
            waited += predicted > 0;
            for (const HostStep& step : steps)
                predicted += step.device;
            QVERIFY2(std::abs((device - before) / 100 - predicted) < 1e-9,
                     qPrintable(QString::number((device - before) / 100 / predicted)));
        }
        QVERIFY(waited > 50 && waited < 200);
    }

    /// What only calibrated hardware has: a cache, and operands that are moved before they are computed with. By hand.
    void cachesAndPacking()
    {
        Hardware here = findHardware("dgx-h100").value();
        DeviceSpec& device = here.device;
        device.kernels = {};
        device.memoryBytesPerSecond = 50e9;
        device.kernels.launchSeconds = 1e-6;
        device.kernels.memoryEfficiency = 0.8; // 40 GB/s
        device.cache = CacheRate { 8e6, 100e9 };
        const auto moved = [&](double bytes) {
            KernelWork work;
            work.kernel = KernelClass::Memory;
            work.bytes = bytes;
            return kernelSeconds(work, here);
        };
        QVERIFY(qFuzzyCompare(moved(4e6), 1e-6 + 40e-6));
        QVERIFY(qFuzzyCompare(moved(8e6), 1e-6 + 80e-6));
        QVERIFY(qFuzzyCompare(moved(48e6), 1e-6 + 80e-6 + 1e-3));
        double before = 0;
        for (double bytes = 1; bytes < 1e9; bytes *= 1.01) {
            QVERIFY(moved(bytes) > before);
            before = moved(bytes);
        }
        KernelWork work = product(1, 512, 512, 512);
        const double compute = work.flops / (0.78 * 989.4e12);
        QVERIFY(qFuzzyCompare(kernelSeconds(work, here), 1e-6 + work.bytes / 100e9)); // the longer of both
        device.kernels.gemmPacking = Packing { 20e9, 0.5e6, {} };
        QVERIFY(qFuzzyCompare(kernelSeconds(work, here), 1e-6 + compute + (work.bytes - 0.5e6) / 20e9));
        device.kernels.gemmPacking->unpackedEfficiency = 0.39;
        QVERIFY(qFuzzyCompare(kernelSeconds(work, here), 1e-6 + 2 * compute + work.bytes / 100e9)); // which is less
        device.kernels.gemmPacking->bytesPerSecond = 1e15;
        QVERIFY(qFuzzyCompare(kernelSeconds(work, here), 1e-6 + compute + (work.bytes - 0.5e6) / 1e15));
        device.kernels.gemmPacking = Packing { 20e9, 2e6, 0.3 };
        double rows = 0;
        for (double m = 1; m < 4000; m += 7) {
            QVERIFY(kernelSeconds(product(1, m, 4096, 1024), here) >= rows * (1 - 1e-12));
            rows = kernelSeconds(product(1, m, 4096, 1024), here);
        }
        work.kernel = KernelClass::Attention;
        device.kernels.attentionPacking = Packing { 5e9, 0, {} };
        QVERIFY(qFuzzyCompare(kernelSeconds(work, here), 1e-6 + work.flops / (0.60 * 989.4e12) + work.bytes / 5e9));
        // No preset has any of them: their numbers are those of the plain laws.
        for (const Hardware& preset : hardwarePresets()) {
            QVERIFY(!preset.device.cache && !preset.device.kernels.gemmPacking && !preset.device.kernels.attentionPacking);
            for (const Level& level : preset.levels)
                QVERIFY(!level.link.cache && (!level.link.shared || !level.link.messageSeconds));
        }
    }

    void measuredProducts()
    {
        const QString root = qEnvironmentVariable("SHARDBOARD_SHARED", QStringLiteral(SHARDBOARD_SOURCE_DIR "/../shared"));
        QFile file(root + QStringLiteral("/data/hardware.json"));
        if (!file.open(QIODevice::ReadOnly))
            QSKIP("the measured points are not here (SHARDBOARD_SHARED)");
        const auto data = nlohmann::json::parse(file.readAll().toStdString());
        Hardware h100 = findHardware("dgx-h100").value();
        h100.device.kernels.sustainedClock = 1; // short runs
        double sum = 0;
        int points = 0;
        for (const auto& point : data["gemm_model"]["h100_bf16_tflops_examples"]) {
            const KernelWork work = product(point["b"], point["m"], point["n"], point["k"]);
            const double measured = work.flops / (point["tflops"].get<double>() * 1e12);
            const double error = kernelSeconds(work, h100) / measured - 1;
            qInfo("%.0f x %.0f x %.0f x %.0f: %+.1f %%", work.gemm.b, work.gemm.m, work.gemm.n, work.gemm.k, 100 * error);
            sum += std::abs(error);
            ++points;
        }
        QVERIFY(points >= 7);
        qInfo("mean error %.2f %%", 100 * sum / points);
        QVERIFY(sum / points <= 0.05);
    }

    /// With nothing, with what moves weights, and with all collectives beside the computation.
    void overlap()
    {
        const auto none = evaluate(llama("fsdp=2,model=2", "tp+fsdp", Overlap::None)).value();
        const auto weights = evaluate(llama("fsdp=2,model=2", "tp+fsdp", Overlap::Weights)).value();
        const auto all = evaluate(llama("fsdp=2,model=2", "tp+fsdp", Overlap::All)).value();
        QCOMPARE(none->plan.exposedSeconds, none->plan.collectiveSeconds);
        QCOMPARE(none->plan.seconds(), none->plan.computeSeconds + none->plan.collectiveSeconds);
        QCOMPARE(weights->plan.collectiveSeconds, none->plan.collectiveSeconds);
        QVERIFY(weights->plan.seconds() < none->plan.seconds());
        QVERIFY(all->plan.seconds() < weights->plan.seconds());
        // By segment: what is exposed is at least what cannot be hidden.
        double moved = 0;
        for (const Collective& collective : weights->plan.collectives)
            if (movesWeight(weights->graph, collective))
                moved += static_cast<double>(collective.count) * collective.seconds;
        QVERIFY(moved > 0);
        QVERIFY(weights->plan.exposedSeconds >= weights->plan.collectiveSeconds - moved - 1e-12);
        for (const SegmentTime& time : segmentTimes(all->graph, all->plan)) {
            QVERIFY(time.exposed >= 0 && time.exposed <= time.collectives * (1 + 1e-12));
        }
    }

    /// Each kind of kind apart: what one hides, the others do not; the kinds add up to everything.
    void overlapByTraffic()
    {
        Design design = llama("stage=2,fsdp=2,model=2", "pp-1f1b", Overlap::None);
        design.workload.microBatches = 4;
        const auto none = evaluate(design).value();
        std::array<double, kOverlapKinds.size()> moved {};
        for (const Collective& collective : none->plan.collectives)
            moved[static_cast<std::size_t>(overlapKindOf(none->graph, none->plan, collective))] +=
                static_cast<double>(collective.count) * collective.seconds;
        for (const OverlapKind kind :
             { OverlapKind::WeightGathers, OverlapKind::GradientScatters, OverlapKind::Tensor, OverlapKind::Sends }) {
            const std::string name = overlapKindName(kind);
            const double seconds = moved[static_cast<std::size_t>(kind)];
            QVERIFY2(seconds > 0, name.c_str());
            design.workload.overlap = Overlap::None.with(kind);
            const auto hidden = evaluate(design).value();
            const double saved = none->plan.exposedSeconds - hidden->plan.exposedSeconds;
            QVERIFY2(saved > 0 && saved <= seconds * (1 + 1e-9), name.c_str());
            QVERIFY2(hidden->plan.seconds() < none->plan.seconds(), name.c_str());
            if (kind == OverlapKind::Sends) // stages wait for each other instead
                QVERIFY(std::abs(saved - seconds) <= 1e-9 * seconds);
        }
        design.workload.overlap = Overlap::None.with(OverlapKind::Context);
        QCOMPARE(evaluate(design).value()->plan.seconds(), none->plan.seconds()); // the preset has none
    }

    /// Over one node nothing changes; over several, less crosses the network, but no less than once to a node.
    void tokensOncePerNode()
    {
        const auto step = [](const char* mesh, Dispatch dispatch) {
            Workload work { WorkloadKind::Train, 64, 2048, DType::BF16 };
            work.dispatch = dispatch;
            return evaluate(designOn(mesh, mixture(), work, "ep")).value();
        };
        const auto seconds = [](const Evaluation& evaluation) {
            double sum = 0;
            for (const Collective& it : evaluation.plan.collectives)
                if (it.kind == CollectiveKind::AllToAll)
                    sum += static_cast<double>(it.count) * it.seconds;
            return sum;
        };
        const double inNode = seconds(*step("expert=8", Dispatch::PerExpert));
        QVERIFY(inNode > 0);
        QCOMPARE(seconds(*step("expert=8", Dispatch::PerNode)), inNode);
        const auto every = step("expert=32", Dispatch::PerExpert);
        const auto once = step("expert=32", Dispatch::PerNode);
        const double met = 4 * (1 - std::pow(0.75, 8)); // of 4 nodes, by 8 experts
        const double share = seconds(*once) / seconds(*every);
        QVERIFY2(share < 1 && share >= met / 8 * 0.999, std::to_string(share).c_str());
        QCOMPARE(once->plan.collectiveBytes(), every->plan.collectiveBytes());
        QCOMPARE(once->plan.computeSeconds, every->plan.computeSeconds);
        Design repriced = designOn("expert=32", mixture(), { WorkloadKind::Train, 64, 2048, DType::BF16 }, "ep");
        CompiledCost cost(once->graph, once->plan, DType::BF16);
        QVERIFY(std::abs(cost.on(hardwareOf(repriced).value()).seconds / once->plan.seconds() - 1) < 1e-9);
    }

    /// Tokens to experts as Megatron sends them: those of one expert come from every device and are put together, which reads and
    /// writes them once more than where a node is sent to; the host waits for how many there are, unless that is fixed.
    void mixturesOfMegatron()
    {
        const auto step = [](Dispatch dispatch, double capacity) {
            Workload work { WorkloadKind::Train, 16, 2048, DType::BF16 };
            work.dispatch = dispatch;
            work.capacityFactor = capacity;
            Design design = designOn("expert=8", mixture(), work, "ep");
            design.memory.framework = Framework::Megatron;
            Hardware slow = sure(findHardware("dgx-h100"));
            slow.device.kernels.hostSeconds = 50e-6;
            setHardware(design, slow);
            return evaluated(design);
        };
        const auto dispatched = [](const Evaluation& of) {
            for (const PlannedSegment& segment : of.plan.segments)
                for (const PlannedOp& op : segment.ops)
                    if (of.graph.op(op.op).kind == OpKind::Dispatch)
                        return op.work;
            qFatal("nothing is dispatched");
        };
        const auto every = step(Dispatch::PerExpert, 0);
        const double tokens = 16.0 / 8 * 2048 * 8 * 2048 * 2; // of a device, for 8 experts, 2,048 wide, in bf16
        QCOMPARE(dispatched(*every).bytes - dispatched(*step(Dispatch::PerNode, 0)).bytes, 2 * tokens);
        QVERIFY(dispatched(*every).readsBack);
        const auto fixed = step(Dispatch::PerExpert, 1);
        QVERIFY(!dispatched(*fixed).readsBack);
        QVERIFY(fixed->plan.seconds() < every->plan.seconds());
    }

    /// Plain and compiled, whatever the host: a slower one makes no step faster.
    void hostsOfMixtures()
    {
        for (const char* preset : { "ep", "pp+ep" })
            for (const bool beside : { false, true }) {
                Workload work { WorkloadKind::Train, 64, 2048, DType::BF16, 4 };
                work.overlap = beside ? Overlap::Weights.with(OverlapKind::Experts) : Overlap::None;
                work.recompute = beside ? Recompute::Full : Recompute::None;
                const bool staged = preset[0] == 'p';
                Design design = designOn(staged ? "stage=2,expert=8" : "expert=8", mixture(), work, preset);
                if (staged && beside)
                    design.pipeline.schedule = PipelineSchedule::ZeroBubble;
                design.memory.framework = Framework::Megatron;
                double before = 0;
                std::optional<CompiledCost> compiled;
                for (const double host : { 0.0, 13.5e-6, 100e-6 }) {
                    Hardware hardware = sure(findHardware("dgx-h100"));
                    hardware.device.kernels.hostSeconds = host;
                    setHardware(design, hardware);
                    const auto there = evaluated(design);
                    const double seconds = there->plan.seconds();
                    QVERIFY(seconds >= before * (host > 50e-6 ? 1.1 : 1));
                    before = seconds;
                    if (!compiled)
                        compiled.emplace(there->graph, there->plan, DType::BF16);
                    const double again = compiled->on(hardware).seconds;
                    QVERIFY2(std::abs(again / seconds - 1) < 1e-9, qPrintable(QString::number(again / seconds)));
                    QVERIFY(std::abs(compiled->on(hardware).computeSeconds / there->plan.computeSeconds - 1) < 1e-9);
                }
            }
    }

    /// Scores that are written to memory take time and FLOPs, and nothing else changes.
    void unfusedAttention()
    {
        Design design = llama("model=2", "megatron-tp", Overlap::None);
        const auto flash = evaluate(design).value();
        design.workload.attention = AttentionKernel::Unfused;
        const auto unfused = evaluate(design).value();
        QCOMPARE(unfused->plan.collectives.size(), flash->plan.collectives.size());
        QVERIFY(unfused->plan.computeSeconds > flash->plan.computeSeconds);
        const double scores = 16.0 * 8 * 2048 * 2048; // batch, half of the heads, queries, keys
        for (const PlannedSegment& segment : unfused->plan.segments)
            for (const PlannedOp& op : segment.ops)
                if (unfused->graph.op(op.op).name == "self_attn.attention" && segment.phase == Phase::Forward) {
                    QCOMPARE(op.work.kernel, KernelClass::UnfusedAttention);
                    QCOMPARE(op.work.flops, 2 * 2 * scores * 64);
                    QCOMPARE(op.work.between, scores * 4); // of Llama, which has no dropout
                }
    }
};

SHARDBOARD_TEST(TestKernelTime)
#include "tst_kerneltime.moc"
