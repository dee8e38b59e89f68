// SPDX-License-Identifier: Apache-2.0
#include "model/hardware/hardware.h"
#include "widgets/settings/fields.h"
#include "widgets/settings/sections.h"

#include <QObject>

namespace shardboard {

SettingGroup hardwareSection(const Design& design)
{
    std::vector<Setting::Option> options;
    const auto add = [&](const Hardware& hardware) {
        options.push_back({ verbatim(hardware.id), qstr(hardware.name),
                            QObject::tr("%1 a device").arg(bytesText(static_cast<std::int64_t>(hardware.memoryBytes()))) });
    };
    if (design.ownHardware)
        add(*design.ownHardware);
    for (const Hardware& hardware : hardwarePresets())
        if (!design.ownHardware || design.ownHardware->id != hardware.id)
            add(hardware);
    SettingGroup out { QStringLiteral("hardware"), QObject::tr("Hardware"), true };
    Setting hardware = choiceField(
        fieldText("hardware", "Hardware", "Devices and links that the times and the limit are of"), std::move(options),
        [](const Design& d) { return verbatim(d.hardware); },
        [](Design& d, const QString& id) {
            if (d.hardware == id.toStdString())
                return;
            if (d.ownHardware && d.ownHardware->id == id.toStdString())
                d.hardware = d.ownHardware->id;
            else if (auto preset = findHardware(id.toStdString()); preset.ok())
                setHardware(d, std::move(preset).value());
        });
    hardware.told = [](const Design&) { return true; };
    out.settings.push_back(std::move(hardware));
    return out;
}

} // namespace shardboard
