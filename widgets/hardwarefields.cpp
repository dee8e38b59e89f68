// SPDX-License-Identifier: Apache-2.0
#include "widgets/hardwarefields.h"

#include "widgets/format.h"

#include <QLocale>
#include <QObject>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace shardboard {

namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr double kMicro = 1e-6;
constexpr double kPercent = 0.01;
constexpr double kMostCount = 1e9; // what does not fit into a count is refused by the checks, not by the conversion

/// A field for any number that `at` leads to: plain, optional, or a count.
template <class At>
HardwareField field(const QString& key, const QString& label, const QString& unit, double scale, At at, const QString& toolTip = {})
{
    using Value = std::remove_cvref_t<decltype(at(std::declval<Hardware&>()))>;
    constexpr bool kOptional = std::is_same_v<Value, std::optional<double>>;
    HardwareField out { key, label, unit, toolTip, scale, kOptional, std::is_integral_v<Value>, {}, {} };
    out.get = [at](const Hardware& hardware) -> std::optional<double> {
        const auto& value = at(const_cast<Hardware&>(hardware)); // `at` only leads to the value
        if constexpr (kOptional)
            return value;
        else
            return static_cast<double>(value);
    };
    out.set = [at](Hardware& hardware, std::optional<double> value) {
        if constexpr (kOptional)
            at(hardware) = value;
        else if constexpr (std::is_integral_v<Value>)
            at(hardware) = static_cast<Value>(std::clamp(value.value_or(0), -kMostCount, kMostCount));
        else
            at(hardware) = value.value_or(0);
    };
    return out;
}

HardwareSection deviceSection(const Hardware& hardware)
{
    HardwareSection out { QObject::tr("Device"), qstr(hardware.device.name), qstr(hardware.device.source), {} };
    auto& fields = out.fields;
    fields.push_back(field(QStringLiteral("device.memory_bytes"), QObject::tr("memory"), QStringLiteral("GB"), kGiga,
                           [](Hardware& h) -> double& { return h.device.memoryBytes; }, QObject::tr("Decimal: 80 GB are 74.5 GiB")));
    fields.push_back(field(QStringLiteral("device.memory_bytes_per_second"), QObject::tr("memory bandwidth"), QStringLiteral("GB/s"), kGiga,
                           [](Hardware& h) -> double& { return h.device.memoryBytesPerSecond; }));
    const auto peak = [&](const char* name, auto at) {
        fields.push_back(field(QStringLiteral("device.peak_flops.") + QString::fromLatin1(name), QObject::tr("peak %1").arg(QString::fromLatin1(name)),
                               QStringLiteral("TFLOP/s"), kTera, at, QObject::tr("Dense, a multiply-add as two; empty where the device has none")));
    };
    peak("bf16", [](Hardware& h) -> std::optional<double>& { return h.device.peak.bf16; });
    peak("fp8", [](Hardware& h) -> std::optional<double>& { return h.device.peak.fp8; });
    peak("fp4", [](Hardware& h) -> std::optional<double>& { return h.device.peak.fp4; });
    peak("fp16", [](Hardware& h) -> std::optional<double>& { return h.device.peak.fp16; });
    peak("tf32", [](Hardware& h) -> std::optional<double>& { return h.device.peak.tf32; });
    peak("fp32", [](Hardware& h) -> std::optional<double>& { return h.device.peak.fp32; });
    peak("int8", [](Hardware& h) -> std::optional<double>& { return h.device.peak.int8; });
    fields.push_back(field(QStringLiteral("device.kernels.launch_seconds"), QObject::tr("kernel launch"), QStringLiteral("µs"), kMicro,
                           [](Hardware& h) -> double& { return h.device.kernels.launchSeconds; }));
    fields.push_back(field(QStringLiteral("device.kernels.gemm_efficiency"), QObject::tr("matrix products reach"), QStringLiteral("%"), kPercent,
                           [](Hardware& h) -> double& { return h.device.kernels.gemmEfficiency; }, QObject::tr("Share of the peak")));
    fields.push_back(field(QStringLiteral("device.kernels.attention_efficiency"), QObject::tr("attention reaches"), QStringLiteral("%"), kPercent,
                           [](Hardware& h) -> double& { return h.device.kernels.attentionEfficiency; }, QObject::tr("Share of the peak")));
    fields.push_back(field(QStringLiteral("device.kernels.memory_efficiency"), QObject::tr("memory reaches"), QStringLiteral("%"), kPercent,
                           [](Hardware& h) -> double& { return h.device.kernels.memoryEfficiency; }, QObject::tr("Share of the bandwidth")));
    return out;
}

