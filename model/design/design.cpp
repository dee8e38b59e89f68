// SPDX-License-Identifier: Apache-2.0
#include "model/design/design.h"

namespace shardboard {

std::string profileName(PickerProfile profile) { return profile == PickerProfile::G1 ? "G1" : "shardboard"; }

std::optional<PickerProfile> profileFromName(std::string_view name)
{
    if (name == "shardboard")
        return PickerProfile::Shardboard;
    if (name == "G1")
        return PickerProfile::G1;
    return std::nullopt;
}

} // namespace shardboard
