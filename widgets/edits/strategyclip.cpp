// SPDX-License-Identifier: Apache-2.0
#include "widgets/edits/strategyclip.h"

#include "model/io/json/corewords.h"
#include "model/io/json/jsontext.h"
#include "model/io/json/jsonwriter.h"

#include <QMimeData>

namespace shardboard {

namespace {

constexpr int kLongest = 1 << 16; ///< bytes; no strategy is longer

/// Segments are texts.
template <class Each, MembersOf<Strategy> Copied, class Segments>
void clipMembers(Each each, Copied& strategy, Segments& segments)
{
    each.value("kind", strategy.kind);
    each.usual("axes", strategy.axes);
    each.usual("dim", strategy.dim);
    each.usual("spec", strategy.spec);
    each.usual("num_heads", strategy.numHeads);
    each.usual("head_dim", strategy.headDim);
    each.usual("segments", segments);
}

std::optional<Strategy> read(const std::string& text)
{
    const auto document = parseJson(text, "clipboard");
    if (!document.ok())
        return std::nullopt;
    auto from = JsonFields::message(document.value(), "clipboard");
    Strategy out;
    std::vector<std::string> segments;
    clipMembers(JsonMembersReader(from), out, segments);
    for (const std::string& segment : segments) {
        const auto parsed = parseSegment(segment, "clipboard");
        if (!parsed.ok())
            return std::nullopt;
        out.segments.push_back(parsed.value());
    }
    return from.error() ? std::nullopt : std::optional(out);
}

} // namespace

QByteArray strategyData(const Strategy& strategy)
{
    std::vector<std::string> segments;
    for (const StrategySegment& segment : strategy.segments)
        segments.push_back(segment.text());
    nlohmann::json out;
    clipMembers(JsonMembersWriter(out), strategy, segments);
    return QByteArray::fromStdString(jsonText(out));
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
        return read(data->data(QLatin1String(kStrategyMimeType)).left(kLongest).toStdString());
    const QString text = data->hasText() ? data->text().left(kLongest).trimmed() : QString();
    if (!text.startsWith(QLatin1String("P(")) || !text.endsWith(QLatin1Char(')')) || text.contains(QLatin1Char('\n')))
        return std::nullopt;
    Strategy out;
    out.kind = StrategyKind::Spec;
    out.spec = text.toStdString();
    return out;
}

} // namespace shardboard
