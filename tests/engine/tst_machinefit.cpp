// SPDX-License-Identifier: Apache-2.0
// From measured points to hardware: machines that follow the laws exactly, disturbed ones, and points that no machine has. Whether
// this machine can be measured at all is tried by the command's own test.
#include "engine/calibrate/calibrate.h"
#include "engine/cpu/cpuexecutor.h"
#include "model/cost/collectiveprices.h"
#include "model/cost/kerneltime.h"
#include "model/io/measured/machinefit.h"
#include "model/io/measured/profiledocument.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QTest>

#include <cmath>
#include <random>

using namespace shardboard;
using nlohmann::json;

#define SAME(actual, expected) QVERIFY((actual) == (expected))

namespace {

struct Machine {
    double launch = 2e-6;
    double peak = 200e9;
    double gemm = 0.9;
    double attention = 0.4;
    double bandwidth = 40e9;
    double memory = 0.7;
    double alpha = 5e-6;
    double link = 60e9;
};

CalibrationPoint point(const std::string& kind, double flops, double bytes, double seconds, std::int64_t members = 1)
{
    CalibrationPoint out;
    out.kind = kind;
    out.what = kind;
    out.flops = flops;
    out.bytes = bytes;
    out.groupSize = members;
    out.seconds = seconds;
    out.settled = true;
    out.samples = { seconds };
    return out;
}

/// What the machine would be measured to take, from the laws alone.
Calibration of(const Machine& machine, double noise = 0)
{
    std::mt19937 random(3);
    std::uniform_real_distribution<double> off(-noise, noise);
    const auto disturbed = [&](double seconds) { return seconds * (1 + off(random)); };
    Calibration out;
    out.backend = "cpu";
    out.machine = "made up";
    out.workers = 2;
    out.memoryBytes = std::int64_t { 8 } << 30;
    out.limits = { machine.peak, 2 * machine.peak, machine.bandwidth, 1.5 * machine.bandwidth };
    for (const double n : { 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0 }) {
        const double flops = 2 * n * n * n;
        const double bytes = 12 * n * n;
        out.points.push_back(
            point("gemm", flops, bytes,
                  disturbed(machine.launch
                            + std::max(flops / (machine.gemm * machine.peak), bytes / (machine.memory * machine.bandwidth)))));
    }
    for (const double floats : { 1e4, 1e5, 1e6, 1e7 })
        for (const double times : { 8.0, 12.0 })
            out.points.push_back(point("memory", 0, times * floats,
                                       disturbed(machine.launch + times * floats / (machine.memory * machine.bandwidth))));
    for (const double s : { 256.0, 512.0, 1024.0 }) {
        const double flops = 4 * s * s * 512 / 2;
        out.points.push_back(
            point("attention", flops, 10 * s, disturbed(machine.launch + flops / (machine.attention * machine.peak))));
    }
    for (const std::string kind : { "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv" })
        for (const std::int64_t n : { 2, 4, 8 })
            for (const double s : { 4096.0, 262144.0, 16777216.0 }) {
                const double bytes = trafficOfGroup(kind, n, s);
                out.points.push_back(point(kind, 0, bytes, disturbed(machine.alpha + bytes / machine.link), n));
            }
    return out;
}

bool near(double value, double expected, double part) { return std::fabs(value - expected) <= part * expected; }

const FitReport* reportOf(const MachineFit& fit, const std::string& name)
{
    for (const FitReport& report : fit.fits)
        if (report.name == name)
            return &report;
    return nullptr;
}

} // namespace

