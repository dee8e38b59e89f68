// SPDX-License-Identifier: Apache-2.0
// The built-in machines: figures as their makers publish them, and that a design plans on each.
#include "model/design/evaluate/evaluate.h"
#include "model/design/presets/presets.h"
#include "model/hardware/hardwarechecks.h"
#include "model/hardware/machine.h"
#include "tests/support/designs.h"
#include "tests/support/models.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <QtTest>

#include <cmath>
#include <set>

using namespace shardboard;

namespace {

/// Dense TFLOP/s of 16-bit products, GB/s, and MiB as the driver reports it; typed from data sheets, not from the tables.
struct Published {
    const char* id;
    double teraflops;
    double gigabytes;
    double mebibytes;
};
constexpr Published kPublished[] {
    { "rtx-3090", 71, 936, 24576 },
    { "rtx-4090", 165.2, 1008, 24564 },
    { "rtx-5090", 209.5, 1792, 32607 },
    { "rtx-6000-ada", 364.2, 960, 49140 },
    { "rtx-pro-6000", 503.8, 1792, 97887 },
    { "l4", 121, 300, 23034 },
    { "l40s", 362.05, 864, 46068 },
    { "a10", 125, 600, 23028 },
    { "v100-sxm-16", 125, 900, 16160 },
    { "v100-sxm-32", 125, 900, 32510 },
    { "a100-sxm-40", 312, 1555, 40960 },
    { "a100-sxm-80", 312, 2039, 81920 },
    { "a100-pcie-40", 312, 1555, 40960 },
    { "a100-pcie-80", 312, 1935, 81920 },
    { "h20", 148, 4000, 97871 },
    { "h100-sxm", 989.4, 3350, 81559 },
    { "h100-pcie", 756, 2000, 81559 },
    { "h100-nvl", 835, 3938, 95830 },
    { "h200-sxm", 989.4, 4800, 143771 },
    { "gh200", 989.4, 4900, 147456 },
    { "b200-sxm", 2250, 8000, 183359 },
    { "b300-sxm", 2250, 8000, 275040 },
    { "gb200", 2500, 8000, 189471 },
    { "gb300", 2500, 8000, 284208 },
    { "gb10", 125, 273, 122570 },
    { "mi250x", 191.5, 1638.4, 65520 },
    { "mi300x", 1307.4, 5300, 196592 },
    { "mi325x", 1307.4, 6000, 262128 },
    { "mi355x", 2516.6, 8000, 294896 },
    { "tpu-v4", 275, 1228.8, 32 * 1024 },
    { "tpu-v5e", 197, 819, 16 * 1024 },
    { "tpu-v5p", 459, 2765, 96 * 1024 },
    { "tpu-v6e", 918, 1638, 32 * 1024 },
    { "tpu7x", 2307, 7380, 192 * 1024 },
    { "trainium2", 667, 2900, 96 * 1024 },
};

} // namespace

