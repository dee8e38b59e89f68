// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/tour/tour.h"

#include "app/desktop/base/settings.h"
#include "app/desktop/files/sample.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/pictures/pictures.h"
#include "app/desktop/tour/chapters.h"
#include "app/desktop/window/docks.h"
#include "app/desktop/window/mainwindow.h"
#include "model/session/document.h"
#include "widgets/jobs/latestjob.h"

#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QTemporaryDir>
#include <QTextStream>
#include <QUndoStack>

#include <algorithm>
#include <functional>

namespace shardboard {

namespace {

/// Lets layouts, posted paints, queued calls and evaluations in the background happen.
void settle(const QWidget* window)
{
    constexpr int kLimitMs = 60000; // an export of many devices takes its time
    const auto jobs = window->findChildren<LatestJob*>();
    const auto busy = [&] { return std::any_of(jobs.begin(), jobs.end(), [](const auto* job) { return job->isBusy(); }); };
    QElapsedTimer timer;
    timer.start();
    for (int i = 0; i < 4 || (busy() && timer.elapsed() < kLimitMs); ++i) {
        QApplication::sendPostedEvents();
        QApplication::processEvents(QEventLoop::AllEvents, 50);
    }
}

Status grab(QWidget* widget, const QString& path)
{
    if (!widget->grab().save(path, "PNG"))
        return inputError(QDir::toNativeSeparators(path).toStdString(), "cannot be written",
                          "check the folder's permissions and the space on the disk");
    QTextStream(stdout) << path << Qt::endl;
    return done();
}

/// What a picture is of; null: there is no such view.
QWidget* shownBy(const TourPicture& picture, MainWindow& window)
{
    const QString view = QLatin1String(picture.view);
    if (view.isEmpty())
        return &window;
    if (view != QLatin1String("panel"))
        return window.findChild<QWidget*>(view);
    const QDockWidget* dock = window.docks()->find(QLatin1String(picture.panel));
    return dock == nullptr ? nullptr : dock->widget();
}

/// The pictures of a chapter; `path` is where the file of a name goes.
Status show(const TourChapter& chapter, MainWindow& window, const std::function<QString(const char*)>& path)
{
    Document* document = window.document();
    const int before = document->undoStack()->index();
    if (Design design = document->design();
        chapter.edit && (!chapter.edit(design) || !document->edit(design, QObject::tr("Tour"), Misfits::Replicate).ok()))
        return done();
    for (const TourPicture& picture : chapter.pictures) {
        window.docks()->raise(QLatin1String(picture.panel));
        if (picture.prepare && !picture.prepare(window))
            continue;
        QWidget* shown = shownBy(picture, window);
        if (shown == nullptr)
            return inputError("--tour", std::string("the view ") + picture.view + " was not found");
        settle(&window);
        if (const Status status = grab(shown, path(picture.name)); !status.ok())
            return status;
    }
    if (chapter.end)
        chapter.end(window);
    for (const char* panel : { "collectives", "inspector" })
        window.docks()->raise(QLatin1String(panel));
    document->undoStack()->setIndex(before);
    return done();
}

/// The file of the command line, or the sample.
Status openFor(const CommandLine& line, MainWindow& window)
{
    if (!line.file.isEmpty())
        return window.document()->open(line.file);
    const auto design = sampleDesign();
    return design.ok() ? window.document()->setDesign(design.value()) : Status(design.error());
}

Status tourInTheme(const CommandLine& line, ThemeControl& control, Settings& settings, ThemeChoice choice, const QString& suffix,
                   const QDir& folder)
{
    control.setChoice(choice);
    MainWindow window(settings, control);
    window.resize(line.size);
    window.show();
    const auto path = [&](const char* name) { return folder.filePath(QLatin1String(name) + suffix + QStringLiteral(".png")); };
    settle(&window);
    if (const Status status = grab(&window, path("welcome")); !status.ok())
        return status;
    if (const Status status = openFor(line, window); !status.ok())
        return status;
    for (const TourChapter& chapter : tourChapters())
        if (const Status status = show(chapter, window, path); !status.ok())
            return status;
    return done();
}

} // namespace

Status writeOnePicture(QApplication& application, const CommandLine& line)
{
    const QTemporaryDir temporary;
    Settings settings(temporary.filePath(QStringLiteral("settings.ini")));
    ThemeControl control(application, settings);
    control.setChoice(line.theme == QLatin1String("dark") ? ThemeChoice::Dark : ThemeChoice::Light);
    MainWindow window(settings, control);
    if (!window.viewNames().contains(line.view))
        return usageError("--view", "“" + line.view.toStdString() + "” is not a view",
                          "use " + window.viewNames().join(QStringLiteral(", ")).toStdString());
    window.resize(line.size);
    window.show();
    const Status status = openFor(line, window);
    if (!status.ok())
        return status;
    QWidget* view = window.showView(line.view);
    settle(&window);
    return writePicture(view, line.picture, { line.scale, line.whole });
}

Status writeTour(QApplication& application, const CommandLine& line)
{
    const QDir folder(line.tourFolder);
    if (!folder.mkpath(QStringLiteral(".")))
        return inputError(line.tourFolder.toStdString(), "cannot be made", "name a folder that can be written to");
    const QTemporaryDir temporary;
    Settings settings(temporary.filePath(QStringLiteral("settings.ini")));
    ThemeControl control(application, settings);
    const bool both = line.theme.isEmpty();
    Status status = done();
    if (both || line.theme == QLatin1String("light"))
        status = tourInTheme(line, control, settings, ThemeChoice::Light, both ? QStringLiteral("-light") : QString(), folder);
    if (status.ok() && (both || line.theme == QLatin1String("dark")))
        status = tourInTheme(line, control, settings, ThemeChoice::Dark, both ? QStringLiteral("-dark") : QString(), folder);
    return status;
}

} // namespace shardboard
