// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/format.h"

#include "widgets/look/plaintext.h"

#include <QObject>
#include <QStringList>

#include <array>
#include <cmath>

namespace shardboard {

QString qstr(const std::string& text) { return shownText(text); }

QString digitsText(double value)
{
    if (!std::isfinite(value))
        return value != value ? QStringLiteral("?") : QStringLiteral("∞");
    if (value == 0)
        return QStringLiteral("0");
    const double size = std::abs(value);
    int decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    // 9.996 rounds to 10.00: take the decimals of what is shown.
    const double shown = std::round(size * std::pow(10.0, decimals)) / std::pow(10.0, decimals);
    decimals = shown >= 100 ? 0 : shown >= 10 ? 1 : shown >= 1 ? 2 : 3;
    QString text = QString::number(value, 'f', decimals);
    if (text.contains(QLatin1Char('.'))) {
        while (text.endsWith(QLatin1Char('0')))
            text.chop(1);
        if (text.endsWith(QLatin1Char('.')))
            text.chop(1);
    }
    return text;
}

QString bytesText(std::int64_t bytes)
{
    static const std::array<const char*, 7> units { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    // 999.5 and more would be shown with four digits, so it goes to the next unit early: 0.98 GiB, not 1000 MiB.
    while (std::abs(value) >= 999.5 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return digitsText(value) + QLatin1Char(' ') + QLatin1String(units[unit]);
}

QString secondsText(double seconds)
{
    static const std::array<const char*, 4> units { "s", "ms", "µs", "ns" };
    if (seconds == 0)
        return QStringLiteral("0 s");
    std::size_t unit = 0;
    double value = seconds;
    while (std::abs(value) < 0.9995 && unit + 1 < units.size()) {
        value *= 1000;
        ++unit;
    }
    return digitsText(value) + QLatin1Char(' ') + QString::fromUtf8(units[unit]);
}

QString countText(std::int64_t count)
{
    QString text = QString::number(count);
    const qsizetype first = count < 0 ? 1 : 0;
    for (qsizetype at = text.size() - 3; at > first; at -= 3)
        text.insert(at, QChar(0x202F));
    return text;
}

QString counted(std::int64_t count, const QString& singular, const QString& plural)
{
    return countText(count) + QLatin1Char(' ') + (count == 1 ? singular : plural);
}

QString shapeLabel(const Shape& shape)
{
    if (shape.empty())
        return QStringLiteral("scalar");
    QStringList sizes;
    for (const auto size : shape)
        sizes << QString::number(size);
    return sizes.join(QStringLiteral(" × "));
}

QString shardText(const Shard& shard)
{
    QStringList pieces;
    for (const auto& piece : shard.pieces) {
        QStringList ranges;
        for (const auto& range : piece)
            ranges << QStringLiteral("%1:%2").arg(range.lo).arg(range.hi);
        pieces << QLatin1Char('[') + ranges.join(QStringLiteral(", ")) + QLatin1Char(']');
    }
    return pieces.isEmpty() ? QStringLiteral("[]") : pieces.join(QStringLiteral(" + "));
}

QString shortName(const std::string& tensor)
{
    QString name = qstr(tensor);
    const qsizetype layer = name.indexOf(QLatin1String("layers.*."));
    if (layer >= 0)
        name = name.mid(layer + 9);
    if (name.endsWith(QLatin1String(".weight")))
        name.chop(7);
    return name;
}

QString axesText(const Mesh& mesh, const std::vector<int>& axes)
{
    QStringList out;
    for (const int axis : axes)
        out << qstr(mesh.axis(axis).name);
    return out.join(QStringLiteral(", "));
}

QString stepDeltaText(double now, double then)
{
    if (now <= 0)
        return {};
    const double percent = (then - now) / now * 100;
    if (std::abs(percent) < 0.05)
        return QObject::tr("same step time");
    return QObject::tr("%1%2 % step time")
        .arg(percent < 0 ? QStringLiteral("−") : QStringLiteral("+"), digitsText(std::abs(percent)));
}

QString bytesDeltaText(std::int64_t now, std::int64_t then)
{
    if (now == then)
        return QObject::tr("same memory");
    return (then < now ? QStringLiteral("−") : QStringLiteral("+")) + bytesText(std::abs(then - now));
}

QString sizesText(const std::vector<SizeRun>& runs, std::size_t most)
{
    return qstr(runsText(runs, most))
        .replace(QLatin1String(" x "), QStringLiteral(" × "))
        .replace(QLatin1String("..."), QStringLiteral("…"));
}

QString exactBytesText(std::int64_t bytes) { return countText(bytes) + QStringLiteral(" bytes"); }

} // namespace shardboard
