// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/pictures.h"

#include "widgets/format.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QFileInfo>
#include <QImage>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <QWidget>

namespace shardboard {

namespace {

constexpr double kPngScale = 2;
constexpr int kPdfDpi = 96; ///< a pixel of the screen is one of the page

QString tr(const char* text) { return QCoreApplication::translate("Pictures", text); }

void paint(QWidget* view, QPaintDevice* device)
{
    QPainter painter(device);
    view->render(&painter);
}

QByteArray png(QWidget* view)
{
    QImage image(view->size() * kPngScale, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(kPngScale);
    image.fill(Qt::transparent);
    paint(view, &image);
    QByteArray out;
    QBuffer buffer(&out);
    return image.save(&buffer, "PNG") ? out : QByteArray();
}

QByteArray svg(QWidget* view)
{
    QByteArray out;
    QBuffer buffer(&out);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setSize(view->size());
    generator.setViewBox(view->rect());
    generator.setTitle(view->accessibleName());
    paint(view, &generator);
    return out;
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

Status writePicture(QWidget* view, const QString& path)
{
    const std::string where = path.toStdString();
    const QString suffix = QFileInfo(path).suffix().toLower();
    const bool known = suffix == QLatin1String("png") || suffix == QLatin1String("svg") || suffix == QLatin1String("pdf");
    if (!known)
        return inputError(where, "is not named as a picture", "let its name end in .png, .svg or .pdf");
    const QByteArray content = suffix == QLatin1String("png") ? png(view) : suffix == QLatin1String("svg") ? svg(view) : pdf(view);
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size() || !file.commit())
        return inputError(where, "cannot be written: " + file.errorString().toStdString(), "choose another folder");
    return done();
}

QString pictureFilter() { return tr("SVG (*.svg);;PNG (*.png);;PDF (*.pdf)"); }

QString withPictureSuffix(const QString& name, const QString& filter)
{
    if (!QFileInfo(name).suffix().isEmpty())
        return name;
    return name + QLatin1Char('.') + filter.section(QStringLiteral("*."), 1).section(QLatin1Char(')'), 0, 0);
}

} // namespace shardboard
