// SPDX-License-Identifier: Apache-2.0
#include "model/picker/pickeroptions.h"

#include <algorithm>
#include <array>

namespace shardboard {

namespace {

constexpr std::array<const char*, 3> kPickers { "greedy", "partials-only", "none" };
constexpr std::array<const char*, 3> kModes { "silent", "warn", "raise" };

template <class T, class Names>
std::optional<T> fromName(const Names& names, std::string_view name)
{
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        return std::nullopt;
    return static_cast<T>(found - names.begin());
}

} // namespace

std::optional<PickerProfile> profileFromName(std::string_view name) { return fromName<PickerProfile>(kProfileNames, name); }

std::string pickerName(PickerKind picker)
{
    return kPickers[static_cast<std::size_t>(picker == PickerKind::AutoReshard ? PickerKind::Greedy : picker)];
}
std::optional<PickerKind> pickerFromName(std::string_view name) { return fromName<PickerKind>(kPickers, name); }

std::string onReshardName(OnReshard mode) { return kModes[static_cast<std::size_t>(mode)]; }
std::optional<OnReshard> onReshardFromName(std::string_view name) { return fromName<OnReshard>(kModes, name); }

} // namespace shardboard
