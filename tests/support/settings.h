// SPDX-License-Identifier: Apache-2.0
// Configurations of servers in tests: YAML of one level, as our exports write it.
#pragma once

#include <nlohmann/json.hpp>

#include <QRegularExpression>
#include <QString>
#include <QStringList>

#include <string>

namespace shardboard {

/// What a file says of which every line is a comment, `key: 4`, `key: true` or `key: word`; null when one is not.
inline nlohmann::json settingsOf(const std::string& text)
{
    static const QRegularExpression setting(QStringLiteral("^([a-z_0-9-]+): ([0-9]+|[a-z]+)$"));
    nlohmann::json out = nlohmann::json::object();
    for (const QString& line : QString::fromStdString(text).split(QLatin1Char('\n'))) {
        if (line.isEmpty() || line.startsWith(QLatin1Char('#')))
            continue;
        const auto match = setting.match(line);
        if (!match.hasMatch() || out.contains(match.captured(1).toStdString()))
            return nullptr;
        const std::string value = match.captured(2).toStdString();
        out[match.captured(1).toStdString()] = nlohmann::json::accept(value) ? nlohmann::json::parse(value) : nlohmann::json(value);
    }
    return out;
}

} // namespace shardboard
