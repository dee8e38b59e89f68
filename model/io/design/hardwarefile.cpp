// SPDX-License-Identifier: Apache-2.0
#include "model/io/design/hardwarefile.h"

#include "model/hardware/hardwarechecks.h"
#include "model/io/file/textfile.h"
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsontext.h"
#include "model/io/json/jsonwriter.h"

#include <limits>

namespace shardboard {

using nlohmann::json;

namespace {

constexpr int kVersion = 1;
constexpr double kAny = std::numeric_limits<double>::max();
constexpr std::int64_t kMostCount = std::int64_t { 1 } << 20;

json cacheJson(const CacheRate& cache) { return { { "bytes", cache.bytes }, { "bytes_per_second", cache.bytesPerSecond } }; }

json packingJson(const Packing& packing)
{
    json out { { "bytes_per_second", packing.bytesPerSecond }, { "free_bytes", packing.freeBytes } };
    if (packing.unpackedEfficiency)
        out["unpacked_efficiency"] = *packing.unpackedEfficiency;
    return out;
}

json deviceJson(const DeviceSpec& device)
{
    json peak = json::object();
    visitPeaks(device.peak, [&](const char* key, const std::optional<double>& value) {
        if (value)
            peak[key] = *value;
    });
    json out { { "id", device.id },
               { "name", device.name },
               { "kind", deviceKindName(device.kind) },
               { "peak_flops", peak },
               { "memory_bytes", device.memoryBytes },
               { "memory_bytes_per_second", device.memoryBytesPerSecond },
               { "multiprocessors", device.multiprocessors },
               { "kernels",
                 { { "launch_seconds", device.kernels.launchSeconds },
                   { "gemm_efficiency", device.kernels.gemmEfficiency },
                   { "memory_efficiency", device.kernels.memoryEfficiency },
                   { "attention_efficiency", device.kernels.attentionEfficiency } } },
               { "source", device.source } };
    if (device.kernels.flash2Efficiency)
        out["kernels"]["flash2_efficiency"] = *device.kernels.flash2Efficiency;
    if (device.kernels.gemmPacking)
        out["kernels"]["gemm_packing"] = packingJson(*device.kernels.gemmPacking);
    if (device.kernels.attentionPacking)
        out["kernels"]["attention_packing"] = packingJson(*device.kernels.attentionPacking);
    if (device.cache)
        out["cache"] = cacheJson(*device.cache);
    return out;
}

json linkJson(const LinkSpec& link)
{
    json out { { "id", link.id },
               { "name", link.name },
               { "bytes_per_second", link.bytesPerSecond },
               { "peak_bytes_per_second", link.peakBytesPerSecond },
               { "alpha_seconds", link.alphaSeconds },
               { "start_seconds", link.startSeconds },
               { "links_per_device", link.linksPerDevice },
               { "source", link.source } };
    if (link.alphaLl128)
        out["alpha_ll128_seconds"] = *link.alphaLl128;
    if (link.alphaSimple)
        out["alpha_simple_seconds"] = *link.alphaSimple;
    if (link.messageSeconds)
        out["message_seconds"] = *link.messageSeconds;
    if (link.ownBlock != 0)
        out["own_block"] = link.ownBlock;
    if (link.shared)
        out["shared"] = true;
    if (link.cache)
        out["cache"] = cacheJson(*link.cache);
    return out;
}

json levelJson(const Level& level)
{
    json out { { "fabric", fabricName(level.fabric) }, { "link", linkJson(level.link) } };
    if (level.fabric == Fabric::Torus) {
        out["shape"] = level.shape;
        out["wraps"] = level.wraps;
    } else {
        out["size"] = level.size;
    }
    if (level.nicsPerDevice != 1)
        out["nics_per_device"] = level.nicsPerDevice;
    if (level.inSwitch)
        out["in_switch_reduction"] = { { "start_seconds", level.inSwitch->startSeconds },
                                       { "efficiency", level.inSwitch->efficiency } };
    return out;
}

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
                return found ? deviceJson(*found) : json();
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
                    return found ? linkJson(*found) : json();
                });
        }
    }

    std::string m_where;
    std::optional<Error> m_error;
};

class HardwareReader {
public:
    explicit HardwareReader(std::string where)
        : m_where(std::move(where))
    {
    }

