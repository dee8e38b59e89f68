// SPDX-License-Identifier: Apache-2.0
#include "widgets/settings/numberfrom.h"

#include <QRegularExpression>

#include <cmath>

namespace shardboard {

std::optional<double> numberFrom(const QString& text)
{
    constexpr qsizetype kMostDigits = 40;
    QString plain = text.trimmed();
    if (plain.size() > kMostDigits)
        return std::nullopt;
    static const QRegularExpression separators(QStringLiteral("(?<=\\d)[ ,'_\\x{00A0}\\x{202F}\\x{2009}](?=\\d{3}(\\D|$))"));
    plain.remove(separators);
    static const QRegularExpression form(QStringLiteral("^[+-]?(\\d+\\.?\\d*|\\.\\d+)$"));
    if (!form.match(plain).hasMatch())
        return std::nullopt;
    bool ok = false;
    const double number = plain.toDouble(&ok);
    return ok && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

} // namespace shardboard
