// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/pictures/reportimages.h"

#include <QRegularExpression>
#include <QTextFormat>

#include <algorithm>
#include <utility>

namespace shardboard {

QString ReportImages::taken(const QString& html, const QString& style)
{
    static const QRegularExpression kPicture(QStringLiteral("<svg ([^>]*)>(.*?)</svg>"),
                                             QRegularExpression::DotMatchesEverythingOption);
    QString out;
    qsizetype at = 0;
    auto all = kPicture.globalMatch(html);
    while (all.hasNext()) {
        const QRegularExpressionMatch one = all.next();
        const QString svg = QStringLiteral("<svg xmlns=\"http://www.w3.org/2000/svg\" ") + one.captured(1)
            + QStringLiteral("><style type=\"text/css\">") + style + QStringLiteral("</style>") + one.captured(2)
            + QStringLiteral("</svg>");
        out += html.mid(at, one.capturedStart() - at);
        at = one.capturedEnd();
        auto picture = std::make_unique<QSvgRenderer>(svg.toUtf8());
        if (!picture->isValid())
            continue;
        out += QStringLiteral("<img src=\"picture:%1\">").arg(m_pictures.size());
        m_pictures.push_back(std::move(picture));
    }
    return out + html.mid(at);
}

QSizeF ReportImages::intrinsicSize(QTextDocument*, int, const QTextFormat& format)
{
    const QSvgRenderer* picture = of(format);
    if (picture == nullptr)
        return {};
    const QSizeF size = picture->defaultSize();
    return size * std::min(1.0, (kReportWidth - 8) / std::max(1.0, size.width()));
}

void ReportImages::drawObject(QPainter* painter, const QRectF& rect, QTextDocument*, int, const QTextFormat& format)
{
    if (QSvgRenderer* picture = of(format))
        picture->render(painter, rect);
}

QSvgRenderer* ReportImages::of(const QTextFormat& format) const
{
    bool number = false;
    const auto index = format.toImageFormat().name().section(QLatin1Char(':'), 1).toULongLong(&number);
    return number && index < m_pictures.size() ? m_pictures[index].get() : nullptr;
}

} // namespace shardboard
