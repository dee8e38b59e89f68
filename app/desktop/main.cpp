// SPDX-License-Identifier: Apache-2.0
// The desktop program. Exit codes: 0 done, 2 wrong command line, 3 a tour, picture or export whose input cannot be read or written.
#include "app/desktop/base/settings.h"
#include "app/desktop/export/exportaction.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/menus/themecontrol.h"
#include "app/desktop/tour/tour.h"
#include "app/desktop/window/commandline.h"
#include "app/desktop/window/fonts.h"
#include "app/desktop/window/mainwindow.h"

#include "model/io/targets/targets.h"
#include "model/session/document.h"
#include "model/text/visibletext.h"
#include "widgets/controls/windowplace.h"

#include <QApplication>

#include <cstdio>

using namespace shardboard;

namespace {

int fail(const Error& error)
{
    std::fprintf(stderr, "shardboard: %s\n", error.text().c_str());
    return error.code == ErrorCode::Usage ? 2 : error.code == ErrorCode::Engine ? 4 : 3;
}

/// What Qt says of a file has its name as it is. The platform without a display says of every resized window what means
/// nothing to anybody.
void printShown(QtMsgType type, const QMessageLogContext& context, const QString& message)
{
    if (!message.contains(QLatin1String("propagateSizeHints")))
        std::fprintf(stderr, "%s\n", visibleLines(qFormatLogMessage(type, context, message).toStdString()).c_str());
}

bool hasDisplay()
{
    return qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY")
        || qEnvironmentVariableIsSet("QT_QPA_PLATFORM");
}

int showWindow(const CommandLine& line, QApplication& application)
{
    Settings settings;
    ThemeControl theme(application, settings);
    if (!line.theme.isEmpty())
        theme.setChoice(line.theme == QLatin1String("dark") ? ThemeChoice::Dark : ThemeChoice::Light, false);
    MainWindow window(settings, theme);
    if (line.sizeGiven)
        window.resize(line.size);
    fitToScreen(&window);
    window.show();
    if (!line.file.isEmpty())
        window.fileActions()->openPath(line.file);
    window.offerRecovery();
    return QApplication::exec();
}

/// As Deliver does, without a window.
Status writeExportOf(const CommandLine& line)
{
    if (line.file.isEmpty())
        return usageError("--export", "there is no design to export", "name one: shardboard FILE --export DIR");
    const auto target = exportTargetNamed(line.exportTarget.toStdString());
    if (!target.ok())
        return target.error();
    Document document;
    if (const Status status = document.open(line.file); !status.ok())
        return status;
    const auto written = exportTo(*target.value(), document, line.exportFolder);
    if (!written.ok())
        return written.error();
    const auto back = readBack(document, line.exportFolder);
    if (!back.ok())
        return back.error();
    for (const std::string& left : target.value()->leftOut(document.design(), *document.evaluation()))
        std::fprintf(stderr, "note: not in the export: %s\n", left.c_str());
    std::printf("%s, %s\n", visibleText(written.value().toStdString()).c_str(), visibleText(back.value().toStdString()).c_str());
    return done();
}

} // namespace

int main(int argc, char** argv)
{
    QStringList arguments;
    for (int i = 1; i < argc; ++i) {
        if (!isUtf8(argv[i])) // Qt would read and write another file
            return fail(
                inputError(argv[i], "is not UTF-8, and the desktop program takes no other names", "rename it, or use shardctl"));
        arguments << QString::fromUtf8(argv[i]);
    }
    const auto parsed = parseCommandLine(arguments);
    if (!parsed.ok())
        return fail(parsed.error());
    const CommandLine& line = parsed.value();
    if (line.help || line.version) {
        std::fputs(line.help ? helpText().toLocal8Bit().constData() : "shardboard " SHARDBOARD_VERSION "\n", stdout);
        return 0;
    }
    const bool tour = !line.tourFolder.isEmpty() || !line.picture.isEmpty() || !line.exportFolder.isEmpty();
    if (!hasDisplay()) {
        if (!tour)
            return fail(inputError("display", "there is none (neither DISPLAY nor WAYLAND_DISPLAY is set)",
                                   "use --tour DIR or --picture FILE, or shardctl"));
        qputenv("QT_QPA_PLATFORM", "offscreen");
    }
    QApplication::setApplicationName(QStringLiteral("shardboard"));
    QApplication::setApplicationVersion(QStringLiteral(SHARDBOARD_VERSION));
    QApplication::setDesktopFileName(QStringLiteral("shardboard"));
    qInstallMessageHandler(printShown);
    QApplication application(argc, argv);
    ensureFonts(application);
    if (!tour)
        return showWindow(line, application);
    const Status status = !line.exportFolder.isEmpty() ? writeExportOf(line)
        : line.picture.isEmpty()                       ? writeTour(application, line)
                                                       : writeOnePicture(application, line);
    return status.ok() ? 0 : fail(status.error());
}
