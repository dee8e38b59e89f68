// SPDX-License-Identifier: Apache-2.0
#include "widgets/settings/settings.h"

#include "widgets/settings/sections.h"

namespace shardboard {

std::vector<SettingGroup> settingGroups(const Design& design)
{
    return { workloadSection(),      hardwareSection(design), parallelSection(design), precisionSection(), recomputeSection(design),
             overlapSection(design), optimizerSection(),      kernelSection(),         memorySection() };
}

Setting settingNamed(const Design& design, const QString& id)
{
    for (SettingGroup& group : settingGroups(design))
        for (Setting& setting : group.settings)
            if (setting.id == id)
                return std::move(setting);
    return {};
}

} // namespace shardboard
