// SPDX-License-Identifier: Apache-2.0
#include "widgets/settings/setting.h"

#include "widgets/look/format.h"
#include "widgets/settings/numberfrom.h"

#include <QStringList>

#include <cmath>

namespace shardboard {

QString Setting::editText(const Design& edited) const { return QStringLiteral("%1 %2").arg(label, shownText(edited)); }

QString Setting::shownText(const Design& design) const
{
    const QString value = text(design);
    for (const Option& option : options)
        if (option.value == value)
            return option.text;
    if (!isNumber())
        return qstr(value.toStdString());
    const auto number = numberFrom(value);
    if (!number)
        return value; // a list of numbers
    const QString shown = std::floor(*number) == *number ? countText(std::llround(*number)) : value;
    return unit.isEmpty() ? shown : shown + QLatin1Char(' ') + unit;
}

bool Setting::differs(const Design& design) const
{
    Design usual = design;
    usual.workload = { design.workload.kind, design.workload.batch, design.workload.sequence };
    usual.memory = {};
    usual.pipeline = {};
    usual.pipeline.axis = design.pipeline.axis;
    return applies(design) && text(usual) != text(design);
}

QString SettingGroup::summary(const Design& design) const
{
    QStringList out;
    for (const Setting& setting : settings)
        if (setting.told ? setting.told(design) : setting.differs(design)) {
            const QString value = setting.shownText(design);
            out << (setting.label == title ? value : setting.label + QLatin1Char(' ') + value);
        }
    return out.join(QStringLiteral(" · "));
}

} // namespace shardboard
