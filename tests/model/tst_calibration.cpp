// SPDX-License-Identifier: Apache-2.0
// Constants from measured points: known ones come back, and the published points are met.
#include "model/cost/calibration.h"
#include "model/cost/collectiveprices.h"
#include "model/cost/kerneltime.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <cmath>
#include <random>

using namespace shardboard;

namespace {

using enum CollectiveKind;

/// The data set of hardware, where it is.
QJsonObject publishedHardware()
{
    const QString root = qEnvironmentVariable("SHARDBOARD_SHARED", QStringLiteral(SHARDBOARD_SOURCE_DIR "/../shared"));
    QFile file(root + "/data/hardware.json");
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}

QJsonObject measured(const QJsonObject& all, const char* what)
{
    for (const QJsonValue entry : all["measured_collectives"].toArray())
        if (entry["what"].toString().startsWith(QLatin1String(what)))
            return entry.toObject();
    return {};
}

/// Errors of a set of points, told at the end.
struct Errors {
    double sum = 0;
    double worst = 0;
    int count = 0;
    void add(double model, double time)
    {
        const double off = std::fabs(model - time) / time;
        sum += off;
        worst = std::max(worst, off);
        ++count;
    }
    double mean() const { return sum / count; }
    QString text() const
    {
        return QString("mean %1 %, worst %2 % of %3").arg(100 * mean(), 0, 'f', 1).arg(100 * worst, 0, 'f', 1).arg(count);
    }
};

KernelPoint product(double b, double m, double n, double k, double seconds = 0)
{
    return { 2 * b * m * n * k, 2 * b * (m * k + k * n + m * n), seconds, DType::BF16 };
}

} // namespace