    Result<Hardware> read(const json& document)
    {
        Hardware out;
        JsonFields top(document, m_where, "");
        top.find("format");
        top.find("version");
        top.find("calibration"); // what shardctl calibrate tells of where the numbers come from
        out.id = top.text("id", "custom");
        out.name = top.text("name", out.id);
        out.source = top.prose("source", "");
        out.library = word(top, "library", "nccl", libraryFromName, "nccl or any", CollectiveLibrary::Nccl);
        static const json nothing = json::object();
        const json* device = top.find("device");
        if (!device)
            top.fail("device", "the key is missing", "add an id such as \"h100-sxm\", or an object");
        if (top.error())
            return *top.error();
        readDevice(device ? *device : nothing, out.device);
        const json* levels = top.find("levels");
        if (!levels || !levels->is_array())
            top.fail("levels", "the key is missing", "add a list of levels, inner first");
        else
            for (std::size_t i = 0; i < levels->size(); ++i)
                readLevel((*levels)[i], "levels[" + std::to_string(i) + "]", out.levels.emplace_back());
        finish(top);
        if (m_error)
            return *m_error;
        if (auto status = checkHardware(out, m_where); !status.ok())
            return status.error();
        return out;
    }

private:
    template <class FromName, class Enum>
    static Enum word(JsonFields& fields, const char* key, const std::optional<std::string>& usual, FromName fromName,
                     const char* known, Enum fallback)
    {
        const std::string text = fields.text(key, usual);
        const auto found = fromName(text);
        if (!found)
            fields.fail(key, "cannot be '" + text + "'", std::string("use ") + known);
        return found.value_or(fallback);
    }

    static double number(JsonFields& fields, const char* key, std::optional<double> usual = std::nullopt)
    {
        return fields.number(key, -kAny, kAny, usual); // the range is checked with all values at hand
    }

    static std::optional<double> maybe(JsonFields& fields, const char* key)
    {
        fields.nullIsAbsent();
        return fields.find(key) ? std::optional(number(fields, key)) : std::nullopt;
    }

    std::optional<CacheRate> maybeCache(JsonFields& of, const std::string& place)
    {
        of.nullIsAbsent();
        const json* value = of.find("cache");
        if (!value)
            return std::nullopt;
        JsonFields fields(*value, m_where, place + ".cache");
        CacheRate out;
        out.bytes = number(fields, "bytes");
        out.bytesPerSecond = number(fields, "bytes_per_second");
        finish(fields);
        return out;
    }

    std::optional<Packing> maybePacking(JsonFields& of, const std::string& key)
    {
        of.nullIsAbsent();
        const json* value = of.find(key);
        if (!value)
            return std::nullopt;
        JsonFields fields(*value, m_where, "device.kernels." + key);
        Packing out;
        out.bytesPerSecond = number(fields, "bytes_per_second");
        out.freeBytes = number(fields, "free_bytes", 0);
        out.unpackedEfficiency = maybe(fields, "unpacked_efficiency");
        finish(fields);
        return out;
    }

    void finish(JsonFields& fields)
    {
        const json rest = fields.leftOver();
        if (!rest.empty())
            fields.fail(rest.begin().key(), "is not a key of it", "leave it out, or mend its spelling");
        if (fields.error() && !m_error)
            m_error = *fields.error();
    }

    void readDevice(const json& value, DeviceSpec& out)
    {
        JsonFields fields(value, m_where, "device");
        out.id = fields.text("id", "custom");
        out.name = fields.text("name", out.id);
        out.source = fields.prose("source", "");
        out.kind = word(fields, "kind", "gpu", deviceKindFromName, "gpu, tpu or cpu", DeviceKind::Gpu);
        out.memoryBytes = number(fields, "memory_bytes");
        out.memoryBytesPerSecond = number(fields, "memory_bytes_per_second");
        out.multiprocessors = fields.integer("multiprocessors", 0, kMostCount, 0);
        static const json nothing = json::object();
        const json* peak = fields.find("peak_flops");
        JsonFields peaks(peak ? *peak : nothing, m_where, "device.peak_flops");
        visitPeaks(out.peak, [&](const char* key, std::optional<double>& rate) { rate = maybe(peaks, key); });
        const json* kernels = fields.find("kernels");
        JsonFields constants(kernels ? *kernels : nothing, m_where, "device.kernels");
        out.kernels.launchSeconds = number(constants, "launch_seconds", out.kernels.launchSeconds);
        out.kernels.gemmEfficiency = number(constants, "gemm_efficiency", out.kernels.gemmEfficiency);
        out.kernels.memoryEfficiency = number(constants, "memory_efficiency", out.kernels.memoryEfficiency);
        out.kernels.attentionEfficiency = number(constants, "attention_efficiency", out.kernels.attentionEfficiency);
        out.kernels.flash2Efficiency = maybe(constants, "flash2_efficiency");
        out.kernels.gemmPacking = maybePacking(constants, "gemm_packing");
        out.kernels.attentionPacking = maybePacking(constants, "attention_packing");
        out.cache = maybeCache(fields, "device");
        finish(peaks);
        finish(constants);
        finish(fields);
    }

