// SPDX-License-Identifier: Apache-2.0
// The kinds of fields that settings are: a whole number, a measure, one of several, on or off. A section is a table of them.
#pragma once

#include "widgets/look/format.h"
#include "widgets/settings/setting.h"

#include <initializer_list>

namespace shardboard {

/// What a field is called and says.
struct FieldText {
    QString id;
    QString label;
    QString toolTip;
    QString unit {};
};
FieldText fieldText(const char* id, const char* label, const char* toolTip, const char* unit = "");

/// A row of a table of choices.
struct Choice {
    const char* value;
    const char* text;
    const char* detail;
};
std::vector<Setting::Option> choices(std::initializer_list<Choice> rows);

inline constexpr std::int64_t kMostTokens = std::int64_t { 1 } << 31; ///< verifyWorkload

/// A whole number that `at` leads to. Arrow keys double and halve it.
Setting countField(const FieldText& text, std::int64_t least, std::int64_t most, std::function<std::int64_t&(Design&)> at);
/// A whole number whose arrow keys go by one, as far as `stepsTo`.
Setting smallCountField(const FieldText& text, std::int64_t least, std::int64_t most, std::int64_t stepsTo,
                        std::function<std::int64_t&(Design&)> at);
/// A number in a unit of its own, from 0; arrow keys go by `step`.
Setting measureField(const FieldText& text, double most, double step, std::function<double(const Design&)> get,
                     std::function<void(Design&, double)> put);
/// One of several.
Setting choiceField(const FieldText& text, std::vector<Setting::Option> options, std::function<QString(const Design&)> get,
                    std::function<void(Design&, const QString&)> put);
/// One of two.
Setting switchField(const FieldText& text, const Choice& off, const Choice& on, std::function<bool(const Design&)> get,
                    std::function<void(Design&, bool)> put);
/// One of an enumeration whose values have names: `at` leads to it.
template <class At, class Name, class FromName>
Setting namedField(const FieldText& text, std::vector<Setting::Option> options, At at, Name name, FromName fromName)
{
    return choiceField(
        text, std::move(options),
        [at, name](const Design& design) { return qstr(name(at(const_cast<Design&>(design)))); }, // `at` only leads to it
        [at, fromName](Design& design, const QString& value) {
            auto& it = at(design);
            it = fromName(value.toStdString()).value_or(it);
        });
}

/// The next number up or down that is a multiple of `step`, from 0 to `most`.
QString byOne(const QString& text, bool up, double step, double most);
/// What is quoted of a text that cannot be used: its beginning.
QString quotedText(const QString& text);

bool isTraining(const Design& design);
Setting onlyInTraining(Setting setting, const QString& why);

} // namespace shardboard
