// SPDX-License-Identifier: Apache-2.0
#include "model/io/design/hardwarefile.h"

#include "model/hardware/hardwarechecks.h"
#include "model/io/file/textfile.h"
#include "model/io/json/jsonmembers.h"
#include "model/io/json/jsontext.h"
#include "model/io/json/jsonwriter.h"

#include <algorithm>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr int kVersion = 1;
constexpr int kMostCount = 1 << 20;

} // namespace

template <class Each, MembersOf<CacheRate> Cache>
void jsonMembers(Each& each, Cache& cache)
{
    each.value("bytes", cache.bytes);
    each.value("bytes_per_second", cache.bytesPerSecond);
}

template <class Each, MembersOf<MeasuredSize> Size>
void jsonMembers(Each& each, Size& size)
{
    each.value("first", size.size[0]);
    each.value("second", size.size[1]);
    each.value("third", size.size[2]);
    each.value("factor", size.factor);
}

template <class Each, MembersOf<MeasuredOp> Op>
void jsonMembers(Each& each, Op& op)
{
    each.value("op", op.op);
    each.value("sizes", op.sizes);
}

template <class Each, MembersOf<CollectiveRate> Rate>
void jsonMembers(Each& each, Rate& rate)
{
    each.value("kind", rate.kind);
    each.usual("piece_seconds", rate.pieceSeconds);
    each.value("bytes_per_second", rate.bytesPerSecond);
    each.value("cache", rate.cache);
}

template <class Each, MembersOf<Packing> Panels>
void jsonMembers(Each& each, Panels& packing)
{
    each.value("bytes_per_second", packing.bytesPerSecond);
    each.usual("free_bytes", packing.freeBytes);
    each.value("unpacked_efficiency", packing.unpackedEfficiency);
}

template <class Each, MembersOf<KernelConstants> Kernels>
void jsonMembers(Each& each, Kernels& kernels)
{
    each.usual("launch_seconds", kernels.launchSeconds);
    each.unless("graph_launch_seconds", kernels.graphLaunchSeconds, KernelConstants {}.graphLaunchSeconds);
    each.unless("host_seconds", kernels.hostSeconds, 0);
    each.usual("gemm_efficiency", kernels.gemmEfficiency);
    each.value("fp8_efficiency", kernels.fp8Efficiency);
    each.value("fp4_efficiency", kernels.fp4Efficiency);
    each.unless("gemm_depth", kernels.gemmDepth, 0);
    if (Each::kReads || kernels.gemmArray != 0)
        each.usual("gemm_array", kernels.gemmArray, { 0, kMostCount });
    each.unless("sustained_clock", kernels.sustainedClock, 1);
    each.usual("memory_efficiency", kernels.memoryEfficiency);
    each.usual("attention_efficiency", kernels.attentionEfficiency);
    each.value("attention_backward_efficiency", kernels.attentionBackwardEfficiency);
    each.value("flash2_efficiency", kernels.flash2Efficiency);
    each.value("flash2_backward_efficiency", kernels.flash2BackwardEfficiency);
    each.unless("attention_head", kernels.attentionHead, 0);
    each.unless("attention_ramp", kernels.attentionRamp, 0);
    each.value("gemm_packing", kernels.gemmPacking);
    each.value("attention_packing", kernels.attentionPacking);
}

template <class Each, MembersOf<PeakFlops> Peaks>
void jsonMembers(Each& each, Peaks& peaks)
{
    visitPeaks(peaks, [&](const char* type, auto& rate) { each.value(type, rate); });
}

/// What every part of hardware has; without a name the id stands for it.
template <class Each, class Part>
void nameMembers(Each& each, Part& part)
{
    if constexpr (Each::kReads)
        part.id = "custom";
    each.usual("id", part.id);
    if constexpr (Each::kReads)
        part.name = part.id;
    each.usual("name", part.name);
    each.prose("source", part.source);
}

template <class Each, MembersOf<HostLink> Link>
void jsonMembers(Each& each, Link& link)
{
    each.value("bytes_per_second", link.bytesPerSecond);
    each.unless("memory_bytes_per_second", link.memoryBytesPerSecond, 0);
    each.unless("memory_bytes", link.memoryBytes, 0);
}

/// Constants that are those of no device in particular say nothing of this one: files of earlier versions had them for all. They
/// are taken from the built-in device that it is of.
static void setByFamily(DeviceSpec& device)
{
    KernelConstants said = device.kernels;
    said.flash2Efficiency.reset();
    if (const DeviceSpec* family = findDeviceFamily(device.id); family != nullptr && said == KernelConstants {})
        device.kernels = family->kernels;
}