    void readLink(const json& value, const std::string& place, LinkSpec& out)
    {
        JsonFields fields(value, m_where, place);
        out.id = fields.text("id", "custom");
        out.name = fields.text("name", out.id);
        out.source = fields.prose("source", "");
        out.bytesPerSecond = number(fields, "bytes_per_second");
        out.peakBytesPerSecond = number(fields, "peak_bytes_per_second", 0);
        out.alphaSeconds = number(fields, "alpha_seconds");
        out.alphaLl128 = maybe(fields, "alpha_ll128_seconds");
        out.alphaSimple = maybe(fields, "alpha_simple_seconds");
        out.startSeconds = number(fields, "start_seconds", 0);
        out.messageSeconds = maybe(fields, "message_seconds");
        out.ownBlock = number(fields, "own_block", 0);
        out.linksPerDevice = static_cast<int>(fields.integer("links_per_device", 1, kMostCount, 1));
        out.shared = fields.flag("shared", false);
        out.cache = maybeCache(fields, place);
        finish(fields);
    }

    void readLevel(const json& value, const std::string& place, Level& out)
    {
        JsonFields fields(value, m_where, place);
        out.fabric =
            word(fields, "fabric", std::nullopt, fabricFromName, "switch, fat-tree, torus, dcn or shared-memory", Fabric::Switch);
        out.shape = fields.integers("shape", 1, kMostCount);
        std::int64_t chips = out.fabric == Fabric::Torus ? 1 : 0;
        for (const std::int64_t extent : out.shape)
            chips = std::min(chips * extent, 2 * kMostCount);
        out.size = fields.integer("size", 0, kMostCount, chips);
        readWraps(fields, out);
        out.nicsPerDevice = number(fields, "nics_per_device", 1);
        if (const json* link = fields.find("link"))
            readLink(*link, place + ".link", out.link);
        else
            fields.fail("link", "the key is missing", "add an id such as \"nvlink4\", or an object");
        fields.nullIsAbsent();
        if (const json* inSwitch = fields.find("in_switch_reduction")) {
            JsonFields inner(*inSwitch, m_where, place + ".in_switch_reduction");
            const double start = number(inner, "start_seconds");
            out.inSwitch = InSwitchReduction { start, number(inner, "efficiency") };
            finish(inner);
        }
        finish(fields);
    }

    static void readWraps(JsonFields& fields, Level& out)
    {
        const json* wraps = fields.find("wraps");
        if (!wraps) {
            out.wraps.assign(out.shape.size(), true);
            return;
        }
        if (!wraps->is_array())
            return fields.fail("wraps", "is not a list", "say true or false for each dim of the shape");
        for (const json& entry : *wraps) {
            if (!entry.is_boolean())
                return fields.fail("wraps", "holds something else than true and false",
                                   "say one of them for each dim of the shape");
            out.wraps.push_back(entry.get<bool>());
        }
    }

    std::string m_where;
    std::optional<Error> m_error;
};

} // namespace

json hardwareJson(const Hardware& hardware)
{
    json levels = json::array();
    for (const Level& level : hardware.levels)
        levels.push_back(levelJson(level));
    return { { "format", "shardboard-hardware" },
             { "version", kVersion },
             { "id", hardware.id },
             { "name", hardware.name },
             { "source", hardware.source },
             { "library", libraryName(hardware.library) },
             { "device", deviceJson(hardware.device) },
             { "levels", levels } };
}

std::string hardwareText(const Hardware& hardware) { return jsonText(hardwareJson(hardware), 1) + "\n"; }

Result<Hardware> hardwareFromJson(const json& document, const std::string& where)
{
    if (!document.is_object() || document.value("format", json()) != "shardboard-hardware")
        return inputError(where, "is not hardware of Shardboard (no \"format\": \"shardboard-hardware\")",
                          "start from what `shardctl hardware dgx-h100 --json` prints");
    JsonFields heading(document, where, "");
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
    return HardwareReader(where).read(whole.value());
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