QString levelTitle(const Level& level, std::size_t index)
{
    const QString fabric = qstr(fabricName(level.fabric));
    if (level.size == 0)
        return QObject::tr("Level %1: %2 of all the rest").arg(index + 1).arg(fabric);
    return QObject::tr("Level %1: %2 of %3").arg(index + 1).arg(fabric).arg(level.size);
}

HardwareSection levelSection(const Hardware& hardware, std::size_t index)
{
    const Level& level = hardware.levels[index];
    HardwareSection out { levelTitle(level, index), qstr(level.link.name), qstr(level.link.source), {} };
    const QString place = QStringLiteral("levels[%1]").arg(index);
    const QString link = place + QStringLiteral(".link");
    auto& fields = out.fields;
    const auto at = [index](Hardware& h) -> Level& { return h.levels[index]; };
    fields.push_back(field(link + QStringLiteral(".bytes_per_second"), level.link.shared ? QObject::tr("rate, all devices") : QObject::tr("rate of a device"),
                           QStringLiteral("GB/s"), kGiga, [at](Hardware& h) -> double& { return at(h).link.bytesPerSecond; },
                           QObject::tr("Effective, in one direction")));
    if (level.fabric != Fabric::Torus) // its size is that of its shape
        fields.push_back(field(place + QStringLiteral(".size"), index == 0 ? QObject::tr("devices in a unit") : QObject::tr("units it joins"), QString(), 1,
                               [at](Hardware& h) -> std::int64_t& { return at(h).size; }, QObject::tr("0 on the outermost level: all the rest")));
    fields.push_back(field(link + QStringLiteral(".alpha_seconds"), QObject::tr("latency of a step"), QStringLiteral("µs"), kMicro,
                           [at](Hardware& h) -> double& { return at(h).link.alphaSeconds; }, QObject::tr("With the protocol of least latency")));
    fields.push_back(field(link + QStringLiteral(".alpha_ll128_seconds"), QObject::tr("  with LL128"), QStringLiteral("µs"), kMicro,
                           [at](Hardware& h) -> std::optional<double>& { return at(h).link.alphaLl128; }));
    fields.push_back(field(link + QStringLiteral(".alpha_simple_seconds"), QObject::tr("  at full rate"), QStringLiteral("µs"), kMicro,
                           [at](Hardware& h) -> std::optional<double>& { return at(h).link.alphaSimple; }));
    fields.push_back(field(link + QStringLiteral(".start_seconds"), QObject::tr("start of a collective"), QStringLiteral("µs"), kMicro,
                           [at](Hardware& h) -> double& { return at(h).link.startSeconds; }));
    fields.push_back(field(link + QStringLiteral(".message_seconds"), QObject::tr("message of an all-to-all"), QStringLiteral("µs"), kMicro,
                           [at](Hardware& h) -> std::optional<double>& { return at(h).link.messageSeconds; }));
    fields.push_back(field(link + QStringLiteral(".links_per_device"), QObject::tr("links of a device"), QString(), 1,
                           [at](Hardware& h) -> int& { return at(h).link.linksPerDevice; }));
    fields.push_back(field(place + QStringLiteral(".nics_per_device"), QObject::tr("ports of a device"), QString(), 1,
                           [at](Hardware& h) -> double& { return at(h).nicsPerDevice; }, QObject::tr("Below 1: devices share one")));
    if (level.inSwitch)
        fields.push_back(field(place + QStringLiteral(".in_switch_reduction.efficiency"), QObject::tr("sums in the switch reach"), QStringLiteral("%"), kPercent,
                               [at](Hardware& h) -> double& { return at(h).inSwitch->efficiency; }, QObject::tr("Share of the link's rate")));
    return out;
}

} // namespace

QString HardwareField::text(const Hardware& hardware) const
{
    const std::optional<double> value = get(hardware);
    return value ? QLocale::c().toString(*value / scale, 'g', 10) : QString();
}

std::optional<double> HardwareField::parse(const QString& text, bool& empty) const
{
    QString plain = text.trimmed();
    empty = plain.isEmpty();
    if (!unit.isEmpty() && plain.endsWith(unit))
        plain.chop(unit.size());
    bool ok = false;
    const double value = QLocale::c().toDouble(plain.trimmed(), &ok);
    if (!ok || !std::isfinite(value * scale) || (whole && value != std::floor(value)))
        return std::nullopt;
    return value * scale;
}

std::vector<HardwareSection> hardwareSections(const Hardware& hardware)
{
    std::vector<HardwareSection> out { deviceSection(hardware) };
    for (std::size_t i = 0; i < hardware.levels.size(); ++i)
        out.push_back(levelSection(hardware, i));
    return out;
}

} // namespace shardboard
