// SPDX-License-Identifier: Apache-2.0
#include "widgets/look/errortext.h"

#include "widgets/look/format.h"

#include <QRegularExpression>

#include <array>
#include <utility>

namespace shardboard {

namespace {

/// `mesh.sizes[0]` in a file is its mesh, sizes, the first.
QString wordsOf(QString keys)
{
    static const QRegularExpression index(QStringLiteral("\\[(\\d+)\\]"));
    for (auto found = index.match(keys); found.hasMatch(); found = index.match(keys))
        keys.replace(found.capturedStart(), found.capturedLength(), QStringLiteral(" %1").arg(found.captured(1).toLongLong() + 1));
    return keys.replace(QLatin1Char('.'), QStringLiteral(" › ")).replace(QLatin1Char('_'), QLatin1Char(' '));
}

/// `strategies[3] on model.norm.weight` is about the weight; `workload` and `--preset` are keys and options, and no place in a
/// window. A place in a file keeps the file's name.
QString placeOf(const std::string& where)
{
    QString place = verbatim(where);
    static const QRegularExpression entry(QStringLiteral("^(?:strategies|rules|pins)(?:\\[\\d+\\])?(?:\\.[a-z_.]+)? on "));
    place.remove(entry);
    static const QRegularExpression key(
        QStringLiteral("^(?:--[a-z-]+|workload|pipeline|memory|mesh|mesh axis|hardware|model|module|rules|picker|policy\\.[a-z_]+"
                       "|(?:strategies|rules|pins)\\[\\d+\\](?:\\.[a-z_.]+)?)$"));
    if (key.match(place).hasMatch())
        return {};
    static const QRegularExpression inFile(
        QStringLiteral("^(.*\\.\\w+):([a-z][a-z0-9_]*(?:\\[\\d+\\])*(?:\\.[a-z][a-z0-9_]*(?:\\[\\d+\\])*)*)$"));
    if (const auto found = inFile.match(place); found.hasMatch())
        return found.captured(1) + QStringLiteral(", ") + wordsOf(found.captured(2));
    return place;
}

/// `use --micro-batches 4` is `use 4 micro-batches` where there is no command line, and a policy of MAX is what it does.
QString withoutOptions(const std::string& text)
{
    QString out = verbatim(text);
    static const QRegularExpression counted(QStringLiteral("--micro-batches (\\d+)"));
    out.replace(counted, QStringLiteral("\\1 micro-batches"));
    static const QRegularExpression option(QStringLiteral("(?<![\\w-])--([a-z]+(?:-[a-z]+)*)"));
    out.replace(option, QStringLiteral("\\1"));
    static const std::array<std::pair<const char*, const char*>, 4> keywords { {
        { " (no \"format\": \"shardboard\")", "" },
        { "on_reshard is raise, and it ", "data may not be moved, and it " },
        { ", and on_reshard is raise", ", and data may not be moved" },
        { "on_reshard", "what happens when data moves" },
    } };
    for (const auto& [keyword, words] : keywords)
        out.replace(QLatin1String(keyword), QLatin1String(words));
    return out;
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

QString problemText(const Error& error) { return errorText({ error.code, {}, error.what, error.fix }); }

QString toldText(const std::string& sentence) { return qstr(withoutOptions(sentence).toStdString()); }

} // namespace shardboard