static auto jsonWords(DeviceKind) { return JsonWords { deviceKindName, deviceKindFromName, "gpu, tpu, cpu or accelerator" }; }
template <class Each, MembersOf<DeviceSpec> Device>
void jsonMembers(Each& each, Device& device)
{
    nameMembers(each, device);
    each.usual("kind", device.kind);
    each.value("memory_bytes", device.memoryBytes);
    each.unless("reserved_bytes", device.reservedBytes, 0);
    each.value("memory_bytes_per_second", device.memoryBytesPerSecond);
    each.usual("multiprocessors", device.multiprocessors, { 0, kMostCount });
    each.usual("peak_flops", device.peak);
    each.usual("kernels", device.kernels);
    if constexpr (Each::kReads)
        setByFamily(device);
    each.value("cache", device.cache);
    each.value("host", device.host);
    each.unless("measured", device.measured, {});
}

template <class Each, MembersOf<LinkSpec> Link>
void jsonMembers(Each& each, Link& link)
{
    nameMembers(each, link);
    each.value("bytes_per_second", link.bytesPerSecond);
    each.usual("peak_bytes_per_second", link.peakBytesPerSecond);
    each.value("alpha_seconds", link.alphaSeconds);
    each.value("alpha_ll128_seconds", link.alphaLl128);
    each.value("alpha_simple_seconds", link.alphaSimple);
    each.usual("start_seconds", link.startSeconds);
    each.value("message_seconds", link.messageSeconds);
    each.unless("own_block", link.ownBlock, 0);
    each.usual("links_per_device", link.linksPerDevice, { 1, kMostCount });
    each.unless("shared", link.shared, false);
    each.value("cache", link.cache);
    each.unless("rates", link.rates, {});
}

template <class Each, MembersOf<InSwitchReduction> Sums>
void jsonMembers(Each& each, Sums& inSwitch)
{
    each.value("start_seconds", inSwitch.startSeconds);
    each.value("efficiency", inSwitch.efficiency);
}

/// What a torus says by its shape: its size, and that every dim closes to a ring.
static void setByShape(Level& level)
{
    std::int64_t chips = level.fabric == Fabric::Torus ? 1 : 0;
    for (const std::int64_t extent : level.shape)
        chips = std::min(chips * extent, std::int64_t { 2 } * kMostCount);
    level.size = chips;
    level.wraps.assign(level.shape.size(), true);
}

static auto jsonWords(Fabric) { return JsonWords { fabricName, fabricFromName, "switch, fat-tree, torus, dcn or shared-memory" }; }
template <class Each, MembersOf<Level> OneLevel>
void jsonMembers(Each& each, OneLevel& level)
{
    each.value("fabric", level.fabric);
    if (Each::kReads || level.fabric == Fabric::Torus)
        each.usual("shape", level.shape, { 1, kMostCount });
    if constexpr (Each::kReads)
        setByShape(level);
    if (Each::kReads || level.fabric != Fabric::Torus)
        each.usual("size", level.size, { 0, kMostCount });
    if (Each::kReads || level.fabric == Fabric::Torus)
        each.usual("wraps", level.wraps);
    each.unless("nics_per_device", level.nicsPerDevice, 1);
    each.check([](JsonFields& from) {
        if (from.find("link") == nullptr)
            from.fail("link", "the key is missing", "add an id such as \"nvlink4\", or an object");
    });
    each.value("link", level.link);
    each.value("in_switch_reduction", level.inSwitch);
}

static auto jsonWords(CollectiveLibrary) { return JsonWords { libraryName, libraryFromName, "nccl or any" }; }
template <class Each, MembersOf<Hardware> Whole>
void jsonMembers(Each& each, Whole& hardware)
{
    nameMembers(each, hardware);
    each.usual("library", hardware.library);
    each.check([](JsonFields& from) {
        if (from.find("device") == nullptr)
            from.fail("device", "the key is missing", "add an id such as \"h100-sxm\", or an object");
    });
    each.value("device", hardware.device);
    each.check([](JsonFields& from) {
        if (const json* levels = from.find("levels"); levels == nullptr || !levels->is_array())
            from.fail("levels", "the key is missing", "add a list of levels, inner first");
    });
    each.value("levels", hardware.levels);
}

json hardwareJson(const Hardware& hardware)
{
    json out = jsonOf(hardware);
    out["format"] = "shardboard-hardware";
    out["version"] = kVersion;
    return out;
}

namespace {

/// Puts what `edit` says over `base`; a null takes the key away.
void putOver(json& base, const json& edit)
{
    if (!base.is_object() || !edit.is_object()) {
        base = edit;
        return;
    }
    for (const auto& [key, value] : edit.items())
        if (value.is_null())
            base.erase(key);
        else
            putOver(base[key], value);
}

/// Replaces ids of presets and objects with a base by what they stand for, and puts a file over its base.
class Expander {
public:
    explicit Expander(const std::string& where)
        : m_where(where)
    {
    }

