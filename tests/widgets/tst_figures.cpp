// SPDX-License-Identifier: Apache-2.0
// Figures of devices and steps as views, findings, and plans show them: what a device has and what its driver keeps. Sums are made
// here once more.
#include "tests/support/runner.h"
#include "tests/widgets/editor_support.h"

#include "model/design/evaluate/evaluate.h"
#include "model/design/findings/findings.h"
#include "model/hardware/hardware.h"
#include "widgets/look/format.h"
#include "widgets/memory/devicebars.h"
#include "widgets/memory/memoryview.h"
#include "widgets/workbench/summarybar.h"

#include <QTest>

#include <cmath>

using namespace shardboard;

namespace {

constexpr double kMib = 1024.0 * 1024.0;

} // namespace

class TestFigures : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void devicesHaveWhatTheDriverReports();
    void whatTheDriverKeepsCounts();
};

void TestFigures::devicesHaveWhatTheDriverReports()
{
    // MiB that nvidia-smi reports and GiB that PyTorch has of them; GiB of a TPU and what XLA has of them.
    struct Known {
        const char* id;
        double mib;
        double usableGib;
    };
    const Known known[] = { { "dgx-h100", 81559, 79.11 },        { "dgx-h200", 143771, 139.80 },
                            { "dgx-a100", 81920, 79.25 },        { "dgx-b200", 183359, 178.35 },
                            { "gb200-nvl72", 189471, 184.31 },   { "tpu-v5e-pod", 16 * 1024, 15.75 },
                            { "tpu-v6e-pod", 32 * 1024, 31.25 }, { "tpu7x-4x4x4", 192 * 1024, 189.5 },
                            { "tpu-v5p", 96 * 1024, 95.74 } };
    for (const auto& [id, mib, usable] : known) {
        const Hardware hardware = findHardware(id).value();
        QVERIFY2(std::abs(hardware.memoryBytes() - mib * kMib) < 1, id);
        QVERIFY2(std::abs((hardware.memoryBytes() - hardware.reservedBytes()) / kMib / 1024 - usable) < 0.005, id);
    }
    QCOMPARE(findDevice("a100-sxm-40")->memoryBytes, 40960 * kMib);
}

/// A design that fits only without it: plan, verdict, bar, summary, and finding say the same.
void TestFigures::whatTheDriverKeepsCounts()
{
    Design design = knownDesign();
    Hardware own = hardwareOf(design).value();
    const auto usual = evaluate(design).value();
    const auto kept = static_cast<std::int64_t>(own.reservedBytes());
    QVERIFY(kept > 0);
    own.id = "own";
    own.device.memoryBytes = static_cast<double>(usual->plan.memory.peak - 1);
    design.ownHardware = own;
    design.hardware = own.id;
    const auto tight = evaluate(design).value();
    QCOMPARE(tight->plan.memory.runtime, kept + design.memory.contextBytes + design.memory.communicatorBytes);
    const auto tooMuch = [](const Evaluation& of) {
        return std::ranges::any_of(of.findings, [](const DesignFinding& it) { return it.kind == "over-memory"; });
    };
    QVERIFY(tooMuch(*tight));
    Document document;
    QVERIFY(document.setDesign(design).ok());
    const auto memory = shownView<MemoryView>(document, { 900, 400 });
    QCOMPARE(memory->findChild<QLabel*>(QStringLiteral("memory.runtime"))->text(), bytesText(tight->plan.memory.runtime));
    QVERIFY(memory->findChild<QLabel*>(QStringLiteral("memoryVerdict"))->text().contains(QStringLiteral("Does not fit")));
    const auto& parts = memory->bars()->bars().front().parts;
    QVERIFY(std::ranges::any_of(parts, [&](const BarPart& it) { return it.bytes == tight->plan.memory.runtime; }));
    const auto bar = shownView<SummaryBar>(document, { 1600, 60 });
    const QString summary = bar->findChild<QLabel*>(QStringLiteral("summaryMemory"))->toolTip();
    QVERIFY2(summary.contains(exactBytesText(usual->plan.memory.peak)), qPrintable(summary));
    // A file from before has no such key: nothing is kept.
    design.ownHardware->device.reservedBytes = 0;
    const auto before = evaluate(design).value();
    QCOMPARE(before->plan.memory.peak, usual->plan.memory.peak - kept);
    QVERIFY(!tooMuch(*before));
}

SHARDBOARD_TEST(TestFigures)
#include "tst_figures.moc"
