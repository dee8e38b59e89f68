// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/pictures/plotfiles.h"

#include "app/desktop/base/banner.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/pictures/pictures.h"
#include "model/io/file/textfile.h"
#include "model/session/document.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/timeline/plotview.h"

#include <QFile>
#include <QFileDialog>
#include <QFileInfo>

namespace shardboard {

Status writePlot(PlotView* view, const QString& path)
{
    const QString suffix = QFileInfo(path).suffix().toLower();
    if (suffix == QLatin1String("csv"))
        return writeFileAtomically(QFile::encodeName(path).toStdString(), plotCsv(view->plot()));
    if (!isPictureSuffix(suffix))
        return inputError(path.toStdString(), "is neither a picture nor a table",
                          "give it a name that ends in .png, .svg, .pdf or .csv");
    return writePicture(view->picture().get(), path);
}

void savePlot(const Document* document, PlotView* view, Settings& settings, Banner* banner, QWidget* window)
{
    const QString file = document->filePath();
    const QString folder = file.isEmpty() ? settings.lastFolder() : QFileInfo(file).absolutePath();
    const QString stem = file.isEmpty() ? qstr(document->design().model.name) : QFileInfo(file).completeBaseName();
    QString filter;
    QString path =
        QFileDialog::getSaveFileName(window, PlotView::tr("Save Plot"),
                                     folder + QLatin1Char('/') + pictureName(stem, qstr(view->plot().id)) + QStringLiteral(".svg"),
                                     PlotView::tr("SVG picture (*.svg);;PNG picture (*.png);;PDF (*.pdf);;Table (*.csv)"), &filter);
    if (path.isEmpty())
        return;
    if (QFileInfo(path).suffix().isEmpty())
        path += filter.contains(QLatin1String("csv")) ? QStringLiteral(".csv")
            : filter.contains(QLatin1String("png"))   ? QStringLiteral(".png")
            : filter.contains(QLatin1String("pdf"))   ? QStringLiteral(".pdf")
                                                      : QStringLiteral(".svg");
    if (const Status status = writePlot(view, path); status.ok())
        banner->showInfo(PlotView::tr("Saved %1").arg(path));
    else
        banner->showError(errorText(status.error()));
}

} // namespace shardboard
