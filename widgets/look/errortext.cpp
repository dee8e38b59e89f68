// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/errortext.h"

#include "widgets/look/format.h"

#include <QRegularExpression>

namespace shardboard {

namespace {

/// `strategies[3] on model.norm.weight` is about the weight; `workload` and `--preset` are keys and options, and no place in a
/// window.
QString placeOf(const std::string& where)
{
    QString place = verbatim(where);
    static const QRegularExpression entry(QStringLiteral("^(?:strategies|rules|pins)(?:\\[\\d+\\])?(?:\\.[a-z_.]+)? on "));
    place.remove(entry);
    static const QRegularExpression key(
        QStringLiteral("^(?:--[a-z-]+|workload|pipeline|memory|mesh|mesh axis|hardware|model|module|rules|picker"
                       "|(?:strategies|rules|pins)\\[\\d+\\](?:\\.[a-z_.]+)?)$"));
    return key.match(place).hasMatch() ? QString() : place;
}

/// `use --micro-batches 4` is `use 4 micro-batches` where there is no command line.
QString withoutOptions(const std::string& text)
{
    QString out = verbatim(text);
    static const QRegularExpression counted(QStringLiteral("--micro-batches (\\d+)"));
    out.replace(counted, QStringLiteral("\\1 micro-batches"));
    static const QRegularExpression option(QStringLiteral("(?<![\\w-])--([a-z]+(?:-[a-z]+)*)"));
    out.replace(option, QStringLiteral("\\1"));
    return out.replace(QLatin1String("on_reshard is raise, and it "), QStringLiteral("data may not be moved, and it "));
}

} // namespace

QString errorText(const Error& error)
{
    Error told = error;
    told.where = placeOf(error.where).toStdString();
    told.what = withoutOptions(error.what).toStdString();
    told.fix = withoutOptions(error.fix).toStdString();
    return qstr(told.text());
}

} // namespace shardboard
