// SPDX-License-Identifier: Apache-2.0
// Times that were measured in programs, in place of what the law of a class says.
#include "model/cost/kerneltime.h"
#include "tests/support/runner.h"

#include <QTest>

#include <cmath>

using namespace shardboard;

namespace {

KernelWork norm(double bytes)
{
    KernelWork out;
    out.kernel = KernelClass::Memory;
    out.op = "rms_norm";
    out.bytes = bytes;
    return out;
}

Hardware plain()
{
    Hardware out = hardwarePresets().front();
    out.device.cache.reset();
    return out;
}

} // namespace

class TestMeasuredOp : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void isTheFactorWhereOneWasMeasured()
    {
        const MeasuredOp op { "rms_norm", { { { 10, 0, 0 }, 2 }, { { 16, 0, 0 }, 0.5 } } };
        QVERIFY(std::fabs(op.factorAt({ 10, 0, 0 }) - 2) < 1e-3);
        QVERIFY(std::fabs(op.factorAt({ 16, 0, 0 }) - 0.5) < 1e-3);
        QVERIFY(std::fabs(op.factorAt({ 13, 0, 0 }) - 1) < 1e-9); // halfway between
        QVERIFY(op.factorAt({ 11, 0, 0 }) > op.factorAt({ 12, 0, 0 }));
        QVERIFY(std::fabs(op.factorAt({ 60, 0, 0 }) - 1) < 0.2); // far from both: the mean of all
    }

    void onlyItsOwnOperationTakesIt()
    {
        Hardware hardware = plain();
        const KernelWork work = norm(1e7);
        const double law = kernelSeconds(work, hardware);
        QVERIFY(law > 0);
        QCOMPARE(law, lawSeconds(work, hardware));
        hardware.device.measured = { { "rms_norm", { { measuredSize(work), 3 } } } };
        QVERIFY(std::fabs(kernelSeconds(work, hardware) / law - 3) < 1e-9);
        QCOMPARE(lawSeconds(work, hardware), law);
        KernelWork other = work;
        other.op = "silu";
        QCOMPARE(kernelSeconds(other, hardware), law);
        other = work;
        other.op = {};
        QCOMPARE(kernelSeconds(other, hardware), law);
    }

    /// Heads that are split are another name for the same values, but where a machine was seen to copy them.
    void viewsAreFreeUntilTheyWereMeasured()
    {
        Hardware hardware = plain();
        KernelWork view;
        view.op = "split_heads";
        view.copied = 1 << 20;
        QCOMPARE(kernelSeconds(view, hardware), 0.0);
        hardware.device.measured = { { "split_heads", { { measuredSize(view), 0.5 } } } };
        const double law = hardware.device.kernels.launchSeconds + memorySeconds(view.copied, hardware.device);
        QVERIFY(std::fabs(kernelSeconds(view, hardware) / law - 0.5) < 1e-9);
    }

    void sizesOfProductsAreTheirDims()
    {
        KernelWork product;
        product.kernel = KernelClass::Gemm;
        product.gemm = { 2, 8, 64, 1024 };
        product.bytes = 1e6;
        product.flops = 2e6;
        const auto size = measuredSize(product);
        QCOMPARE(size[0], std::log(16.0));
        QCOMPARE(size[1], std::log(64.0));
        QCOMPARE(size[2], std::log(1024.0));
        QCOMPARE(measuredSize(norm(1000))[0], std::log(1000.0));
        QCOMPARE(measuredSize(norm(1000))[1], 0.0);
    }
};

SHARDBOARD_TEST(TestMeasuredOp)
#include "tst_measuredop.moc"