class TestCalibration : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void linkComesBack()
    {
        std::mt19937 random(3);
        std::normal_distribution<double> noise(0, 0.02);
        for (const double alpha : { 0.0, 2e-6, 30e-6 })
            for (const double rate : { 4.8e10, 3.7e11 }) {
                std::vector<LinkPoint> points;
                for (double bytes = 1024; bytes < 2e9; bytes *= 2)
                    for (const double steps : { 1.0, 7.0 })
                        points.push_back({ bytes, (steps * alpha + bytes / rate) * (1 + noise(random)), steps });
                const auto fit = sure(fitLink(points));
                QVERIFY2(std::fabs(fit.alphaSeconds - alpha) <= 0.02 * alpha + 1e-9, qPrintable(QString::number(fit.alphaSeconds)));
                QVERIFY(std::fabs(fit.bytesPerSecond / rate - 1) < 0.02);
                QVERIFY(fit.residual.mean > 0.005 && fit.residual.mean < 0.03);
                QVERIFY(fit.residual.worst >= fit.residual.mean && fit.residual.worst < 0.1);
            }
    }

    void pointsWithoutNoiseLeaveNoResidual()
    {
        const auto fit = fitLink({ { 1e3, 1e-6 + 1e-8 }, { 1e6, 1e-6 + 1e-5 }, { 1e9, 1e-6 + 1e-2 } });
        QVERIFY(std::fabs(fit.value().alphaSeconds - 1e-6) < 1e-12);
        QVERIFY(std::fabs(fit.value().bytesPerSecond - 1e11) < 1e5);
        QVERIFY(fit.value().residual.worst < 1e-9);
    }

    void poorPointsAreRefused()
    {
        const auto says = [](const std::vector<LinkPoint>& points) {
            return QString::fromStdString(fitLink(points, "nvlink").error().text());
        };
        QCOMPARE(says({ { 1, 1 }, { 2, 2 } }), QString("nvlink: cannot be fitted to 2 points; measure at least three sizes"));
        QVERIFY(says({ { 8, 1 }, { 8, 1.1 }, { 8, 0.9 } }).startsWith("nvlink: the points are all of one size"));
        QVERIFY(says({ { 1e3, 1 }, { 1e6, 0.5 }, { 1e9, 0.1 } }).startsWith("nvlink: the times do not grow"));
        for (const double bad : { 0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity() })
            QVERIFY(
                says({ { 1, 1 }, { 2, 2 }, { 3, bad } }).startsWith("nvlink: point 2 has a value that is not a positive number"));
        const DeviceSpec& device = *findDevice("h100-sxm");
        QVERIFY(!fitKernels({ product(1, 8, 8, 8, 1e-6) }, device).ok());
        QVERIFY(
            !fitKernels({ product(1, 64, 64, 64, 1e-6), product(1, 64, 64, 64, 1e-6), product(1, 64, 64, 64, 1e-6) }, device).ok());
        QVERIFY(!fitKernels({ product(1, 8, 8, 8, 0), product(1, 64, 64, 64, 1e-6), product(1, 64, 64, 64, 1e-6) }, device).ok());
    }

    void kernelsComeBack()
    {
        std::mt19937 random(11);
        std::normal_distribution<double> noise(0, 0.01);
        const DeviceSpec& device = *findDevice("h100-sxm");
        KernelConstants known;
        known.launchSeconds = 4e-6;
        known.gemmEfficiency = 0.71;
        known.memoryEfficiency = 0.86;
        std::vector<KernelPoint> points;
        for (double size = 64; size <= 8192; size *= 2) {
            points.push_back(product(1, size, size, size));
            points.push_back(product(1, 4096, size, 4096));
            points.push_back({ 0, size * 1e6, 0, DType::BF16 });
        }
        for (KernelPoint& point : points)
            point.seconds = roofline(point, device, known) * (1 + noise(random));
        const auto fit = sure(fitKernels(points, device));
        QVERIFY(std::fabs(fit.constants.launchSeconds / 4e-6 - 1) < 0.02);
        QVERIFY(std::fabs(fit.constants.gemmEfficiency / 0.71 - 1) < 0.02);
        QVERIFY(std::fabs(fit.constants.memoryEfficiency / 0.86 - 1) < 0.02);
        QVERIFY(fit.residual.mean < 0.02);
        QVERIFY(fit.computeBound > 5 && fit.memoryBound > 5);
        QCOMPARE(fit.constants.attentionEfficiency, device.kernels.attentionEfficiency);
    }

    /// A few published points of our own: 8 H100 at 1 GB (nccl-tests, as autoparallel gives them), 2 and 4 of them.
    void eightH100()
    {
        const Hardware hardware = findHardware("dgx-h100").value();
        const auto busOf = [&](CollectiveKind kind, std::int64_t n) {
            const Mesh mesh = Mesh::make({ { "a", n } }).value();
            CollectivePrices prices(mesh, hardware);
            return busBandwidth(kind, n, 1'000'000'000, prices.seconds(kind, { 0 }, 1'000'000'000)) / 1e9;
        };
        const auto close = [](double model, double bus) { return std::fabs(model - bus) < 0.05 * bus; };
        QVERIFY2(close(busOf(AllReduce, 8), 467), qPrintable(QString::number(busOf(AllReduce, 8))));
        QVERIFY2(close(busOf(AllReduce, 4), 354), qPrintable(QString::number(busOf(AllReduce, 4))));
        QVERIFY2(close(busOf(AllReduce, 2), 324), qPrintable(QString::number(busOf(AllReduce, 2))));
        QVERIFY2(close(busOf(AllGather, 8), 345), qPrintable(QString::number(busOf(AllGather, 8))));
        QVERIFY2(close(busOf(AllGather, 2), 268), qPrintable(QString::number(busOf(AllGather, 2))));
    }

    /// From 1 MB on: the curves latency + S / algbw that were fitted on nccl-tests.
    void publishedTimesOnOneNode()
    {
        const QJsonObject entry = measured(publishedHardware(), "8x H100 NVSwitch");
        if (entry.isEmpty())
            QSKIP("the data set of hardware is not here (SHARDBOARD_SHARED)");
        const Hardware hardware = findHardware("dgx-h100").value();
        Errors all;
        Errors large;
        for (const int n : { 2, 4, 8 }) {
            const Mesh mesh = Mesh::make({ { "a", n } }).value();
            CollectivePrices prices(mesh, hardware);
            const QString key = QString::number(n);
            const auto compare = [&](CollectiveKind kind, double latency, double rate) {
                for (double bytes = 1e6; bytes < 2e9; bytes *= 10) {
                    const double time = latency * 1e-6 + bytes / (rate * 1e9);
                    const double model = prices.seconds(kind, { 0 }, static_cast<std::int64_t>(bytes));
                    QVERIFY2(std::fabs(model - time) <= 0.10 * time,
                             qPrintable(QString("%1 over %2 of %3 bytes: %4 us, not %5")
                                            .arg(QString::fromStdString(collectiveName(kind)))
                                            .arg(n)
                                            .arg(bytes)
                                            .arg(model * 1e6)
                                            .arg(time * 1e6)));
                    all.add(model, time);
                    if (bytes > 5e8)
                        large.add(model, time);
                }
            };
            const double latency = entry["latency_us_ag_rs"][key].toDouble();
            const double rate = entry["all_gather_reduce_scatter"][key].toDouble();
            compare(AllGather, latency, rate);
            compare(ReduceScatter, latency, rate);
            compare(AllReduce, entry["latency_us_ar"][key].toDouble(), entry["all_reduce"][key].toDouble());
            if (n == 8)
                compare(AllToAll, entry["all_to_all_latency_us"].toDouble(), entry["all_to_all_8"].toDouble());
        }
        qInfo().noquote() << "1 MB to 1 GB:" << all.text() << "- 1 GB:" << large.text();
        QVERIFY(all.mean() < 0.06);
        QVERIFY(large.mean() < 0.04);
    }

    /// Over several nodes: the lines of NCCL's tuner for its ring all-gather and its NVLS tree.
    void publishedTimesOverNodes()
    {
        const QJsonObject published = publishedHardware();
        const QJsonObject gathers = measured(published, "H100 multi-node NCCL")["by_nodes_x_ppn"].toObject();
        const QJsonObject sums = measured(published, "H100 multi-node all-reduce")["by_nodes_x_ppn"].toObject();
        if (gathers.isEmpty() || sums.isEmpty())
            QSKIP("the data set of hardware is not here (SHARDBOARD_SHARED)");
        const Hardware hardware = findHardware("dgx-h100").value();
        Errors all;
        const auto compare = [&](const QJsonObject& points, CollectiveKind kind, Algorithm algorithm) {
            for (auto it = points.begin(); it != points.end(); ++it) {
                const QStringList sizes = it.key().split('x');
                // One device of each node: those that the other axis tells apart.
                const Mesh mesh =
                    Mesh::make({ { "node", sizes[0].toInt() }, { "member", sizes[1].toInt() }, { "other", 8 / sizes[1].toInt() } })
                        .value();
                const auto price = algorithmPrice(kind, algorithm, algorithmGroup(footprintOf({ 0, 1 }, mesh, hardware), hardware));
                QVERIFY(price.has_value());
                for (double bytes = 1e6; bytes < 2e9; bytes *= 10) {
                    const double time =
                        it.value().toArray()[0].toDouble() * 1e-6 + bytes / (it.value().toArray()[1].toDouble() * 1e9);
                    QVERIFY2(std::fabs(price->seconds(bytes) - time) <= 0.10 * time,
                             qPrintable(QString("%1 %2 bytes: %3 us, not %4")
                                            .arg(it.key())
                                            .arg(bytes)
                                            .arg(price->seconds(bytes) * 1e6)
                                            .arg(time * 1e6)));
                    all.add(price->seconds(bytes), time);
                }
            }
        };
        compare(gathers, AllGather, Algorithm::Ring);
        compare(sums, AllReduce, Algorithm::NvlsTree);
        qInfo().noquote() << "over nodes:" << all.text();
        QVERIFY(all.mean() < 0.06);
    }

    /// Bus bandwidths of whole machines that others published.
    void publishedBusBandwidths()
    {
        const auto bus = [](const char* id, std::int64_t n) {
            const Hardware hardware = findHardware(id).value();
            const Mesh mesh = Mesh::make({ { "a", n } }).value();
            CollectivePrices prices(mesh, hardware);
            return busBandwidth(AllReduce, n, std::int64_t { 1 } << 33, prices.seconds(AllReduce, { 0 }, std::int64_t { 1 } << 33))
                / 1e9;
        };
        QVERIFY2(std::fabs(bus("dgx-h200", 8) - 475) < 25, qPrintable(QString::number(bus("dgx-h200", 8))));
        QVERIFY2(bus("dgx-a100", 8) > 225 && bus("dgx-a100", 8) < 255, qPrintable(QString::number(bus("dgx-a100", 8))));
        QVERIFY2(std::fabs(bus("gb200-nvl72", 8) - 811) < 40, qPrintable(QString::number(bus("gb200-nvl72", 8))));
    }

    void publishedProducts()
    {
        const QJsonArray examples = publishedHardware().value("gemm_model").toObject().value("h100_bf16_tflops_examples").toArray();
        Hardware brief = findHardware("dgx-h100").value();
        brief.device.kernels.sustainedClock = 1; // single products, which no power limit slows down
        Errors errors;
        const auto add = [&](double b, double m, double n, double k, double tflops) {
            const KernelPoint point = product(b, m, n, k);
            KernelWork work;
            work.kernel = KernelClass::Gemm;
            work.flops = point.flops;
            work.bytes = point.bytes;
            work.gemm = { b, m, n, k };
            errors.add(kernelSeconds(work, brief), point.flops / (tflops * 1e12));
        };
        add(1, 2048, 4096, 4096, 752); // openxla/xla default_matmul_perf_table
        add(1, 2048, 2048, 2048, 641);
        add(1, 2048, 512, 512, 150);
        QVERIFY2(errors.mean() < 0.05, qPrintable(errors.text()));
        if (examples.isEmpty())
            QSKIP("the data set of hardware is not here (SHARDBOARD_SHARED)");
        errors = {};
        for (const QJsonValue it : examples)
            add(it["b"].toDouble(), it["m"].toDouble(), it["n"].toDouble(), it["k"].toDouble(), it["tflops"].toDouble());
        qInfo().noquote() << "products on an H100:" << errors.text();
        QVERIFY2(errors.mean() <= 0.05, qPrintable(errors.text()));
    }
};

SHARDBOARD_TEST(TestCalibration)
#include "tst_calibration.moc"
