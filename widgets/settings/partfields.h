// SPDX-License-Identifier: Apache-2.0
// A set that is chosen as a whole by a name, or part by part: the field of the whole, and one for each part that is on or off.
#pragma once

#include "widgets/settings/fields.h"

#include <QObject>

#include <algorithm>

namespace shardboard {

/// The names that a whole has, and `as chosen` where the design's parts have none.
template <class At, class Name, class FromName>
Setting wholeField(const Design& design, const FieldText& text, std::initializer_list<Choice> rows, At at, Name name,
                   FromName fromName)
{
    std::vector<Setting::Option> options = choices(rows);
    const QString now = qstr(name(at(const_cast<Design&>(design))));
    if (std::ranges::none_of(options, [&](const Setting::Option& option) { return option.value == now; }))
        options.push_back({ now, QObject::tr("as chosen"), QObject::tr("What the fields below say") });
    Setting out = namedField(text, std::move(options), at, name, fromName);
    out.told = [field = out, named = rows.size()](const Design& d) { // its parts are told otherwise
        const auto end = field.options.begin() + static_cast<std::ptrdiff_t>(named);
        return field.differs(d) && std::any_of(field.options.begin(), end, [&](const Setting::Option& option) {
                   return option.value == field.text(d);
               });
    };
    return out;
}

/// A part of `whole`: on or off.
template <class At, class Part>
Setting partField(const FieldText& text, const Choice& off, const Choice& on, const Setting& whole, At at, Part part)
{
    Setting out = switchField(
        text, off, on, [at, part](const Design& d) { return at(const_cast<Design&>(d)).has(part); },
        [at, part](Design& d, bool has) { at(d) = at(d).with(part, has); });
    out.told = [get = out.text, on = QString(QLatin1String(on.value)), whole](const Design& d) {
        return whole.differs(d) && !whole.told(d) && get(d) == on;
    };
    return out;
}

} // namespace shardboard