    Result<json> whole(json document)
    {
        json base = json::object();
        if (const auto id = document.find("base"); id != document.end()) {
            if (!id->is_string())
                return inputError(m_where + ":base", "is not the id of a preset", "use one such as \"dgx-h100\"");
            const auto preset = findHardware(id->get<std::string>(), m_where + ":base");
            if (!preset.ok())
                return preset.error();
            base = hardwareJson(preset.value());
            base["id"] = preset.value().id + "-edited";
            document.erase("base");
        }
        const json device = taken(document, "device");
        const json levels = taken(document, "levels");
        putOver(base, document);
        if (!device.is_null())
            part(base["device"], device, "device", [](const std::string& id) {
                const DeviceSpec* found = findDevice(id);
                return found ? jsonOf(*found) : json();
            });
        if (!levels.is_null())
            putLevels(base, levels);
        if (m_error)
            return *m_error;
        return base;
    }

private:
    static json taken(json& from, const char* key)
    {
        const auto found = from.find(key);
        if (found == from.end())
            return nullptr;
        json out = std::move(*found);
        from.erase(key);
        return out;
    }

    void fail(const std::string& place, const std::string& what, const std::string& fix)
    {
        if (!m_error)
            m_error = inputError(m_where + ":" + place, what, fix);
    }

    template <class Find>
    void part(json& base, json edit, const std::string& place, const Find& find)
    {
        const bool byId = edit.is_string();
        const bool byBase = edit.is_object() && edit.contains("base");
        if (byId || byBase) {
            const json& id = byId ? edit : edit["base"];
            base = id.is_string() ? find(id.get<std::string>()) : json();
            if (base.is_null())
                return fail(byId ? place : place + ".base", "there is no preset " + jsonText(id),
                            "`shardctl hardware` lists them; or describe it in an object {...}");
            if (byId)
                return;
            edit.erase("base");
        }
        putOver(base, edit);
    }

    void putLevels(json& base, const json& levels)
    {
        if (!levels.is_array())
            return fail("levels", "is not a list", "use [...], inner levels first");
        json& list = base["levels"];
        if (list.is_null())
            list = json::array();
        for (std::size_t i = 0; i < levels.size(); ++i) {
            const std::string place = "levels[" + std::to_string(i) + "]";
            json edit = levels[i];
            if (!edit.is_object())
                return fail(place, "is not an object", "write {...}; {} leaves the level of the base as it is");
            if (i == list.size())
                list.push_back(json::object());
            const json link = taken(edit, "link");
            putOver(list[i], edit);
            if (!link.is_null())
                part(list[i]["link"], link, place + ".link", [](const std::string& id) {
                    const LinkSpec* found = findLink(id);
                    return found ? jsonOf(*found) : json();
                });
        }
    }

    std::string m_where;
    std::optional<Error> m_error;
};

} // namespace

std::string hardwareText(const Hardware& hardware) { return jsonText(hardwareJson(hardware), 1) + "\n"; }

Result<Hardware> hardwareFromJson(const json& document, const std::string& where)
{
    if (!document.is_object() || document.value("format", json()) != "shardboard-hardware")
        return inputError(where, "is not hardware of Shardboard (no \"format\": \"shardboard-hardware\")",
                          "start from what `shardctl hardware dgx-h100 --json` prints");
    JsonFields heading(document, where);
    const std::int64_t version = heading.integer("version", 1, std::int64_t { 1 } << 62);
    if (heading.error())
        return *heading.error();
    if (version > kVersion)
        return inputError(where + ":version",
                          "was written by a newer program (version " + std::to_string(version) + ", this one reads up to "
                              + std::to_string(kVersion) + ")",
                          "update Shardboard");
    auto whole = Expander(where).whole(document);
    if (!whole.ok())
        return whole.error();
    Hardware out;
    JsonFields from(whole.value(), where);
    from.refuseUnknown();
    from.nullIsAbsent();
    for (const char* known : { "format", "version", "calibration" }) // the last tells people where the numbers come from
        from.find(known);
    readMembers(from, out);
    if (from.error())
        return *from.error();
    if (auto status = checkHardware(out, where); !status.ok())
        return status.error();
    return out;
}

Result<Hardware> hardwareFromText(std::string_view text, const std::string& where)
{
    const auto document = parseJson(std::string(text), where);
    if (!document.ok())
        return document.error();
    return hardwareFromJson(document.value(), where);
}

Result<Hardware> hardwareNamed(const std::string& idOrFile, const std::string& where)
{
    if (!idOrFile.ends_with(".json") && idOrFile.find('/') == std::string::npos)
        return findHardware(idOrFile, where);
    const auto text = readTextFile(idOrFile);
    if (!text.ok())
        return text.error();
    return hardwareFromText(text.value(), idOrFile);
}

} // namespace shardboard