class TestMachineFit : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void findsTheConstantsOfAMachine_data()
    {
        QTest::addColumn<double>("noise");
        QTest::addColumn<double>("within");
        QTest::newRow("exact") << 0.0 << 1e-6;
        QTest::newRow("disturbed") << 0.05 << 0.12;
    }
    void findsTheConstantsOfAMachine()
    {
        QFETCH(double, noise);
        QFETCH(double, within);
        for (const Machine& machine : { Machine {},
                                        Machine { .launch = 20e-6,
                                                  .peak = 50e9,
                                                  .gemm = 0.6,
                                                  .attention = 0.15,
                                                  .bandwidth = 10e9,
                                                  .memory = 0.9,
                                                  .alpha = 40e-6,
                                                  .link = 12e9 } }) {
            const auto fit = sure(fitMachine(of(machine, noise)));
            const DeviceSpec& device = fit.hardware.device;
            // Products may exceed the peak that was measured apart; then the peak is theirs and the share of it smaller.
            QVERIFY(near(device.kernels.gemmEfficiency * *device.peak.fp32, machine.gemm * machine.peak, within));
            QVERIFY(
                near(device.kernels.memoryEfficiency * device.memoryBytesPerSecond, machine.memory * machine.bandwidth, within));
            QVERIFY(near(device.kernels.attentionEfficiency * *device.peak.fp32, machine.attention * machine.peak, within));
            QVERIFY(near(device.kernels.launchSeconds, machine.launch, noise > 0 ? 0.5 : 1e-6));
            const LinkSpec& link = fit.hardware.innerLink();
            QVERIFY(near(link.bytesPerSecond, machine.link, within));
            QVERIFY(near(link.alphaSeconds, machine.alpha, noise > 0 ? 0.3 : 1e-6));
            QVERIFY(link.shared);
            QVERIFY(!device.cache && !device.kernels.gemmPacking && !device.kernels.attentionPacking && !link.cache
                    && !link.messageSeconds);
            SAME(fit.hardware.levels.front().fabric, Fabric::SharedMemory);
            for (const FitReport& report : fit.fits) {
                QVERIFY2(report.residual.mean <= noise + 1e-6, report.name.c_str());
                QVERIFY(report.residual.worst >= report.residual.mean);
            }
        }
    }
    /// A processor with caches, whose library packs operands and whose collectives start each piece: the plain laws are far off,
    /// and the others find its constants.
    void findsCachesAndPacking()
    {
        const Machine machine;
        Calibration calibration = of(machine);
        constexpr double kCache = 16e6, kCacheRate = 100e9, kMemoryRate = 25e9, kPack = 8e9, kFree = 3e6, kAttention = 4e9;
        constexpr double kPiece = 4e-7, kNear = 200e9, kFar = 70e9;
        std::erase_if(calibration.points, [](const CalibrationPoint& p) { return p.groupSize == 1; });
        for (CalibrationPoint& p : calibration.points)
            p.seconds = kPiece * static_cast<double>(p.groupSize * (p.kind == "all-to-all" ? p.groupSize : 1))
                + CacheRate { kCache, kNear }.seconds(p.bytes, kFar);
        for (double bytes = 1e4; bytes < 4e8; bytes *= 1.7)
            calibration.points.push_back(
                point("memory", 0, bytes, machine.launch + CacheRate { kCache, kCacheRate }.seconds(bytes, kMemoryRate)));
        // Few rows are rather not packed, and reach a third of the peak.
        for (const double m : { 1.0, 2.0, 128.0, 512.0, 2048.0 })
            for (const double n : { 128.0, 1024.0, 2048.0, 4096.0 }) {
                if (m < 128 && n < 1024) // so small that either way is free
                    continue;
                const double flops = 2 * m * n * n;
                const double bytes = 4 * (2 * m * n + n * n);
                const double packed = flops / (0.95 * machine.peak) + std::max(0.0, bytes - kFree) / kPack;
                const double unpacked =
                    flops / (0.33 * machine.peak) + CacheRate { kCache, kCacheRate }.seconds(bytes, kMemoryRate);
                calibration.points.push_back(point("gemm", flops, bytes, machine.launch + std::min(packed, unpacked)));
            }
        for (const double s : { 32.0, 128.0, 512.0, 2048.0 })
            calibration.points.push_back(point("attention", 1024 * s * s, 5120 * s,
                                               machine.launch + 1024 * s * s / (0.6 * machine.peak) + 5120 * s / kAttention));
        const auto fit = sure(fitMachine(calibration));
        const DeviceSpec& device = fit.hardware.device;
        QVERIFY(device.cache && device.kernels.gemmPacking && device.kernels.attentionPacking);
        // The bend is searched in steps of a tenth.
        QVERIFY2(near(device.cache->bytes, kCache, 0.08), qPrintable(QString::number(device.cache->bytes)));
        QVERIFY(near(device.cache->bytesPerSecond, kCacheRate, 0.05));
        QVERIFY(near(device.memoryBytesPerSecond * device.kernels.memoryEfficiency, kMemoryRate, 0.05));
        QVERIFY(device.kernels.memoryEfficiency <= 1);
        QVERIFY(near(device.kernels.gemmEfficiency * *device.peak.fp32, 0.95 * machine.peak, 0.05));
        QVERIFY2(near(device.kernels.gemmPacking->bytesPerSecond, kPack, 0.15),
                 qPrintable(QString::number(device.kernels.gemmPacking->bytesPerSecond)));
        QVERIFY(device.kernels.gemmPacking->unpackedEfficiency
                && near(*device.kernels.gemmPacking->unpackedEfficiency * *device.peak.fp32, 0.33 * machine.peak, 0.1));
        QVERIFY(near(device.kernels.attentionPacking->bytesPerSecond, kAttention, 0.05));
        QVERIFY(near(device.kernels.attentionEfficiency * *device.peak.fp32, 0.6 * machine.peak, 0.05));
        const LinkSpec& link = fit.hardware.innerLink();
        QVERIFY(link.cache && link.messageSeconds);
        QVERIFY(near(*link.messageSeconds, kPiece, 0.05) && near(link.bytesPerSecond, kFar, 0.05)
                && near(link.cache->bytesPerSecond, kNear, 0.05));
        for (const FitReport& report : fit.fits)
            QVERIFY2(report.residual.mean < 0.05,
                     qPrintable(QStringLiteral("%1: %2").arg(QString::fromStdString(report.name)).arg(report.residual.mean)));
        // The same points of a GPU keep the plain laws.
        for (CalibrationPoint& p : calibration.points)
            p.dtype = "BF16";
        calibration.backend = "cuda";
        const auto gpu = fitMachine(calibration);
        QVERIFY(gpu.ok() && !gpu.value().hardware.device.cache && !gpu.value().hardware.device.kernels.gemmPacking
                && !gpu.value().hardware.innerLink().cache);
    }
    /// Kernels that find their data in the caches are faster than a copy past them: still a share of at most 1, which is all
    /// that a hardware file takes.
    void sharesStayBelowOne()
    {
        Calibration calibration = of(Machine { .gemm = 1.3, .attention = 1.5, .memory = 2.5 });
        const auto fit = sure(fitMachine(calibration));
        const DeviceSpec& device = fit.hardware.device;
        for (const double share :
             { device.kernels.gemmEfficiency, device.kernels.memoryEfficiency, device.kernels.attentionEfficiency })
            QVERIFY(share > 0 && share <= 1);
        QVERIFY(near(device.kernels.memoryEfficiency * device.memoryBytesPerSecond, 2.5 * 40e9, 1e-6));
        QVERIFY(near(device.kernels.gemmEfficiency * *device.peak.fp32, 1.3 * 200e9, 1e-6));
    }
    /// A machine that does not follow the law is told so, in the kind that does not.
    void residualsNameTheKindThatDiffers()
    {
        Calibration calibration = of({});
        for (CalibrationPoint& p : calibration.points)
            if (p.kind == "all-to-all")
                p.seconds *= 2;
        const auto fit = sure(fitMachine(calibration));
        QVERIFY(reportOf(fit, "all-to-all")->residual.mean > 0.25);
        QVERIFY(reportOf(fit, "all-reduce")->residual.mean < 0.25);
        QVERIFY(reportOf(fit, "gemm")->residual.mean < 1e-6);
        QCOMPARE(reportOf(fit, "all-to-all")->points, 9);
    }
    void efficiencyByHand()
    {
        // 1 ms over a launch of 0: flops / peak is 0.5 ms.
        QVERIFY(near(efficiencyFor({ { 50e6, 1, 1e-3, DType::F32 } }, 100e9, 0), 0.5, 1e-12));
        QCOMPARE(efficiencyFor({}, 100e9, 0), 0.0);
        QCOMPARE(efficiencyFor({ { 0, 1, 1e-3, DType::F32 } }, 100e9, 0), 0.0);
    }
    void countsWhatDidNotSettle()
    {
        Calibration calibration = of({});
        calibration.points[0].settled = false;
        calibration.points[5].settled = false;
        QCOMPARE(fitMachine(calibration).value().unsettled, 2);
        const json record = calibrationRecord(calibration, fitMachine(calibration).value());
        SAME(record["unsettled"], 2);
        SAME(record["points"].size(), calibration.points.size());
        SAME(record["fits"][0]["name"], "kernels");
        QVERIFY(record["fits"][0]["worst"].is_number());
    }
    void refusesPointsThatSayNothing()
    {
        Calibration none = of({});
        none.points.clear();
        QVERIFY(!fitMachine(none).ok());
        Calibration noCollectives = of({});
        std::erase_if(noCollectives.points, [](const CalibrationPoint& p) { return p.groupSize > 1; });
        QVERIFY(!fitMachine(noCollectives).ok());
    }
    void goesOverTheWire()
    {
        const Calibration calibration = of({});
        const auto back = sure(calibrationFromJson(json::parse(toJson(calibration).dump())));
        QVERIFY(back == calibration);
        for (const auto& [pointer, value] : std::vector<std::pair<const char*, json>> { { "/points/0/seconds", 0 },
                                                                                        { "/points/0/bytes", -1 },
                                                                                        { "/points/0/flops", "many" },
                                                                                        { "/limits/copy_bytes_one", 0 },
                                                                                        { "/points", 3 },
                                                                                        { "/workers", 0 },
                                                                                        { "/points/0/settled", nullptr } }) {
            json bad = toJson(calibration);
            bad[json::json_pointer(pointer)] = value;
            QVERIFY2(!calibrationFromJson(bad).ok(), pointer);
        }
        QVERIFY(!calibrationFromJson(json()).ok());
        QVERIFY(!calibrationOptionsFromJson({ { "backend", "abacus" } }).ok());
        QVERIFY(!calibrationOptionsFromJson(json::array()).ok());
        QVERIFY(calibrationOptionsFromJson({ { "quick", true } }).value().quick);
    }

    /// Operations of programs that take twice what the law says, products that take half, and gathers that are slower than other
    /// collectives: all of them are predicted, and what no program had is as the laws say.
    void programsCorrectTheLaws()
    {
        const Machine machine;
        Calibration measured = of(machine);
        const auto plain = sure(fitMachine(measured));
        const auto ofProgram = [](const std::string& kind, KernelWork work, double seconds) {
            CalibrationPoint out = point(kind, work.flops, work.kernel == KernelClass::None ? work.copied : work.bytes, seconds);
            out.source = "run";
            out.what = "block/" + kind;
            out.work = work;
            return out;
        };
        std::vector<KernelWork> works;
        for (const double bytes : { 1e4, 1e5, 1e6, 1e7 }) {
            KernelWork norm;
            norm.kernel = KernelClass::Memory;
            norm.op = "rms_norm";
            norm.dtype = DType::F32;
            norm.bytes = bytes;
            measured.points.push_back(ofProgram("rms_norm", norm, 2 * kernelSeconds(norm, plain.hardware)));
            KernelWork product;
            product.kernel = KernelClass::Gemm;
            product.op = "matmul_grad_x";
            product.dtype = DType::F32;
            product.gemm = { 1, bytes / 1e3, 64, 128 };
            product.flops = 2 * product.gemm.m * 64 * 128;
            product.bytes = bytes;
            measured.points.push_back(ofProgram("matmul_grad_x", product, 0.5 * kernelSeconds(product, plain.hardware)));
            works.push_back(norm);
            works.push_back(product);
        }
        for (const std::int64_t n : { 2, 4 })
            for (const double s : { 4096.0, 65536.0, 1048576.0, 16777216.0 })
                for (const double groups : { 1.0, 2.0 }) {
                    CalibrationPoint gather = point("all-gather", 0, groups * trafficOfGroup("all-gather", n, s), 0, n);
                    gather.source = "run";
                    gather.messageBytes = static_cast<std::int64_t>(s);
                    gather.seconds = groups * static_cast<double>(n) * 1e-6 + gather.bytes / 5e9;
                    measured.points.push_back(gather);
                }
        for (CalibrationPoint& one : measured.points) { // as it comes over the wire, which has these beside it
            one.work.op = {};
            one.work.flops = one.work.bytes = 0;
            one.work.dtype = KernelWork {}.dtype;
        }
        const auto back = sure(calibrationFromJson(json::parse(toJson(measured).dump())));
        QVERIFY(back == measured);
        const auto fit = sure(fitMachine(back));
        for (const KernelWork& work : works) {
            const double expected = (work.op == "rms_norm" ? 2 : 0.5) * kernelSeconds(work, plain.hardware);
            QVERIFY(near(kernelSeconds(work, fit.hardware), expected, 0.01));
        }
        KernelWork other = works.front();
        other.op = "silu";
        QCOMPARE(kernelSeconds(other, fit.hardware), kernelSeconds(other, plain.hardware));
        // A collective by its own rate, groups that work at once as one sum.
        const Mesh mesh = Mesh::parse("a=2,b=2").value();
        CollectivePrices prices(mesh, fit.hardware);
        CollectivePrices before(mesh, plain.hardware);
        const double gathered = prices.seconds(CollectiveKind::AllGather, { 0 }, 1048576);
        QVERIFY(near(gathered, 2 * 2e-6 + 2 * trafficOfGroup("all-gather", 2, 1048576) / 5e9, 0.02));
        QCOMPARE(prices.seconds(CollectiveKind::AllReduce, { 0 }, 1048576),
                 before.seconds(CollectiveKind::AllReduce, { 0 }, 1048576));
        QVERIFY(reportOf(fit, "operations in programs")->points == 8);
        QVERIFY(reportOf(fit, "operations in programs")->residual.worst < 0.05);
        QVERIFY(reportOf(fit, "collectives in programs")->residual.worst < 0.02);
    }

    void cancelsAtOnceAndOnTheWay()
    {
        std::atomic<bool> cancel { true };
        engine::CalibrateHooks hooks;
        hooks.cancel = &cancel;
        CalibrationOptions options;
        options.quick = true;
        engine::CpuExecutor executor;
        auto outcome = engine::calibrate(executor, options, hooks, 2);
        QVERIFY(std::holds_alternative<engine::Failure>(outcome));
        SAME(std::get<engine::Failure>(outcome).code, "cancelled");

        cancel = false;
        std::int64_t announced = 0;
        std::int64_t last = -1;
        hooks.announce = [&](std::int64_t bytes, double seconds) {
            announced = bytes;
            QVERIFY(seconds > 0);
        };
        hooks.progress = [&](std::int64_t step, std::int64_t of, const std::string& what) {
            QVERIFY(announced > 0);
            QVERIFY(step > last && step <= of && !what.empty());
            last = step;
            cancel = step >= 4;
        };
        outcome = engine::calibrate(executor, options, hooks, 2);
        QVERIFY(std::holds_alternative<engine::Failure>(outcome));
        SAME(std::get<engine::Failure>(outcome).code, "cancelled");
        QCOMPARE(last, 4);
    }
};

SHARDBOARD_TEST(TestMachineFit)
#include "tst_machinefit.moc"
