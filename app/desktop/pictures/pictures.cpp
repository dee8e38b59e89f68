// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/pictures/pictures.h"

#include "app/desktop/pictures/clippedsvg.h"
#include "app/desktop/pictures/wholeview.h"
#include "model/io/file/textfile.h"
#include "widgets/look/plaintext.h"

#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QWidget>

#include <algorithm>
#include <optional>
#include <string>

namespace shardboard {

namespace {

constexpr int kMostSide = 32767; ///< of a picture of pixels
constexpr double kMostPixels = 120e6; // half a gigabyte
constexpr int kPdfDpi = 96; ///< a pixel of the screen is one of the page

void paint(QWidget* view, QPaintDevice* device)
{
    QPainter painter(device);
    view->render(&painter);
}

QByteArray png(QWidget* view, int scale)
{
    QImage image(view->size() * scale, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(scale);
    image.fill(Qt::transparent);
    paint(view, &image);
    QByteArray out;
    QBuffer buffer(&out);
    return image.save(&buffer, "PNG") ? out : QByteArray();
}

QByteArray pdf(QWidget* view)
{
    QByteArray out;
    QBuffer buffer(&out);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setResolution(kPdfDpi);
    writer.setPageMargins(QMarginsF());
    writer.setPageSize(QPageSize(QSizeF(view->size()) * 72.0 / kPdfDpi, QPageSize::Point));
    writer.setTitle(view->accessibleName());
    paint(view, &writer);
    return out;
}

} // namespace

bool isPictureSuffix(const QString& suffix)
{
    return suffix == QLatin1String("png") || suffix == QLatin1String("svg") || suffix == QLatin1String("pdf");
}

Status writePicture(QWidget* view, const QString& path, const PictureOptions& options)
{
    const std::string where = path.toStdString();
    const QString suffix = QFileInfo(path).suffix().toLower();
    if (!isPictureSuffix(suffix))
        return inputError(where, "is not named as a picture", "give it a name that ends in .png, .svg or .pdf");
    std::optional<WholeView> whole;
    if (options.whole)
        whole.emplace(view);
    const QSize size = view->size();
    const bool pixels = suffix == QLatin1String("png");
    if (pixels
        && (std::max(size.width(), size.height()) * options.scale > kMostSide
            || double(size.width()) * size.height() * options.scale * options.scale > kMostPixels))
        return inputError(where,
                          "would have " + std::to_string(size.width() * options.scale) + " × "
                              + std::to_string(size.height() * options.scale) + " pixels, which is too many",
                          "write it as .svg or .pdf, at a lower scale, or only what is visible");
    const QByteArray content = pixels ? png(view, options.scale) : suffix == QLatin1String("svg") ? svgOf(view) : pdf(view);
    whole.reset();
    if (content.isEmpty())
        return inputError(where, "could not be drawn", "write it at a lower scale, or as .svg");
    return writeFileAtomically(QFile::encodeName(path).toStdString(), content.toStdString());
}

QString pictureName(const QString& design, const QString& view) { return fileNamePart(design) + QLatin1Char('-') + view; }

} // namespace shardboard
