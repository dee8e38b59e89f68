// SPDX-License-Identifier: Apache-2.0
#include "widgets/hardware/hardwarefields.h"

#include "model/core/mesh.h"
#include "widgets/look/format.h"

#include <QLocale>
#include <QObject>
#include <QRegularExpression>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace shardboard {

namespace {

constexpr double kMebi = 1024.0 * 1024.0;
constexpr double kMega = 1e6;
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
    HardwareField out;
    out.key = key;
    out.label = label;
    out.unit = unit;
    out.toolTip = toolTip;
    out.scale = scale;
    out.optional = kOptional;
    out.whole = std::is_integral_v<Value>;
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

/// A field for words that `at` leads to; they cannot be empty.
template <class At>
HardwareField nameField(const QString& key, const QString& label, At at)
{
    HardwareField out;
    out.key = key;
    out.label = label;
    out.kind = HardwareField::Kind::Text;
    out.read = [at](const Hardware& hardware) { return verbatim(at(const_cast<Hardware&>(hardware))); };
    out.write = [at](Hardware& hardware, const QString& text) {
        constexpr int kLongest = 200;
        const QString name = text.simplified();
        if (name.isEmpty())
            return QObject::tr("needs a name");
        if (name.size() > kLongest)
            return QObject::tr("is longer than %1 characters").arg(kLongest);
        at(hardware) = name.toStdString();
        return QString();
    };
    return out;
}

HardwareField choiceField(const QString& key, const QString& label, std::vector<HardwareField::Option> options)
{
    HardwareField out;
    out.key = key;
    out.label = label;
    out.kind = HardwareField::Kind::Choice;
    out.options = std::move(options);
    return out;
}

HardwareSection generalSection()
{
    HardwareSection out { QObject::tr("Hardware"), {}, {}, {} };
    out.fields.push_back(
        nameField(QStringLiteral("name"), QObject::tr("name"), [](Hardware& h) -> std::string& { return h.name; }));
    HardwareField library = choiceField(
        QStringLiteral("library"), QObject::tr("collectives"),
        { { QStringLiteral("nccl"), QObject::tr("as NCCL"), QObject::tr("the algorithms that NCCL has") },
          { QStringLiteral("any"), QObject::tr("any known"), QObject::tr("the best of all algorithms that are known") } });
    library.read = [](const Hardware& h) { return qstr(libraryName(h.library)); };
    library.write = [](Hardware& h, const QString& text) {
        h.library = libraryFromName(text.toStdString()).value_or(h.library);
        return QString();
    };
    out.fields.push_back(std::move(library));
    return out;
}

/// A number of something that calibration found and that is there, for nobody guesses it.
template <class Part, class At>
HardwareField fieldOfFound(const QString& key, const QString& label, const QString& unit, double scale, double Part::*member, At at,
                           const QString& toolTip)
{
    HardwareField out;
    out.key = key;
    out.label = label;
    out.unit = unit;
    out.toolTip = toolTip;
    out.scale = scale;
    out.get = [at, member](const Hardware& hardware) -> std::optional<double> {
        const std::optional<Part>& part = at(const_cast<Hardware&>(hardware)); // `at` only leads to the value
        return part ? std::optional((*part).*member) : std::nullopt;
    };
    out.set = [at, member](Hardware& hardware, std::optional<double> value) {
        std::optional<Part>& part = at(hardware);
        if (!value)
            part.reset(); // an empty field leaves the whole part out
        else if (part)
            (*part).*member = *value;
    };
    return out;
}

template <class At>
void addCacheFields(std::vector<HardwareField>& fields, const QString& place, At at)
{
    fields.push_back(fieldOfFound(place + QStringLiteral(".cache.bytes"), QObject::tr("caches hold"), QStringLiteral("MB"), kMega,
                                  &CacheRate::bytes, at,
                                  QObject::tr("Of what one kernel or collective moves; found by shardctl calibrate")));
    fields.push_back(fieldOfFound(place + QStringLiteral(".cache.bytes_per_second"), QObject::tr("caches move"),
                                  QStringLiteral("GB/s"), kGiga, &CacheRate::bytesPerSecond, at,
                                  QObject::tr("Found by shardctl calibrate")));
}

template <class At>
void addPackingField(std::vector<HardwareField>& fields, const QString& kernel, const QString& label,
                     const std::optional<Packing>& packing, At at)
{
    if (packing)
        fields.push_back(
            fieldOfFound(QStringLiteral("device.kernels.") + kernel + QStringLiteral("_packing.bytes_per_second"), label,
                         QStringLiteral("GB/s"), kGiga, &Packing::bytesPerSecond, at,
                         QObject::tr("Operands are copied before they are computed with; found by shardctl calibrate")));
}

/// Of what a step offloads. What is not known stays empty; the other two are then what is taken for it.
HardwareField hostField(const QString& name, const QString& label, const QString& unit, double scale, double HostLink::*member,
                        const QString& toolTip)
{
    HardwareField out;
    out.key = QStringLiteral("device.host.") + name;
    out.label = label;
    out.unit = unit;
    out.toolTip = toolTip;
    out.scale = scale;
    out.optional = true;
    out.get = [member](const Hardware& hardware) -> std::optional<double> {
        const std::optional<HostLink>& host = hardware.device.host;
        return host && (*host).*member > 0 ? std::optional((*host).*member) : std::nullopt;
    };
    out.set = [member](Hardware& hardware, std::optional<double> value) {
        std::optional<HostLink>& host = hardware.device.host;
        if (!value && (!host || member == &HostLink::bytesPerSecond)) {
            host.reset(); // without a link nothing of the host is known
            return;
        }
        if (!host)
            host = HostLink { hostLinkOf(hardware.device).bytesPerSecond };
        (*host).*member = value.value_or(0);
    };
    return out;
}

void addHostFields(std::vector<HardwareField>& fields)
{
    fields.push_back(hostField(QStringLiteral("bytes_per_second"), QObject::tr("link to the host"), QStringLiteral("GB/s"), kGiga,
                               &HostLink::bytesPerSecond, QObject::tr("Each way, as large copies reach it; empty: PCIe 4")));
    fields.push_back(hostField(QStringLiteral("memory_bytes_per_second"), QObject::tr("host's memory moves"),
                               QStringLiteral("GB/s"), kGiga, &HostLink::memoryBytesPerSecond,
                               QObject::tr("A device's share where all of a node work; empty: a slow one")));
    fields.push_back(hostField(QStringLiteral("memory_bytes"), QObject::tr("host's memory"), QStringLiteral("MiB"), kMebi,
                               &HostLink::memoryBytes,
                               QObject::tr("A device's share of what its node has for what is offloaded; empty: not known")));
}

HardwareSection deviceSection(const Hardware& hardware)
{
    HardwareSection out { QObject::tr("Device"), {}, qstr(hardware.device.source), {} };
    auto& fields = out.fields;
    fields.push_back(
        nameField(QStringLiteral("device.name"), QObject::tr("name"), [](Hardware& h) -> std::string& { return h.device.name; }));
    fields.push_back(field(
        QStringLiteral("device.memory_bytes"), QObject::tr("memory"), QStringLiteral("MiB"), kMebi,
        [](Hardware& h) -> double& { return h.device.memoryBytes; }, QObject::tr("As the driver reports it")));
    fields.push_back(field(
        QStringLiteral("device.reserved_bytes"), QObject::tr("kept by the driver"), QStringLiteral("MiB"), kMebi,
        [](Hardware& h) -> double& { return h.device.reservedBytes; },
        QObject::tr("Part of the memory that no program gets; counted as runtime")));
    fields.push_back(field(QStringLiteral("device.memory_bytes_per_second"), QObject::tr("memory bandwidth"),
                           QStringLiteral("GB/s"), kGiga, [](Hardware& h) -> double& { return h.device.memoryBytesPerSecond; }));
    // A member of PeakFlops is led to by its place among them, which a copy of the hardware has as well.
    int place = 0;
    visitPeaks(hardware.device.peak, [&](const char* name, const std::optional<double>&) {
        const auto at = [place](Hardware& h) -> std::optional<double>& {
            std::optional<double>* found = nullptr;
            int next = 0;
            visitPeaks(h.device.peak, [&](const char*, std::optional<double>& value) {
                if (next++ == place)
                    found = &value;
            });
            return *found;
        };
        ++place;
        fields.push_back(field(QStringLiteral("device.peak_flops.") + QString::fromLatin1(name),
                               QObject::tr("peak %1").arg(QString::fromLatin1(name)), QStringLiteral("TFLOP/s"), kTera, at,
                               QObject::tr("Dense, a multiply-add counts as two; empty if the device has none")));
    });
    fields.push_back(field(QStringLiteral("device.kernels.launch_seconds"), QObject::tr("kernel launch"), QStringLiteral("µs"),
                           kMicro, [](Hardware& h) -> double& { return h.device.kernels.launchSeconds; }));
    fields.push_back(field(QStringLiteral("device.kernels.graph_launch_seconds"), QObject::tr("launch in a graph"),
                           QStringLiteral("µs"), kMicro,
                           [](Hardware& h) -> double& { return h.device.kernels.graphLaunchSeconds; }));
    fields.push_back(field(
        QStringLiteral("device.kernels.host_seconds"), QObject::tr("host for a kernel"), QStringLiteral("µs"), kMicro,
        [](Hardware& h) -> double& { return h.device.kernels.hostSeconds; },
        QObject::tr("In training, for each kernel that is in no graph")));
    fields.push_back(field(
        QStringLiteral("device.kernels.gemm_efficiency"), QObject::tr("matrix products reach"), QStringLiteral("%"), kPercent,
        [](Hardware& h) -> double& { return h.device.kernels.gemmEfficiency; }, QObject::tr("Share of the peak")));
    fields.push_back(field(
        QStringLiteral("device.kernels.fp8_efficiency"), QObject::tr("products in fp8 reach"), QStringLiteral("%"), kPercent,
        [](Hardware& h) -> std::optional<double>& { return h.device.kernels.fp8Efficiency; },
        QObject::tr("Share of the peak; empty: as the others")));
    fields.push_back(field(
        QStringLiteral("device.kernels.sustained_clock"), QObject::tr("clock that is held"), QStringLiteral("%"), kPercent,
        [](Hardware& h) -> double& { return h.device.kernels.sustainedClock; },
        QObject::tr("By products for minutes, under the power limit")));
    fields.push_back(field(
        QStringLiteral("device.kernels.attention_efficiency"), QObject::tr("attention reaches"), QStringLiteral("%"), kPercent,
        [](Hardware& h) -> double& { return h.device.kernels.attentionEfficiency; }, QObject::tr("Share of the peak")));
    fields.push_back(field(
        QStringLiteral("device.kernels.attention_backward_efficiency"), QObject::tr("attention backward"), QStringLiteral("%"),
        kPercent, [](Hardware& h) -> std::optional<double>& { return h.device.kernels.attentionBackwardEfficiency; },
        QObject::tr("Share of the peak; empty: as forward")));
    fields.push_back(field(
        QStringLiteral("device.kernels.flash2_efficiency"), QObject::tr("FlashAttention-2 reaches"), QStringLiteral("%"), kPercent,
        [](Hardware& h) -> std::optional<double>& { return h.device.kernels.flash2Efficiency; },
        QObject::tr("Share of the peak; empty: as attention")));
    fields.push_back(field(
        QStringLiteral("device.kernels.memory_efficiency"), QObject::tr("memory reaches"), QStringLiteral("%"), kPercent,
        [](Hardware& h) -> double& { return h.device.kernels.memoryEfficiency; }, QObject::tr("Share of the bandwidth")));
    addPackingField(fields, QStringLiteral("gemm"), QObject::tr("products pack at"), hardware.device.kernels.gemmPacking,
                    [](Hardware& h) -> std::optional<Packing>& { return h.device.kernels.gemmPacking; });
    addPackingField(fields, QStringLiteral("attention"), QObject::tr("attention packs at"),
                    hardware.device.kernels.attentionPacking,
                    [](Hardware& h) -> std::optional<Packing>& { return h.device.kernels.attentionPacking; });
    if (!hasHostMemory(hardware.device))
        addHostFields(fields);
    if (hardware.device.cache)
        addCacheFields(fields, QStringLiteral("device"), [](Hardware& h) -> std::optional<CacheRate>& { return h.device.cache; });
    return out;
}

QString levelTitle(const Level& level, std::size_t index)
{
    const QString fabric = qstr(fabricName(level.fabric));
    if (level.size == 0)
        return QObject::tr("Level %1: %2 of all the rest").arg(index + 1).arg(fabric);
    return QObject::tr("Level %1: %2 of %3").arg(index + 1).arg(fabric).arg(level.size);
}

/// The product, as long as it is a possible number of devices; more is refused by the checks whatever it is.
std::int64_t chipsOf(const std::vector<std::int64_t>& shape)
{
    std::int64_t product = 1;
    for (const std::int64_t extent : shape)
        product = extent > 0 && product <= kMaxDevices ? product * std::min<std::int64_t>(extent, kMaxDevices) : product;
    return product;
}

/// Two dims as equal as can be.
std::vector<std::int64_t> squareOf(std::int64_t chips)
{
    auto rows = static_cast<std::int64_t>(std::sqrt(static_cast<double>(chips)));
    while (rows > 1 && chips % rows != 0)
        --rows;
    return rows > 1 ? std::vector<std::int64_t> { rows, chips / rows } : std::vector<std::int64_t> { chips };
}

/// With what the other fabric needs, and without what only the old one has.
void setFabric(Level& level, Fabric fabric)
{
    constexpr std::int64_t kFirstTorus = 16;
    if (level.fabric == fabric)
        return;
    level.fabric = fabric;
    level.shape.clear();
    level.wraps.clear();
    if (level.link.shared != (fabric == Fabric::SharedMemory))
        level.link.messageSeconds.reset(); // it means something else there
    level.link.shared = fabric == Fabric::SharedMemory;
    level.link.cache.reset();
    if (fabric != Fabric::Switch)
        level.inSwitch.reset();
    if (fabric == Fabric::Torus) {
        level.shape = squareOf(level.size > 0 ? level.size : kFirstTorus);
        level.wraps.assign(level.shape.size(), true);
        level.size = chipsOf(level.shape);
    }
}

HardwareField fabricField(const QString& place, std::size_t index)
{
    const auto option = [](Fabric fabric, const QString& text, const QString& detail) {
        return HardwareField::Option { qstr(fabricName(fabric)), text, detail };
    };
    HardwareField out =
        choiceField(place + QStringLiteral(".fabric"), QObject::tr("joined by"),
                    { option(Fabric::Switch, QObject::tr("switch"), QObject::tr("any to any at full rate, e.g. an NVLink island")),
                      option(Fabric::FatTree, QObject::tr("fat tree"), QObject::tr("switches in tiers, e.g. InfiniBand")),
                      option(Fabric::Torus, QObject::tr("torus"), QObject::tr("to neighbors along each dim, e.g. TPU pods")),
                      option(Fabric::Dcn, QObject::tr("network"), QObject::tr("the data center's")),
                      option(Fabric::SharedMemory, QObject::tr("one memory"), QObject::tr("a host that simulates all devices")) });
    out.read = [index](const Hardware& h) { return qstr(fabricName(h.levels[index].fabric)); };
    out.write = [index](Hardware& h, const QString& text) {
        if (const auto fabric = fabricFromName(text.toStdString()))
            setFabric(h.levels[index], *fabric);
        return QString();
    };
    return out;
}

/// A built-in link with all its values.
HardwareField linkField(const QString& link, std::size_t index, const Level& level)
{
    const QString own = QStringLiteral("own");
    std::vector<HardwareField::Option> options;
    for (const LinkSpec& known : linkPresets())
        if (known.shared == level.link.shared)
            options.push_back({ qstr(known.id), qstr(known.id), qstr(known.name) });
    options.push_back({ own, QObject::tr("own values"), QObject::tr("those below") });
    HardwareField out = choiceField(link, QObject::tr("link"), std::move(options));
    out.read = [index, own](const Hardware& h) {
        const LinkSpec* known = findLink(h.levels[index].link.id);
        return known && *known == h.levels[index].link ? qstr(known->id) : own;
    };
    out.write = [index](Hardware& h, const QString& text) {
        if (const LinkSpec* known = findLink(text.toStdString()))
            h.levels[index].link = *known;
        return QString();
    };
    return out;
}

HardwareField shapeField(const QString& place, std::size_t index)
{
    HardwareField out;
    out.key = place + QStringLiteral(".shape");
    out.label = QObject::tr("devices along each dim");
    out.toolTip = QObject::tr("Of a torus, such as 4 × 4 × 4");
    out.kind = HardwareField::Kind::Text;
    out.read = [index](const Hardware& h) {
        QStringList extents;
        for (const std::int64_t extent : h.levels[index].shape)
            extents << QString::number(extent);
        return extents.join(QStringLiteral(" × "));
    };
    out.write = [index](Hardware& h, const QString& text) {
        static const QRegularExpression separators(QStringLiteral("[\\s×x*,]+"));
        std::vector<std::int64_t> shape;
        for (const QString& part : text.split(separators, Qt::SkipEmptyParts)) {
            bool ok = false;
            shape.push_back(part.toLongLong(&ok));
            if (!ok)
                return QObject::tr("needs whole numbers, such as 4 × 4 × 4");
        }
        Level& level = h.levels[index];
        level.wraps.resize(shape.size(), true);
        level.shape = std::move(shape);
        level.size = chipsOf(level.shape);
        return QString();
    };
    return out;
}

HardwareField wrapsField(const QString& place, std::size_t index, const Level& level)
{
    HardwareField out;
    out.key = place + QStringLiteral(".wraps");
    out.label = QObject::tr("closes to a ring");
    out.toolTip = QObject::tr("Wraparound links along each dim of the torus");
    out.kind = HardwareField::Kind::Flags;
    for (std::size_t dim = 0; dim < level.wraps.size(); ++dim)
        out.options.push_back({ {}, QObject::tr("dim %1").arg(dim), {} });
    out.read = [index](const Hardware& h) {
        QString text;
        for (const bool wrap : h.levels[index].wraps)
            text += QLatin1Char(wrap ? '1' : '0');
        return text;
    };
    out.write = [index](Hardware& h, const QString& text) {
        auto& wraps = h.levels[index].wraps;
        for (std::size_t dim = 0; dim < wraps.size() && dim < static_cast<std::size_t>(text.size()); ++dim)
            wraps[dim] = text[static_cast<qsizetype>(dim)] == QLatin1Char('1');
        return QString();
    };
    return out;
}

/// Whether the switch adds up by itself.
HardwareField inSwitchField(const QString& place, std::size_t index)
{
    HardwareField out =
        choiceField(place + QStringLiteral(".in_switch_reduction"), QObject::tr("sums in the switch"),
                    { { QStringLiteral("no"), QObject::tr("no"), {} },
                      { QStringLiteral("yes"), QObject::tr("yes"), QObject::tr("NVLink SHARP: all-reduce and reduce-scatter") } });
    out.read = [index](const Hardware& h) { return h.levels[index].inSwitch ? QStringLiteral("yes") : QStringLiteral("no"); };
    out.write = [index](Hardware& h, const QString& text) {
        auto& inSwitch = h.levels[index].inSwitch;
        if (text != QLatin1String("yes"))
            inSwitch.reset();
        else if (!inSwitch)
            inSwitch.emplace();
        return QString();
    };
    return out;
}

HardwareSection levelSection(const Hardware& hardware, std::size_t index)
{
    const Level& level = hardware.levels[index];
    HardwareSection out { levelTitle(level, index), {}, qstr(level.link.source), {} };
    const QString place = QStringLiteral("levels[%1]").arg(index);
    const QString link = place + QStringLiteral(".link");
    auto& fields = out.fields;
    const auto at = [index](Hardware& h) -> Level& { return h.levels[index]; };
    fields.push_back(fabricField(place, index));
    if (level.fabric == Fabric::Torus) {
        fields.push_back(shapeField(place, index));
        fields.push_back(wrapsField(place, index, level));
    }
    fields.push_back(linkField(link, index, level));
    fields.push_back(nameField(link + QStringLiteral(".name"), QObject::tr("link's name"),
                               [at](Hardware& h) -> std::string& { return at(h).link.name; }));
    fields.push_back(field(
        link + QStringLiteral(".bytes_per_second"),
        level.link.shared ? QObject::tr("rate, all devices") : QObject::tr("rate of a device"), QStringLiteral("GB/s"), kGiga,
        [at](Hardware& h) -> double& { return at(h).link.bytesPerSecond; }, QObject::tr("Effective, in one direction")));
    if (level.fabric != Fabric::Torus) // its size is that of its shape
        fields.push_back(field(
            place + QStringLiteral(".size"), index == 0 ? QObject::tr("devices in a unit") : QObject::tr("units it joins"),
            QString(), 1, [at](Hardware& h) -> std::int64_t& { return at(h).size; },
            QObject::tr("0 on the outermost level: all the rest")));
    fields.push_back(field(
        link + QStringLiteral(".alpha_seconds"), QObject::tr("latency of a step"), QStringLiteral("µs"), kMicro,
        [at](Hardware& h) -> double& { return at(h).link.alphaSeconds; }, QObject::tr("With the protocol of least latency")));
    fields.push_back(field(link + QStringLiteral(".alpha_ll128_seconds"), QObject::tr("  with LL128"), QStringLiteral("µs"), kMicro,
                           [at](Hardware& h) -> std::optional<double>& { return at(h).link.alphaLl128; }));
    fields.push_back(field(link + QStringLiteral(".alpha_simple_seconds"), QObject::tr("  at full rate"), QStringLiteral("µs"),
                           kMicro, [at](Hardware& h) -> std::optional<double>& { return at(h).link.alphaSimple; }));
    fields.push_back(field(link + QStringLiteral(".start_seconds"), QObject::tr("start of a collective"), QStringLiteral("µs"),
                           kMicro, [at](Hardware& h) -> double& { return at(h).link.startSeconds; }));
    fields.push_back(field(link + QStringLiteral(".message_seconds"),
                           level.link.shared ? QObject::tr("piece of a collective") : QObject::tr("message of an all-to-all"),
                           QStringLiteral("µs"), kMicro,
                           [at](Hardware& h) -> std::optional<double>& { return at(h).link.messageSeconds; }));
    fields.push_back(field(link + QStringLiteral(".links_per_device"), QObject::tr("links of a device"), QString(), 1,
                           [at](Hardware& h) -> int& { return at(h).link.linksPerDevice; }));
    fields.push_back(field(
        place + QStringLiteral(".nics_per_device"), QObject::tr("ports of a device"), QString(), 1,
        [at](Hardware& h) -> double& { return at(h).nicsPerDevice; }, QObject::tr("Below 1: devices share one")));
    if (level.fabric == Fabric::Switch)
        fields.push_back(inSwitchField(place, index));
    if (level.inSwitch)
        fields.push_back(field(
            place + QStringLiteral(".in_switch_reduction.efficiency"), QObject::tr("  these reach"), QStringLiteral("%"), kPercent,
            [at](Hardware& h) -> double& { return at(h).inSwitch->efficiency; }, QObject::tr("Share of the link's rate")));
    return out;
}

} // namespace

