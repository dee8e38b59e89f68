// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/arguments.h"

#include "model/text/figures.h"
#include "model/text/text.h"

#include <algorithm>
#include <charconv>

namespace shardboard {

namespace {

/// A whole number, however large.
bool isDigits(std::string_view text)
{
    if (text.starts_with('-'))
        text.remove_prefix(1);
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// No file has an empty name, so a message could not name it; a script's variable that was never set makes one.
Status checkNotEmpty(const std::string& value, const std::string& valueName, const std::string& where, const std::string& help)
{
    const bool path = valueName == "DESIGN" || valueName == "FILE" || valueName == "FOLDER";
    if (path && value.empty())
        return usageError(where, valueName + " is empty", help);
    return done();
}

} // namespace

Result<Arguments> Arguments::parse(const std::vector<std::string>& words, const std::vector<OptionSpec>& options,
                                   const std::vector<std::string>& positionalNames, const std::string& command)
{
    const std::string help = "see shardctl " + command + " --help";
    Arguments out;
    bool names = false; // what follows are no options
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--" && !names) {
            names = true;
            continue;
        }
        if (names || word.size() < 2 || word[0] != '-') {
            if (out.m_positional.size() == positionalNames.size())
                return usageError("shardctl " + command, "'" + word + "' is one argument too many", help);
            const std::string& valueName = positionalNames[out.m_positional.size()];
            if (auto status = checkNotEmpty(word, valueName, "shardctl " + command, help); !status.ok())
                return status.error();
            out.m_positional.push_back(word);
            continue;
        }
        const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
        const std::string name = word.substr(0, equals);
        const auto spec = std::ranges::find_if(options, [&](const OptionSpec& o) { return o.name == name; });
        if (spec == options.end())
            return usageError("shardctl " + command, "there is no option " + name, help);
        if (!spec->repeats && out.m_values.contains(name))
            return usageError(name, "the option is given twice", help);
        std::vector<std::string>& values = out.m_values[name];
        const std::size_t before = values.size();
        if (equals != std::string::npos)
            values.push_back(word.substr(equals + 1));
        if (spec->value.empty()) {
            if (equals != std::string::npos)
                return usageError(name, "the option takes no value", help);
            continue;
        }
        if (spec->mayBeAlone && (i + 1 == words.size() || words[i + 1].starts_with('-')))
            continue;
        while (i + 1 < words.size() && (values.size() == before || (spec->repeats && !words[i + 1].starts_with('-'))))
            values.push_back(words[++i]);
        if (values.size() == before)
            return usageError(name, "its value " + spec->value + " is missing", help);
        if (auto status = checkNotEmpty(values.back(), spec->value, name, help); !status.ok())
            return status.error();
    }
    if (out.m_positional.size() < positionalNames.size() && !positionalNames[out.m_positional.size()].starts_with('['))
        return usageError("shardctl " + command, positionalNames[out.m_positional.size()] + " is missing", help);
    return out;
}

std::string Arguments::text(const std::string& option, const std::string& fallback) const
{
    const auto it = m_values.find(option);
    return it == m_values.end() || it->second.empty() ? fallback : it->second.back();
}

std::vector<std::string> Arguments::texts(const std::string& option) const
{
    const auto it = m_values.find(option);
    return it == m_values.end() ? std::vector<std::string> {} : it->second;
}

Arguments Arguments::with(const std::string& option, const std::string& value) const
{
    Arguments out = *this;
    out.m_values[option] = { value };
    return out;
}

Result<std::int64_t> Arguments::integer(const std::string& option, std::int64_t fallback, std::int64_t least,
                                        std::int64_t most) const
{
    if (!has(option))
        return fallback;
    const auto value = parseInteger(text(option));
    if (!value && !isDigits(text(option)))
        return usageError(option, "'" + text(option) + "' is not a whole number", "give a number");
    if (!value || *value < least || *value > most)
        return inputError(option, text(option) + " cannot be used", "use " + std::to_string(least) + " to " + std::to_string(most));
    return *value;
}

Result<double> Arguments::number(const std::string& option, double fallback, double least, double most) const
{
    if (!has(option))
        return fallback;
    const std::string given = text(option);
    double value = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (error == std::errc::invalid_argument || end != given.data() + given.size())
        return usageError(option, "'" + given + "' is not a number", "give a number");
    if (error != std::errc {} || !(value >= least && value <= most))
        return inputError(option, given + " cannot be used", "use " + figures::digits(least) + " to " + figures::digits(most));
    return value;
}

} // namespace shardboard
