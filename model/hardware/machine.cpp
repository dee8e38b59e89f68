// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/machine.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

namespace shardboard {

namespace {

/// All of `words` stand in the name; of several that fit it is the one with the memory nearest to the machine's that counts, then
/// the first. What NVIDIA calls them: nvidia-smi -L and nvidia.com/object/gpu-names; AMD: rocm-smi --showproductname.
struct KnownName {
    std::array<std::string_view, 3> words;
    const char* device;
};
constexpr KnownName kNames[] {
    { { "gb200" }, "gb200" },
    { { "gb300" }, "gb300" },
    { { "gb10" }, "gb10" },
    { { "gh200" }, "gh200" },
    { { "b300" }, "b300-sxm" },
    { { "b200" }, "b200-sxm" },
    { { "h200" }, "h200-sxm" },
    { { "h100", "pcie" }, "h100-pcie" },
    { { "h100", "nvl" }, "h100-nvl" },
    { { "h100" }, "h100-sxm" },
    { { "h20" }, "h20" },
    { { "a100", "pcie" }, "a100-pcie-80" },
    { { "a100", "pcie" }, "a100-pcie-40" },
    { { "a100" }, "a100-sxm-80" },
    { { "a100" }, "a100-sxm-40" },
    { { "v100", "sxm" }, "v100-sxm-32" },
    { { "v100", "sxm" }, "v100-sxm-16" },
    { { "pro", "6000", "blackwell" }, "rtx-pro-6000" },
    { { "6000", "ada" }, "rtx-6000-ada" },
    { { "rtx", "5090" }, "rtx-5090" },
    { { "rtx", "4090" }, "rtx-4090" },
    { { "rtx", "3090" }, "rtx-3090" },
    { { "l40s" }, "l40s" },
    { { "l4" }, "l4" },
    { { "a10" }, "a10" },
    { { "mi355x" }, "mi355x" },
    { { "mi325x" }, "mi325x" },
    { { "mi300x" }, "mi300x" },
    { { "mi250x" }, "mi250x" },
};

/// A device of that name with other memory is another product, with other rates (a GH200 of 96 GB, an H20 of 141): what is kept
/// back by the driver and error correction is less than this share.
constexpr double kMostApart = 0.12;

/// In small letters; everything between letters and digits parts words.
std::vector<std::string> wordsOf(std::string_view name)
{
    std::vector<std::string> out(1);
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            out.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (!out.back().empty())
            out.emplace_back();
    return out;
}

bool stands(const std::vector<std::string>& words, std::string_view wanted)
{
    // SXM2, SXM4 and SXM6 are one word with what they begin with.
    return std::ranges::any_of(
        words, [&](const std::string& word) { return word == wanted || (wanted == "sxm" && word.starts_with(wanted)); });
}

} // namespace

const DeviceSpec* deviceNamed(std::string_view name, double memoryBytes)
{
    const std::vector<std::string> words = wordsOf(name);
    if (stands(words, "laptop")) // slower than the card of that name
        return nullptr;
    const KnownName* chosen = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const KnownName& known : kNames) {
        const auto fits = [&](std::string_view word) { return word.empty() || stands(words, word); };
        if (!std::ranges::all_of(known.words, fits))
            continue;
        if (chosen != nullptr && known.words != chosen->words)
            break; // what says less of the name comes later
        const double apart = std::abs(findDevice(known.device)->memoryBytes - memoryBytes);
        if (memoryBytes <= 0 ? chosen == nullptr : apart < least) {
            chosen = &known;
            least = apart;
        }
    }
    if (chosen == nullptr)
        return nullptr;
    const DeviceSpec* device = findDevice(chosen->device);
    return memoryBytes > 0 && least > kMostApart * device->memoryBytes ? nullptr : device;
}

std::optional<Hardware> hardwareOfMachine(const std::vector<MachineDevice>& devices)
{
    if (devices.empty())
        return std::nullopt;
    const DeviceSpec* device = deviceNamed(devices.front().name, devices.front().memoryBytes);
    for (const MachineDevice& other : devices)
        if (device == nullptr || deviceNamed(other.name, other.memoryBytes) != device)
            return std::nullopt;
    const auto& presets = hardwarePresets();
    const auto preset = std::ranges::find_if(presets, [&](const Hardware& it) {
        return it.device.id == device->id && it.levels.front().fabric != Fabric::SharedMemory;
    });
    Hardware out = preset != presets.end() ? *preset : twoLevelHardware(1, *findLink("pcie4-x16"), *findLink("roce-100"));
    out.device = *device;
    double least = devices.front().memoryBytes;
    for (const MachineDevice& it : devices)
        least = std::min(least, it.memoryBytes);
    if (least > 0)
        out.device.memoryBytes = least + out.device.reservedBytes;
    out.id = "this-machine";
    out.name = std::to_string(devices.size()) + " x " + devices.front().name;
    out.source = "devices and memory as the worker reads them; rates of " + device->id + ", links "
        + (preset != presets.end() ? "as in the preset " + preset->id : std::string("assumed")) + ", not read";
    if (out.levels.size() > 1)
        out.levels.front().size = static_cast<std::int64_t>(devices.size());
    return out;
}

} // namespace shardboard
