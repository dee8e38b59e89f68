// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/pictures/reportfile.h"

#include "app/desktop/pictures/reportimages.h"
#include "model/io/file/textfile.h"

#include <QAbstractTextDocumentLayout>
#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QTextDocument>

#include <cmath>

namespace shardboard {

namespace {

constexpr double kReportMargin = 40;
constexpr int kReportDpi = 96;

/// What Qt's style sheets know of the page's: the light colors as they are, and nothing for screens.
QString plainStyle(QString style)
{
    static const QRegularExpression kMedia(QStringLiteral("@media[^{]*\\{(?:[^{}]*\\{[^{}]*\\})*[^{}]*\\}"));
    static const QRegularExpression kVariable(QStringLiteral("--([a-z]+):([^;}]+)"));
    static const QRegularExpression kRoot(QStringLiteral(":root\\{([^}]*)\\}"));
    static const QRegularExpression kSeeThrough(QStringLiteral("fill:(#[0-9a-f]{6})([0-9a-f]{2})\\b"));
    style.remove(kMedia);
    const QString root = kRoot.match(style).captured(1);
    style.remove(kRoot);
    auto variables = kVariable.globalMatch(root);
    while (variables.hasNext()) {
        const QRegularExpressionMatch one = variables.next();
        style.replace(QStringLiteral("var(--%1)").arg(one.captured(1)), one.captured(2));
    }
    style.replace(kSeeThrough, QStringLiteral("fill:\\1;fill-opacity:0.5"));
    style.replace(QStringLiteral("svg ."), QStringLiteral("."));
    return style;
}

} // namespace

QByteArray reportPdf(const std::string& html)
{
    QString page = QString::fromStdString(html);
    static const QRegularExpression kStyle(QStringLiteral("<style>(.*?)</style>"), QRegularExpression::DotMatchesEverythingOption);
    const QString style = plainStyle(kStyle.match(page).captured(1));
    page.remove(kStyle);
    ReportImages pictures;
    page = pictures.taken(page, style);
    // What Qt's documents take from attributes alone.
    page.replace(QStringLiteral("<table>"), QStringLiteral("<table width=\"100%\" cellspacing=\"0\" cellpadding=\"2\">"));
    for (const char* cell : { "td", "th" })
        page.replace(QStringLiteral("<%1 class=\"n\">").arg(QLatin1String(cell)),
                     QStringLiteral("<%1 class=\"n\" align=\"right\">").arg(QLatin1String(cell)));
    page.replace(QStringLiteral("<th>"), QStringLiteral("<th align=\"left\">"));
    QTextDocument document;
    document.setUndoRedoEnabled(false);
    document.setDocumentMargin(0);
    document.documentLayout()->registerHandler(QTextFormat::ImageObject, &pictures);
    document.setDefaultStyleSheet(style);
    document.setHtml(page);
    QByteArray out;
    QBuffer buffer(&out);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setResolution(kReportDpi);
    writer.setPageSize(QPageSize(QPageSize::A4));
    writer.setPageMargins(QMarginsF());
    writer.setTitle(document.metaInformation(QTextDocument::DocumentTitle));
    const double wide = writer.width();
    const double high = writer.height();
    const double scale = wide / (kReportWidth + 2 * kReportMargin);
    const double room = high / scale - 2 * kReportMargin; // of the text on a page
    document.setPageSize({ kReportWidth, room });
    QPainter painter;
    if (!painter.begin(&writer))
        return {};
    const int pages = document.pageCount();
    for (int i = 0; i < pages; ++i) {
        if (i > 0)
            writer.newPage();
        painter.save();
        painter.scale(scale, scale);
        painter.translate(kReportMargin, kReportMargin - i * room);
        QAbstractTextDocumentLayout::PaintContext context;
        context.clip = QRectF(0, i * room, kReportWidth, room);
        context.palette.setColor(QPalette::Text, Qt::black);
        painter.setClipRect(context.clip);
        document.documentLayout()->draw(&painter, context);
        painter.restore();
        painter.setPen(QColor(0x66, 0x70, 0x85));
        painter.drawText(QRectF(0, high - kReportMargin * scale, wide - kReportMargin * scale, kReportMargin * scale),
                         Qt::AlignRight | Qt::AlignVCenter, QStringLiteral("%1 / %2").arg(i + 1).arg(pages));
    }
    painter.end();
    return out;
}

Status writeReport(const ReportInput& input, const QString& path)
{
    const QString suffix = QFileInfo(path).suffix().toLower();
    const std::string file = QFile::encodeName(path).toStdString();
    if (suffix == QLatin1String("html") || suffix == QLatin1String("htm"))
        return writeFileAtomically(file, reportHtml(input));
    if (suffix != QLatin1String("pdf"))
        return inputError(file, "is no name of a report", "give it a name that ends in .html or .pdf");
    const QByteArray pdf = reportPdf(reportHtml(input));
    if (pdf.isEmpty())
        return inputError(file, "could not be drawn", "write it as .html");
    return writeFileAtomically(file, pdf.toStdString());
}

} // namespace shardboard
