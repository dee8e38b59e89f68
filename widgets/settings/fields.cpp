// SPDX-License-Identifier: Apache-2.0
#include "widgets/settings/fields.h"

#include "widgets/settings/numberfrom.h"

#include <QObject>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

Setting titled(const FieldText& text)
{
    Setting out;
    out.id = text.id;
    out.label = text.label;
    out.unit = text.unit;
    out.toolTip = text.toolTip;
    return out;
}

QString whatWasTyped(const QString& text) { return text.trimmed().isEmpty() ? QObject::tr("nothing") : quotedText(text); }

QString rangeText(const FieldText& text, double least, double most)
{
    const auto number = [](double value) { return countText(std::llround(value)); };
    const QString of = text.unit.isEmpty() ? QString() : QLatin1Char(' ') + text.unit;
    return QObject::tr("%1 goes from %2 to %3%4.").arg(text.label, number(least), number(most), of);
}

/// Doubled or halved, as sizes of batches and sequences go; down from an odd number to the power of two below it.
QString doubled(const QString& text, bool up, std::int64_t most)
{
    const auto whole = static_cast<std::int64_t>(std::clamp(numberFrom(text).value_or(0), 0.0, static_cast<double>(most)));
    if (up)
        return QString::number(std::clamp<std::int64_t>(2 * whole, 1, most));
    std::int64_t power = 1;
    while (power * 2 < whole)
        power *= 2;
    return QString::number(std::max<std::int64_t>(1, whole % 2 == 0 ? whole / 2 : power));
}

} // namespace

FieldText fieldText(const char* id, const char* label, const char* toolTip, const char* unit)
{
    return { QLatin1String(id), QObject::tr(label), QObject::tr(toolTip), *unit ? QObject::tr(unit) : QString() };
}

std::vector<Setting::Option> choices(std::initializer_list<Choice> rows)
{
    std::vector<Setting::Option> out;
    for (const Choice& row : rows)
        out.push_back({ QLatin1String(row.value), QObject::tr(row.text), QObject::tr(row.detail) });
    return out;
}

QString quotedText(const QString& text)
{
    constexpr qsizetype kMost = 24;
    const QString shown = qstr(text.simplified().toStdString());
    return QStringLiteral("“%1”").arg(shown.size() > kMost ? shown.left(kMost) + QStringLiteral("…") : shown);
}

QString byOne(const QString& text, bool up, double step, double most)
{
    const double number = numberFrom(text).value_or(0);
    const double next = up ? std::floor(number / step + 1) * step : std::ceil(number / step - 1) * step;
    return QString::number(std::clamp(next, 0.0, most), 'g', 15);
}

Setting countField(const FieldText& text, std::int64_t least, std::int64_t most, std::function<std::int64_t&(Design&)> at)
{
    Setting out = titled(text);
    out.text = [at](const Design& design) { return QString::number(at(const_cast<Design&>(design))); }; // `at` only leads to it
    out.set = [at, text, least, most](Design& design, const QString& typed) {
        const auto number = numberFrom(typed);
        if (!number || std::floor(*number) != *number)
            return QObject::tr("%1 needs a whole number, such as %2, not %3.")
                .arg(text.label, QString::number(at(design)), whatWasTyped(typed));
        if (*number < static_cast<double>(least) || *number > static_cast<double>(most))
            return rangeText(text, static_cast<double>(least), static_cast<double>(most));
        at(design) = static_cast<std::int64_t>(*number);
        return QString();
    };
    out.step = [most](const Design&, const QString& typed, bool up) { return doubled(typed, up, most); };
    return out;
}

Setting smallCountField(const FieldText& text, std::int64_t least, std::int64_t most, std::int64_t stepsTo,
                        std::function<std::int64_t&(Design&)> at)
{
    Setting out = countField(text, least, most, std::move(at));
    out.step = [stepsTo](const Design&, const QString& typed, bool up) {
        return byOne(typed, up, 1, static_cast<double>(stepsTo));
    };
    return out;
}

Setting measureField(const FieldText& text, double most, double step, std::function<double(const Design&)> get,
                     std::function<void(Design&, double)> put)
{
    Setting out = titled(text);
    out.text = [get](const Design& design) { return QString::number(get(design), 'g', 15); };
    out.set = [=](Design& design, const QString& typed) {
        const auto number = numberFrom(typed);
        const QString such = QString::number(get(design), 'g', 6);
        if (!number)
            return text.unit.isEmpty()
                ? QObject::tr("%1 needs a number, such as %2, not %3.").arg(text.label, such, whatWasTyped(typed))
                : QObject::tr("%1 needs a number in %2, such as %3, not %4.").arg(text.label, text.unit, such, whatWasTyped(typed));
        if (*number < 0 || *number > most)
            return rangeText(text, 0, most);
        put(design, *number);
        return QString();
    };
    out.step = [most, step](const Design&, const QString& typed, bool up) { return byOne(typed, up, step, most); };
    return out;
}

Setting choiceField(const FieldText& text, std::vector<Setting::Option> options, std::function<QString(const Design&)> get,
                    std::function<void(Design&, const QString&)> put)
{
    Setting out = titled(text);
    out.options = std::move(options);
    out.text = std::move(get);
    out.set = [put = std::move(put), label = text.label, options = out.options](Design& design, const QString& value) {
        if (std::ranges::none_of(options, [&](const Setting::Option& option) { return option.value == value; }))
            return QObject::tr("%1 has no choice %2.").arg(label, quotedText(value));
        put(design, value);
        return QString();
    };
    return out;
}

Setting switchField(const FieldText& text, const Choice& off, const Choice& on, std::function<bool(const Design&)> get,
                    std::function<void(Design&, bool)> put)
{
    return choiceField(
        text, choices({ off, on }),
        [get = std::move(get), off, on](const Design& design) { return QLatin1String(get(design) ? on.value : off.value); },
        [put = std::move(put), on](Design& design, const QString& value) { put(design, value == QLatin1String(on.value)); });
}

bool isTraining(const Design& design) { return design.workload.kind == WorkloadKind::Train; }

Setting onlyInTraining(Setting setting, const QString& why)
{
    setting.whyNot = [why](const Design& design) { return isTraining(design) ? QString() : why; };
    return setting;
}

} // namespace shardboard
