// SPDX-License-Identifier: Apache-2.0
#include "model/design/design.h"

namespace shardboard {

Result<Hardware> hardwareOf(const Design& design, const std::string& where)
{
    if (design.ownHardware && design.ownHardware->id == design.hardware)
        return *design.ownHardware;
    return findHardware(design.hardware, where);
}

void setHardware(Design& design, Hardware hardware)
{
    const auto preset = findHardware(hardware.id);
    const bool known = preset.ok() && preset.value() == hardware;
    design.hardware = hardware.id;
    design.ownHardware = known ? std::nullopt : std::optional(std::move(hardware));
}

} // namespace shardboard
