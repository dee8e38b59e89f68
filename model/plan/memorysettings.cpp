// SPDX-License-Identifier: Apache-2.0
#include "model/plan/memorysettings.h"

namespace shardboard {

void MemorySettings::choose(Framework next)
{
    if (!reserveChosen && reserveShare == factsOf(framework).allocator.usual)
        reserveShare = factsOf(next).allocator.usual;
    framework = next;
}

void MemorySettings::chooseReserve(double share)
{
    reserveShare = share;
    reserveChosen = true;
}

Status verifyMemorySettings(const MemorySettings& settings, const std::string& where)
{
    constexpr std::int64_t kMostLayers = 64;
    constexpr std::int64_t kMostBytes = std::int64_t { 1 } << 40;
    if (settings.prefetchedLayers < 0 || settings.prefetchedLayers > kMostLayers)
        return inputError(where, std::to_string(settings.prefetchedLayers) + " layers cannot be gathered ahead", "use 0 to 64");
    if (!(settings.reserveShare >= 0 && settings.reserveShare <= 1))
        return inputError(where, "the allocator's reserve is not a share", "use 0 to 1");
    for (const std::int64_t bytes : { settings.contextBytes, settings.communicatorBytes })
        if (bytes < 0 || bytes > kMostBytes)
            return inputError(where, std::to_string(bytes) + " bytes of the runtime cannot be used", "use 0 to 2^40");
    return done();
}

} // namespace shardboard
