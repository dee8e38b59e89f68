// SPDX-License-Identifier: Apache-2.0
// What a profile does with values that move, where nobody says it.
#pragma once

#include "model/picker/pickeroptions.h"

namespace shardboard {

/// MAX 26.7 refuses what moves, all others move it.
inline OnReshard usualMode(PickerProfile profile)
{
    return profile == PickerProfile::Max267 ? OnReshard::Raise : OnReshard::Silent;
}

/// Takes a profile that somebody chooses, with its usual mode unless another mode than the usual one was chosen before.
inline void chooseProfile(PickerOptions& options, PickerProfile profile)
{
    if (options.onReshard == usualMode(options.profile))
        options.onReshard = usualMode(profile);
    options.profile = profile;
}

} // namespace shardboard
