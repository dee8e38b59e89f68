// SPDX-License-Identifier: Apache-2.0
// Hardware files and hardware in designs: what is written reads back, edits say only what differs, nonsense is refused
// with its place.
#include "model/hardware/hardwarechecks.h"
#include "model/io/checkpoint/openmodel.h"
#include "model/io/design/designfile.h"
#include "model/io/design/hardwarefile.h"
#include "tests/support/runner.h"
#include "tests/support/sure.h"

#include <nlohmann/json.hpp>

#include <QRegularExpression>
#include <QtTest>

#include <limits>

using namespace shardboard;
using nlohmann::json;

namespace {

QString errorOf(const std::string& text)
{
    const auto hardware = hardwareFromText(text, "f.json");
    return hardware.ok() ? QStringLiteral("(fine)") : QString::fromStdString(hardware.error().text());
}

std::string edit(const std::string& rest)
{
    return R"({"format": "shardboard-hardware", "version": 1, "base": "dgx-h100", )" + rest + "}";
}

} // namespace

class TestHardwareFile : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void presetsAreSound()
    {
        QCOMPARE(hardwarePresets().size(), std::size_t { 40 });
        QCOMPARE(devicePresets().size(), std::size_t { 36 });
        QCOMPARE(linkPresets().size(), std::size_t { 35 });
        for (const Hardware& hardware : hardwarePresets()) {
            const Status status = checkHardware(hardware, hardware.id);
            QVERIFY2(status.ok(), status.ok() ? "" : status.error().text().c_str());
            QVERIFY(!hardware.source.empty() && !hardware.device.source.empty());
            for (const Level& level : hardware.levels)
                QVERIFY(!level.link.source.empty());
        }
    }

    /// Constants that are those of no device in particular come from the device that it is of; what a file says itself stays.
    void constantsOfTheFamily()
    {
        const auto kernelsOf = [](const char* id, const char* kernels) {
            const std::string device = std::string("{\"device\": {\"id\": \"") + id + "\", \"memory_bytes\": 8e10, "
                + R"("memory_bytes_per_second": 2e12, "peak_flops": {"bf16": 8e14}, "kernels": )" + kernels + "}";
            return sure(hardwareFromText(R"({"format": "shardboard-hardware", "version": 1, "levels": [{"fabric": "switch",)"
                                         R"("link": "nvlink4"}], )"
                                             + device.substr(1) + "}",
                                         "f.json"))
                .device.kernels;
        };
        const KernelConstants h100 = findDevice("h100-sxm")->kernels;
        QVERIFY(kernelsOf("h100-500w", "{}") == h100);
        QVERIFY(kernelsOf("h100-500w",
                          R"({"gemm_efficiency": 0.78, "memory_efficiency": 0.8, "launch_seconds": 5.5e-6,)"
                          R"("attention_efficiency": 0.6, "flash2_efficiency": 0.35})")
                == h100);
        QCOMPARE(kernelsOf("h100-500w", R"({"gemm_efficiency": 0.7})").gemmEfficiency, 0.7);
        QVERIFY(kernelsOf("mine", "{}") == KernelConstants {});
    }

    void presetsReadBack()
    {
        for (const Hardware& hardware : hardwarePresets()) {
            const auto again = sure(hardwareFromText(hardwareText(hardware), "f.json"));
            QVERIFY2(again == hardware, hardware.id.c_str());
        }
    }

    /// Presets are decimal numbers in a unit: their files have these digits, and no 66900000000000.01.
    void presetsAreWrittenInFewDigits()
    {
        QCOMPARE(findDevice("h100-sxm")->peak.fp32, std::optional(6.69e13));
        QCOMPARE(findLink("nvlink4")->alphaLl128, std::optional(1.9e-6));
        QCOMPARE(findLink("pcie5-x16")->bytesPerSecond, 5.56e10);
        const QRegularExpression number(QStringLiteral("[:,] (-?[0-9][0-9.e+-]*)"));
        int seen = 0;
        for (const Hardware& hardware : hardwarePresets()) {
            const QString text = QString::fromStdString(hardwareText(hardware));
            for (auto it = number.globalMatch(text); it.hasNext();) {
                const QString written = it.next().captured(1);
                QString digits = written.section(QLatin1Char('e'), 0, 0).remove(QLatin1Char('.')).remove(QLatin1Char('-'));
                while (digits.endsWith(QLatin1Char('0')))
                    digits.chop(1);
                while (digits.startsWith(QLatin1Char('0')))
                    digits.remove(0, 1);
                QVERIFY2(digits.size() <= 12, qPrintable(written));
                ++seen;
            }
        }
        QVERIFY(seen > 200);
    }

    void editsSayWhatDiffers()
    {
        const auto edited =
            sure(hardwareFromText(edit(R"("name": "ours", "device": {"memory_bytes": 96e9, "peak_flops": {"fp8": null}},
            "levels": [{}, {"link": {"bytes_per_second": 3e10}, "nics_per_device": 0.5}])"),
                                  "f.json"));
        Hardware expected = findHardware("dgx-h100").value();
        expected.id = "dgx-h100-edited";
        expected.name = "ours";
        expected.device.memoryBytes = 96e9;
        expected.device.peak.fp8.reset();
        expected.levels[1].link.bytesPerSecond = 3e10;
        expected.levels[1].nicsPerDevice = 0.5;
        QVERIFY(edited == expected);
        const auto other = sure(hardwareFromText(
            edit(
                R"("id": "mine", "device": "h200-sxm", "levels": [{"link": {"base": "nvlink5", "alpha_seconds": 0}}, {"link": "ib-xdr"}])"),
            "f.json"));
        QCOMPARE(other.device, *findDevice("h200-sxm"));
        // What was written before there was such a key is read as it was meant: all of the memory is there for programs.
        auto old = hardwareJson(other);
        QVERIFY(old["device"].erase("reserved_bytes") == 1);
        QCOMPARE(sure(hardwareFromJson(old, "f.json")).device.reservedBytes, 0.0);
        QCOMPARE(other.device.kernels.flash2Efficiency, std::optional(0.36));
        const auto beyond = hardwareFromText(edit(R"("device": {"kernels": {"flash2_efficiency": 1.5}})"), "f.json");
        QVERIFY(!beyond.ok() && beyond.error().where == "f.json:device.kernels.flash2_efficiency");
        QCOMPARE(other.levels[0].link.alphaSeconds, 0.0);
        QCOMPARE(other.levels[0].link.bytesPerSecond, findLink("nvlink5")->bytesPerSecond);
        QCOMPARE(other.levels[1].link, *findLink("ib-xdr"));
        QCOMPARE(QString::fromStdString(other.id), QString("mine"));
    }

    /// What a calibration writes and no preset has; files without it read as before.
    void cachesAreReadBack()
    {
        Hardware here = findHardware("cpu").value();
        QVERIFY(hardwareText(here).find("cache") == std::string::npos && hardwareText(here).find("packing") == std::string::npos);
        here.device.cache = CacheRate { 16e6, 90e9 };
        here.device.kernels.gemmPacking = Packing { 30e9, 3e6, 0.45 };
        here.device.kernels.attentionPacking = Packing { 6e9, 0, {} };
        here.levels[0].link.cache = CacheRate { 4e6, 200e9 };
        here.levels[0].link.messageSeconds = 4e-7;
        const auto again = sure(hardwareFromText(hardwareText(here), "f.json"));
        QVERIFY(again == here);
        const auto without = hardwareFromText(
            R"({"format": "shardboard-hardware", "version": 1, "base": "cpu", "device": {"cache": null}})", "f.json");
        QVERIFY(without.ok() && !without.value().device.cache);

        Hardware slow = here;
        slow.device.cache->bytesPerSecond = 1e6; // times would fall where it ends
        Status status = checkHardware(slow, "f.json");
        QVERIFY(!status.ok() && status.error().where == "f.json:device.cache.bytes_per_second");
        slow = here;
        slow.device.kernels.gemmPacking->unpackedEfficiency = 1.5;
        status = checkHardware(slow, "f.json");
        QVERIFY(!status.ok() && status.error().where == "f.json:device.kernels.gemm_packing.unpacked_efficiency");
        slow = here;
        slow.levels[0].link.cache->bytes = -1;
        status = checkHardware(slow, "f.json");
        QVERIFY(!status.ok() && status.error().where == "f.json:levels[0].link.cache.bytes");
        Hardware apart = findHardware("dgx-h100").value();
        apart.levels[0].link.cache = CacheRate { 4e6, 2e12 };
        status = checkHardware(apart, "f.json");
        QVERIFY(!status.ok() && status.error().where == "f.json:levels[0].link.cache");
        QCOMPARE(errorOf(edit(R"("device": {"cache": {"bytes": 1e6}})")).left(45),
                 QStringLiteral("f.json:device.cache.bytes_per_second: the key"));
    }

    void fromNothing()
    {
        const auto own =
            sure(hardwareFromText(R"({"format": "shardboard-hardware", "version": 1, "id": "shelf", "device": "a100-sxm-40",
            "levels": [{"fabric": "switch", "size": 4, "link": "pcie4-x16"},
                       {"fabric": "fat-tree", "size": 0, "link": {"bytes_per_second": 1e9, "alpha_seconds": 2e-5}}]})",
                                  "f.json"));
        QCOMPARE(own.devicesPerNode(), 4);
        QCOMPARE(own.outerLink().bytesPerSecond, 1e9);
    }

    void nonsenseIsRefused_data()
    {
        QTest::addColumn<QString>("rest");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const char* rest, const char* message) { QTest::newRow(name) << rest << message; };
        row("zero bandwidth", R"("levels": [{"link": {"bytes_per_second": 0}}])",
            "f.json:levels[0].link.bytes_per_second: cannot be 0 bytes/s; use");
        row("negative bandwidth", R"("levels": [{}, {"link": {"bytes_per_second": -5e9}}])",
            "f.json:levels[1].link.bytes_per_second: cannot be -5e+09 bytes/s; use");
        row("negative latency", R"("levels": [{}, {"link": {"alpha_seconds": -1e-6}}])",
            "f.json:levels[1].link.alpha_seconds: cannot be -1e-06 s; use");
        row("infinity", R"("device": {"memory_bytes_per_second": 1e999})", "f.json");
        row("no number", R"("device": {"memory_bytes": "80 GB"})", "f.json:device.memory_bytes: cannot be \"80 GB\"; use a number");
        row("not a number", R"("device": {"memory_bytes": NaN})", "f.json:1:");
        row("more kept than there is", R"("device": {"reserved_bytes": 96e9})",
            "f.json:device.memory_bytes: is 79.6 GiB, of which the driver keeps 89.4 GiB; use more memory");
        row("less than is kept", R"("device": {"memory_bytes": 5e8})",
            "f.json:device.memory_bytes: is 477 MiB, of which the driver keeps 550 MiB; use more memory");
        row("less than nothing kept", R"("device": {"reserved_bytes": -1})",
            "f.json:device.reserved_bytes: cannot be -1 bytes; use");
        row("more memory than can be counted", R"("device": {"memory_bytes": 1e19, "reserved_bytes": 9.9e18})",
            "f.json:device.memory_bytes: cannot be 1e+19 bytes; use 1 to 2^60");
        row("a host that owes memory", R"("device": {"host": {"bytes_per_second": 5e10, "memory_bytes": -1}})",
            "f.json:device.host.memory_bytes: cannot be -1 bytes; use");
        row("a host with more than can be counted", R"("device": {"host": {"bytes_per_second": 5e10, "memory_bytes": 1e30}})",
            "f.json:device.host.memory_bytes: cannot be 1e+30 bytes; use");
        row("no memory", R"("device": {"memory_bytes": 0})", "f.json:device.memory_bytes: cannot be 0 bytes; use");
        row("unknown device", R"("device": "abacus")", "f.json:device: there is no preset \"abacus\"; ");
        row("unknown link", R"("levels": [{"link": "string"}])", "f.json:levels[0].link: there is no preset \"string\"; ");
        row("unknown base of a link", R"("levels": [{"link": {"base": "rope"}}])",
            "f.json:levels[0].link.base: there is no preset \"rope\"; ");
        row("unknown key", R"("devise": 1)", "f.json:devise: is not a key of it; ");
        row("unknown key inside", R"("levels": [{"link": {"bandwidth": 1}}])",
            "f.json:levels[0].link.bandwidth: is not a key of it; ");
        row("unknown fabric", R"("levels": [{"fabric": "cloth"}])", "f.json:levels[0].fabric: cannot be 'cloth'; use switch");
        row("rest inside", R"("levels": [{"size": 0}])", "f.json:levels[0].size: 0 stands for all the rest");
        row("negative size", R"("levels": [{"size": -8}])", "f.json:levels[0].size: cannot be -8; use");
        row("too many", R"("levels": [{"size": 1048576}, {"size": 2}])", "f.json:levels[1].size: together with the levels inside");
        row("shape of a switch", R"("levels": [{"shape": [4, 2]}])", "f.json:levels[0].shape: only a torus has one");
        row("torus without shape", R"("levels": [{"fabric": "torus"}])", "f.json:levels[0].shape: is missing for a torus");
        row("efficiency", R"("device": {"kernels": {"gemm_efficiency": 1.5}})",
            "f.json:device.kernels.gemm_efficiency: cannot be 1.5; use");
        row("next to no efficiency", R"("device": {"kernels": {"memory_efficiency": 5e-324}})",
            "f.json:device.kernels.memory_efficiency: cannot be 4.94066e-324; use a number above 0, from 1e-06 to 1");
        row("efficiency in words", R"("device": {"kernels": {"gemm_efficiency": "high"}})",
            "f.json:device.kernels.gemm_efficiency: cannot be \"high\"; use a number");
        row("next to no port", R"("levels": [{}, {"nics_per_device": 5e-324}])",
            "f.json:levels[1].nics_per_device: cannot be 4.94066e-324; use");
        row("ports", R"("levels": [{}, {"nics_per_device": 0}])", "f.json:levels[1].nics_per_device: cannot be 0; use");
        row("levels", R"("levels": 5)", "f.json:levels: is not a list");
        row("shared", R"("levels": [{"link": {"shared": true}}])", "f.json:levels[0].link.shared: a shared link needs");
        row("library", R"("library": "mpi")", "f.json:library: cannot be 'mpi'; use nccl or any");
    }
    void nonsenseIsRefused()
    {
        QFETCH(QString, rest);
        QFETCH(QString, message);
        const QString error = errorOf(edit(rest.toStdString()));
        QVERIFY2(error.startsWith(message), qPrintable(error));
        QVERIFY(!error.contains('\n'));
    }

    void headings()
    {
        QVERIFY(errorOf("{}").startsWith("f.json: is not hardware of Shardboard"));
        QVERIFY(errorOf("[1]").startsWith("f.json: is not hardware of Shardboard"));
        QVERIFY(errorOf(R"({"format": "shardboard-hardware", "version": 9})")
                    .startsWith("f.json:version: was written by a newer program"));
        QVERIFY(errorOf(R"({"format": "shardboard-hardware", "version": 1, "base": "dgx"})")
                    .startsWith("f.json:base: there is no hardware preset 'dgx'; known are dgx-h100"));
        QVERIFY(errorOf(R"({"format": "shardboard-hardware", "version": 1})").startsWith("f.json:device: the key is missing"));
    }

    void numbersThatNoFileHas()
    {
        for (const double bad : { std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0 }) {
            Hardware hardware = findHardware("dgx-h100").value();
            hardware.levels[0].link.bytesPerSecond = bad;
            QVERIFY(!checkHardware(hardware, "x").ok());
            hardware = findHardware("dgx-h100").value();
            hardware.levels[0].link.startSeconds = bad;
            QVERIFY(!checkHardware(hardware, "x").ok());
            hardware = findHardware("dgx-h100").value();
            hardware.device.peak.bf16 = bad;
            QVERIFY(!checkHardware(hardware, "x").ok());
        }
    }

    void designsCarryIt()
    {
        Design design;
        design.model = builtinModel("qwen2.5-0.5b").value();
        design.mesh = Mesh::parse("data=2,model=4").value();
        setHardware(design, findHardware("dgx-h200").value());
        QVERIFY(!design.ownHardware);
        QCOMPARE(json::parse(designText(design))["hardware"], json("dgx-h200"));
        setHardware(design, hardwareFromText(edit(R"("levels": [{"link": {"bytes_per_second": 1e9}}])"), "f.json").value());
        const std::string text = designText(design);
        const auto again = sure(designFromText(text, "d"));
        QVERIFY(again == design);
        QCOMPARE(designText(again), text);
        QCOMPARE(hardwareOf(again).value().innerLink().bytesPerSecond, 1e9);
        // Another preset chosen later counts.
        design.hardware = "dgx-a100";
        QCOMPARE(QString::fromStdString(hardwareOf(design).value().id), QString("dgx-a100"));
        json broken = json::parse(text);
        broken["hardware"]["levels"][0]["link"]["bytes_per_second"] = 0;
        const auto refused = designFromText(broken.dump(), "d");
        QVERIFY(!refused.ok());
        QVERIFY2(QString::fromStdString(refused.error().text()).startsWith("d:hardware"), refused.error().text().c_str());
    }

    /// What a calibration measured in programs goes through a file, and what no machine has is refused by name.
    void measuredOperationsGoThroughAFile()
    {
        Hardware hardware = hardwarePresets().front();
        hardware.device.measured = { { "rms_norm", { { { 12.5, 0, 0 }, 1.75 }, { { 14, 0, 0 }, 0.5 } } },
                                     { "matmul", { { { 3, 7, 7 }, 2 } } } };
        hardware.levels.resize(1);
        hardware.levels.front().fabric = Fabric::SharedMemory;
        hardware.levels.front().link.shared = true;
        hardware.levels.front().link.rates = { { "all-gather", 1e-6, 5e9, CacheRate { 1e6, 9e9 } }, { "all-to-all", 0, 4e9, {} } };
        const nlohmann::json written = hardwareJson(hardware);
        const auto read = hardwareFromJson(nlohmann::json::parse(written.dump()), "h.json");
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().text().c_str());
        QVERIFY(read.value().device.measured == hardware.device.measured);
        QVERIFY(read.value().levels.front().link.rates == hardware.levels.front().link.rates);
        for (const auto& [pointer, value] :
             std::vector<std::pair<const char*, nlohmann::json>> { { "/device/measured/0/sizes/0/factor", 0 },
                                                                   { "/device/measured/0/sizes/0/factor", -2 },
                                                                   { "/device/measured/0/sizes/0/first", 1e9 },
                                                                   { "/device/measured/0/sizes/0/first", nullptr },
                                                                   { "/device/measured/0/sizes", nlohmann::json::array() },
                                                                   { "/device/measured/0/op", "" },
                                                                   { "/device/measured", 3 },
                                                                   { "/levels/0/link/shared", false },
                                                                   { "/levels/0/link/rates/0/bytes_per_second", 0 },
                                                                   { "/levels/0/link/rates/0/piece_seconds", -1 },
                                                                   { "/levels/0/link/rates/0/cache/bytes_per_second", 1 } }) {
            nlohmann::json bad = written;
            bad[nlohmann::json::json_pointer(pointer)] = value;
            QVERIFY2(!hardwareFromJson(bad, "h.json").ok(), pointer);
        }
    }
};

SHARDBOARD_TEST(TestHardwareFile)
#include "tst_hardwarefile.moc"