QString HardwareField::text(const Hardware& hardware) const
{
    if (kind != Kind::Number)
        return read(hardware);
    constexpr int kShown = 6; // more than any of these is known to, and what its field has room for
    const std::optional<double> value = get(hardware);
    if (!value)
        return {};
    const double inUnit = *value / scale;
    // Without an exponent as long as that says as much.
    const bool large = std::abs(inUnit) >= 1e6 && std::abs(inUnit) < 1e15;
    return large ? QLocale::c().toString(inUnit, 'f', 0).remove(QLatin1Char(',')) : QLocale::c().toString(inUnit, 'g', kShown);
}

QString HardwareField::exactText(const Hardware& hardware) const
{
    const std::optional<double> value = kind == Kind::Number ? get(hardware) : std::nullopt;
    if (!value)
        return {};
    // Steps of a double in the unit are no digits that anybody gave.
    const QString exact = QLocale::c().toString(*value / scale, 'g', 15);
    return exact == text(hardware) ? QString() : exact;
}

QString HardwareField::apply(Hardware& hardware, const QString& text) const
{
    if (kind != Kind::Number)
        return write(hardware, text);
    bool empty = false;
    const std::optional<double> value = parse(text, empty);
    if (!value && !(empty && optional))
        return empty ? QObject::tr("needs a number")
            : whole  ? QObject::tr("is not a whole number")
                     : QObject::tr("is not a number");
    set(hardware, value);
    return {};
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
    std::vector<HardwareSection> out { generalSection(), deviceSection(hardware) };
    for (std::size_t i = 0; i < hardware.levels.size(); ++i)
        out.push_back(levelSection(hardware, i));
    return out;
}

Hardware withOuterLevel(Hardware hardware, std::int64_t devices)
{
    std::int64_t inside = 1;
    for (const Level& level : hardware.levels)
        inside *= std::max<std::int64_t>(1, level.size);
    if (Level& outermost = hardware.levels.back(); outermost.size == 0)
        outermost.size = std::max<std::int64_t>(2, (devices + inside - 1) / inside);
    Level level;
    level.fabric = Fabric::Dcn;
    const auto known = std::find_if(linkPresets().rbegin(), linkPresets().rend(),
                                    [](const LinkSpec& link) { return link.id.find("dcn") != std::string::npos; });
    level.link = known == linkPresets().rend() ? hardware.levels.back().link : *known;
    level.nicsPerDevice = hardware.levels.back().nicsPerDevice;
    hardware.levels.push_back(std::move(level));
    return hardware;
}

} // namespace shardboard
