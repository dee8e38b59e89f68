// SPDX-License-Identifier: Apache-2.0
// The inline pictures of a report in a text document, drawn as what they are: lines and text.
#pragma once

#include <QObject>
#include <QSvgRenderer>
#include <QTextObjectInterface>

#include <memory>
#include <vector>

namespace shardboard {

inline constexpr double kReportWidth = 1120; ///< in which the page is laid out, as its style sheet has it

class ReportImages : public QObject, public QTextObjectInterface {
    Q_OBJECT
    Q_INTERFACES(QTextObjectInterface)
public:
    /// The page with an image for each of its `<svg>` elements, which get this style sheet.
    QString taken(const QString& html, const QString& style);

    QSizeF intrinsicSize(QTextDocument* document, int position, const QTextFormat& format) override;
    void drawObject(QPainter* painter, const QRectF& rect, QTextDocument* document, int position,
                    const QTextFormat& format) override;

private:
    QSvgRenderer* of(const QTextFormat& format) const;

    std::vector<std::unique_ptr<QSvgRenderer>> m_pictures;
};

} // namespace shardboard