class TestMachines : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void figuresAreThePublishedOnes()
    {
        std::set<std::string> seen;
        for (const Published& published : kPublished) {
            const DeviceSpec* device = findDevice(published.id);
            QVERIFY2(device != nullptr, published.id);
            seen.insert(device->id);
            QVERIFY2(std::abs(device->peakFlops(DType::BF16) / (published.teraflops * 1e12) - 1) < 1e-9, published.id);
            QVERIFY2(std::abs(device->memoryBytesPerSecond / (published.gigabytes * 1e9) - 1) < 1e-9, published.id);
            QVERIFY2(device->memoryBytes == published.mebibytes * 1024 * 1024, published.id);
            QVERIFY2(device->reservedBytes < 0.07 * device->memoryBytes, published.id);
            QVERIFY2(!device->source.empty(), published.id);
        }
        for (const DeviceSpec& device : devicePresets())
            QVERIFY2(seen.contains(device.id) || device.kind == DeviceKind::Cpu, device.id.c_str());
    }

    /// A device without a preset of its own could not be chosen.
    void everyDeviceIsInAPreset()
    {
        std::set<std::string> used;
        std::set<std::string> names;
        for (const Hardware& hardware : hardwarePresets()) {
            QVERIFY2(names.insert(hardware.id).second, hardware.id.c_str());
            used.insert(hardware.device.id);
        }
        for (const char* alone : { "v100-sxm-16", "a100-pcie-40" }) // by `device` in a file
            used.insert(alone);
        for (const DeviceSpec& device : devicePresets())
            QVERIFY2(used.contains(device.id), device.id.c_str());
    }

    void designsPlanOnEach()
    {
        for (const Hardware& hardware : hardwarePresets()) {
            const Workload work { WorkloadKind::Train, 16, 512, DType::BF16 };
            Design design = designOn("fsdp=4,model=2", denseModel(4096, 1024, 4096, 4, 16, 8, 64), work, "tp+fsdp");
            setHardware(design, hardware);
            const auto evaluation = evaluate(design);
            QVERIFY2(evaluation.ok(), hardware.id.c_str());
            const double seconds = evaluation.value()->plan.seconds();
            QVERIFY2(std::isfinite(seconds) && seconds > 0, hardware.id.c_str());
        }
    }

    /// As nvidia-smi -L and rocm-smi print them, with MiB where the name does not say it.
    void driversNames()
    {
        const auto idOf = [](const char* name, double mebibytes) {
            const DeviceSpec* device = deviceNamed(name, mebibytes * 1024 * 1024);
            return device != nullptr ? device->id : std::string();
        };
        QCOMPARE(idOf("NVIDIA H100 80GB HBM3", 81007), std::string("h100-sxm"));
        QCOMPARE(idOf("NVIDIA H100 PCIe", 81000), std::string("h100-pcie"));
        QCOMPARE(idOf("NVIDIA H100 NVL", 95000), std::string("h100-nvl"));
        QCOMPARE(idOf("NVIDIA H200", 143000), std::string("h200-sxm"));
        QCOMPARE(idOf("NVIDIA H20", 97000), std::string("h20"));
        QCOMPARE(idOf("NVIDIA A100-SXM4-80GB", 81150), std::string("a100-sxm-80"));
        QCOMPARE(idOf("NVIDIA A100-SXM4-40GB", 40330), std::string("a100-sxm-40"));
        QCOMPARE(idOf("NVIDIA A100-PCIE-40GB", 40330), std::string("a100-pcie-40"));
        QCOMPARE(idOf("NVIDIA A100 80GB PCIe", 81150), std::string("a100-pcie-80"));
        QCOMPARE(idOf("Tesla V100-SXM2-16GB", 16150), std::string("v100-sxm-16"));
        QCOMPARE(idOf("NVIDIA GeForce RTX 4090", 24100), std::string("rtx-4090"));
        QCOMPARE(idOf("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 97000), std::string("rtx-pro-6000"));
        QCOMPARE(idOf("NVIDIA RTX 6000 Ada Generation", 48500), std::string("rtx-6000-ada"));
        QCOMPARE(idOf("NVIDIA B300 SXM6 AC", 274000), std::string("b300-sxm"));
        QCOMPARE(idOf("NVIDIA GB300", 283000), std::string("gb300"));
        QCOMPARE(idOf("NVIDIA L4", 22500), std::string("l4"));
        QCOMPARE(idOf("AMD Instinct MI300X", 196592), std::string("mi300x"));
        QCOMPARE(idOf("NVIDIA GeForce GTX 1080", 8000), std::string());
        QCOMPARE(idOf("NVIDIA A10G", 23028), std::string()); // other rates than the A10
        QCOMPARE(idOf("NVIDIA GeForce RTX 4090 Laptop GPU", 16376), std::string());
        QCOMPARE(idOf("NVIDIA GH200 480GB", 97871), std::string()); // HBM3, not the 144 GB of HBM3e
        QCOMPARE(idOf("NVIDIA H20-3e", 143771), std::string());
    }

    void thisMachine()
    {
        const double bytes = 85e9 - 0.5e9;
        const auto eight = hardwareOfMachine(std::vector<MachineDevice>(8, { "NVIDIA H100 80GB HBM3", bytes }));
        QVERIFY(eight.has_value());
        QCOMPARE(eight->device.id, std::string("h100-sxm"));
        QCOMPARE(eight->device.memoryBytes - eight->device.reservedBytes, bytes); // what programs get
        QCOMPARE(eight->levels.front().size, std::int64_t { 8 });
        QCOMPARE(eight->levels.front().link.id, std::string("nvlink4"));
        QVERIFY(checkHardware(*eight, "here").ok());
        const auto four = hardwareOfMachine(std::vector<MachineDevice>(4, { "NVIDIA GeForce RTX 4090", 25e9 }));
        QCOMPARE(four->levels.front().link.id, std::string("pcie4-x16"));
        QVERIFY(!hardwareOfMachine({}));
        QVERIFY(!hardwareOfMachine({ { "NVIDIA H100 80GB HBM3", bytes }, { "NVIDIA L4", 24e9 } }));
        QVERIFY(!hardwareOfMachine({ { "Voodoo 2", 12e6 } }));
    }

    void families()
    {
        QCOMPARE(findDeviceFamily("h100-500w")->id, std::string("h100-sxm"));
        QCOMPARE(findDeviceFamily("gb300")->id, std::string("gb300"));
        QCOMPARE(findDeviceFamily("tpu-v5p-mine")->id, std::string("tpu-v5p"));
        QVERIFY(findDeviceFamily("tpu-v9") == nullptr);
        QVERIFY(findDeviceFamily("custom") == nullptr);
    }
};

SHARDBOARD_TEST(TestMachines)
#include "tst_machines.moc"
