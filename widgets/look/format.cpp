// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/format.h"

#include "model/text/figures.h"
#include "widgets/look/plaintext.h"

#include <QObject>
#include <QStringList>

#include <cmath>

namespace shardboard {

QString qstr(const std::string& text) { return shownText(text); }

QString digitsText(double value) { return verbatim(figures::digits(value)); }

QString exactText(double value) { return verbatim(figures::exact(value)); }

QString bytesText(std::int64_t bytes) { return verbatim(figures::bytes(bytes)); }
QString percentText(double share) { return verbatim(figures::percent(share)); }

QString secondsText(double seconds) { return verbatim(figures::seconds(seconds)); }

QString rateText(double bytesPerSecond) { return verbatim(figures::bytesPerSecond(bytesPerSecond)); }

QString countText(std::int64_t count) { return verbatim(figures::count(count)); }

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
