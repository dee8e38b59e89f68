// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/devicespec.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

constexpr std::array<const char*, 4> kKinds { "gpu", "tpu", "cpu", "accelerator" };

enum class MathUnit { Fp4, Fp8, Int8, Half, Bfloat, Single };

MathUnit unitOf(DType type)
{
    switch (type) {
    case DType::F4:
        return MathUnit::Fp4;
    case DType::F6E2M3:
    case DType::F6E3M2:
    case DType::F8E5M2:
    case DType::F8E4M3:
    case DType::F8E8M0:
    case DType::F8E4M3Fnuz:
    case DType::F8E5M2Fnuz:
        return MathUnit::Fp8;
    case DType::Bool:
    case DType::U8:
    case DType::I8:
        return MathUnit::Int8;
    case DType::F16:
        return MathUnit::Half;
    case DType::BF16:
    case DType::I16:
    case DType::U16:
        return MathUnit::Bfloat;
    case DType::I32:
    case DType::U32:
    case DType::F32:
    case DType::C64:
    case DType::F64:
    case DType::I64:
    case DType::U64:
        break;
    }
    return MathUnit::Single;
}

} // namespace

std::string deviceKindName(DeviceKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<DeviceKind> deviceKindFromName(std::string_view name)
{
    const auto found = std::ranges::find(kKinds, name);
    return found == kKinds.end() ? std::nullopt : std::optional(static_cast<DeviceKind>(found - kKinds.begin()));
}

double DeviceSpec::peakFlops(DType type) const
{
    constexpr double kPasses = 6; // of bf16 for a float32 product
    const double single = peak.fp32.value_or(peak.bf16.value_or(0) / kPasses);
    const double bfloat = peak.bf16.value_or(peak.fp16.value_or(single));
    switch (unitOf(type)) {
    case MathUnit::Fp4:
        return peak.fp4.value_or(peak.fp8.value_or(bfloat));
    case MathUnit::Fp8:
        return peak.fp8.value_or(bfloat);
    case MathUnit::Int8:
        return peak.int8.value_or(bfloat);
    case MathUnit::Half:
        return peak.fp16.value_or(bfloat);
    case MathUnit::Bfloat:
        return bfloat;
    case MathUnit::Single:
        break;
    }
    return single;
}

const DeviceSpec* findDevice(std::string_view id)
{
    const auto& all = devicePresets();
    const auto found = std::ranges::find_if(all, [&](const DeviceSpec& device) { return device.id == id; });
    return found == all.end() ? nullptr : &*found;
}

const DeviceSpec* findDeviceFamily(std::string_view id)
{
    if (const DeviceSpec* exact = findDevice(id))
        return exact;
    // Of a TPU the first word says nothing.
    const auto familyOf = [](std::string_view of) { return of.substr(0, of.find('-', of.starts_with("tpu-") ? 4 : 0)); };
    const auto& all = devicePresets();
    const auto found = std::ranges::find_if(all, [&](const DeviceSpec& device) { return familyOf(device.id) == familyOf(id); });
    return found == all.end() ? nullptr : &*found;
}

} // namespace shardboard
