// SPDX-License-Identifier: Apache-2.0
#include "widgets/edits/strategyclip.h"

#include "widgets/look/format.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMimeData>

namespace shardboard {

namespace {

constexpr int kLongest = 1 << 16; ///< bytes; no strategy is longer

QJsonArray texts(const std::vector<std::string>& list)
{
    QJsonArray out;
    for (const std::string& text : list)
        out.append(verbatim(text));
    return out;
}

std::optional<Strategy> read(const QJsonObject& object)
{
    const auto kind = strategyKindFromName(object.value(QLatin1String("kind")).toString().toStdString());
    if (!kind)
        return std::nullopt;
    Strategy out;
    out.kind = *kind;
    for (const QJsonValue& axis : object.value(QLatin1String("axes")).toArray())
        out.axes.push_back(axis.toString().toStdString());
    out.dim = object.value(QLatin1String("dim")).toInt();
    out.spec = object.value(QLatin1String("spec")).toString().toStdString();
    out.numHeads = object.value(QLatin1String("num_heads")).toInteger();
    out.headDim = object.value(QLatin1String("head_dim")).toInteger();
    for (const QJsonValue& segment : object.value(QLatin1String("segments")).toArray()) {
        const auto parsed = parseSegment(segment.toString().toStdString(), "clipboard");
        if (!parsed.ok())
            return std::nullopt;
        out.segments.push_back(parsed.value());
    }
    return out;
}

} // namespace

QByteArray strategyData(const Strategy& strategy)
{
    std::vector<std::string> segments;
    for (const StrategySegment& segment : strategy.segments)
        segments.push_back(segment.text());
    const QJsonObject object {
        { QStringLiteral("kind"), qstr(strategyKindName(strategy.kind)) },
        { QStringLiteral("axes"), texts(strategy.axes) },
        { QStringLiteral("dim"), strategy.dim },
        { QStringLiteral("spec"), verbatim(strategy.spec) },
        { QStringLiteral("num_heads"), static_cast<qint64>(strategy.numHeads) },
        { QStringLiteral("head_dim"), static_cast<qint64>(strategy.headDim) },
        { QStringLiteral("segments"), texts(segments) },
    };
    return QJsonDocument(object).toJson(QJsonDocument::Compact);
}

QMimeData* strategyMimeData(const Strategy& strategy, const QString& text)
{
    auto* data = new QMimeData;
    data->setData(QLatin1String(kStrategyMimeType), strategyData(strategy));
    data->setText(text);
    return data;
}

std::optional<Strategy> strategyFromMimeData(const QMimeData* data)
{
    if (data == nullptr)
        return std::nullopt;
    if (data->hasFormat(QLatin1String(kStrategyMimeType)))
        return read(QJsonDocument::fromJson(data->data(QLatin1String(kStrategyMimeType)).left(kLongest)).object());
    const QString text = data->hasText() ? data->text().left(kLongest).trimmed() : QString();
    if (!text.startsWith(QLatin1String("P(")) || !text.endsWith(QLatin1Char(')')) || text.contains(QLatin1Char('\n')))
        return std::nullopt;
    Strategy out;
    out.kind = StrategyKind::Spec;
    out.spec = text.toStdString();
    return out;
}

} // namespace shardboard
