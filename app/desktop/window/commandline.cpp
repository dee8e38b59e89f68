// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/commandline.h"

#include <QRegularExpression>

namespace shardboard {

namespace {

constexpr int kSmallest = 320;
constexpr int kLargest = 8192; // a picture of this size is 256 MiB

Result<QSize> parseSize(const QString& text)
{
    static const QRegularExpression form(QStringLiteral("^(\\d{1,5})x(\\d{1,5})$"));
    const auto match = form.match(text);
    const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
    if (!match.hasMatch() || qMin(size.width(), size.height()) < kSmallest || qMax(size.width(), size.height()) > kLargest)
        return usageError("--size", "“" + text.toStdString() + "” is not a size",
                          "give WIDTHxHEIGHT in pixels from 320 to 8192, such as 1600x1000");
    return size;
}

/// Sets one option that takes a value.
Status setOption(CommandLine& line, const QString& name, const QString& value)
{
    if (name == QLatin1String("--tour")) {
        if (value.isEmpty())
            return usageError("--tour", "the folder is empty", "name a folder to write the pictures to");
        line.tourFolder = value;
    } else if (name == QLatin1String("--picture")) {
        if (value.isEmpty())
            return usageError("--picture", "the file is empty", "name a file that ends in .png, .svg or .pdf");
        line.picture = value;
    } else if (name == QLatin1String("--view")) {
        line.view = value;
    } else if (name == QLatin1String("--export")) {
        if (value.isEmpty())
            return usageError("--export", "the folder is empty", "name a folder to write the files to");
        line.exportFolder = value;
    } else if (name == QLatin1String("--to")) {
        line.exportTarget = value;
    } else if (name == QLatin1String("--scale")) {
        bool ok = false;
        line.scale = value.toInt(&ok);
        if (!ok || (line.scale != 1 && line.scale != 2 && line.scale != 4))
            return usageError("--scale", "“" + value.toStdString() + "” is not a scale", "use 1, 2 or 4");
    } else if (name == QLatin1String("--theme")) {
        if (value != QLatin1String("light") && value != QLatin1String("dark"))
            return usageError("--theme", "“" + value.toStdString() + "” is not a theme", "use light or dark");
        line.theme = value;
    } else {
        const auto size = parseSize(value);
        if (!size.ok())
            return size.error();
        line.size = size.value();
        line.sizeGiven = true;
    }
    return done();
}

bool takesValue(const QString& name)
{
    static const QStringList names { QStringLiteral("--picture"), QStringLiteral("--view"), QStringLiteral("--scale"),
                                     QStringLiteral("--export"),  QStringLiteral("--tour"), QStringLiteral("--theme"),
                                     QStringLiteral("--size"),    QStringLiteral("--to") };
    return names.contains(name);
}

} // namespace

Result<CommandLine> parseCommandLine(const QStringList& arguments)
{
    CommandLine line;
    bool options = true; // until `--`
    bool targetGiven = false;
    for (qsizetype i = 0; i < arguments.size(); ++i) {
        const QString& argument = arguments[i];
        if (options && argument == QLatin1String("--")) {
            options = false;
        } else if (options && argument == QLatin1String("--help")) {
            line.help = true;
        } else if (options && argument == QLatin1String("--version")) {
            line.version = true;
        } else if (options && argument == QLatin1String("--whole")) {
            line.whole = true;
        } else if (options && argument.startsWith(QLatin1Char('-'))) {
            const qsizetype equals = argument.indexOf(QLatin1Char('='));
            const QString name = argument.left(equals < 0 ? argument.size() : equals);
            if (!takesValue(name))
                return usageError(name.toStdString(), "is not an option", "see shardboard --help");
            if (equals < 0 && i + 1 >= arguments.size())
                return usageError(name.toStdString(), "needs a value", "see shardboard --help");
            targetGiven = targetGiven || name == QLatin1String("--to");
            const Status status = setOption(line, name, equals < 0 ? arguments[++i] : argument.mid(equals + 1));
            if (!status.ok())
                return status.error();
        } else if (!line.file.isEmpty()) {
            return usageError(argument.toStdString(), "is a second file", "give one design at a time");
        } else if (argument.isEmpty()) {
            return usageError("FILE", "is empty", "name a design, or leave it out");
        } else {
            line.file = argument;
        }
    }
    if (targetGiven && line.exportFolder.isEmpty() && !line.help && !line.version)
        return usageError("--to", "has no place without --export, which names the folder", "give --export DIR, too");
    return line;
}

QString helpText()
{
    return QStringLiteral(
        "shardboard [FILE] [--tour DIR | --picture FILE [--view NAME] [--whole] [--scale N] |\n"
        "           --export DIR [--to TARGET]] [--theme light|dark] [--size WIDTHxHEIGHT]\n"
        "Opens the desktop program, with the design FILE (*.shardboard) if one is given.\n"
        "\n"
        "  --tour DIR         write a PNG of every view and of the whole window to DIR and exit;\n"
        "                     on FILE or the built-in sample; works without a display\n"
        "  --picture FILE     write one view as .png, .svg or .pdf to FILE and exit\n"
        "  --view NAME        which: window, mesh, tiles, flow, collectives, memory, … (window)\n"
        "  --whole            all of the view: lists to their end, no zoom\n"
        "  --scale 1|2|4      pixels of a .png for each of the view (2)\n"
        "  --export DIR       write the design for a framework to DIR, read it back and exit; also: shardctl export\n"
        "  --to TARGET        which framework (jax); shardctl export --help lists them\n"
        "  --theme light|dark colors; otherwise the system's, and both for a tour\n"
        "  --size WxH         size of the window in pixels (1600x1000)\n"
        "  --help, --version  this text, or the version\n"
        "\n"
        "SHARDBOARD_ENGINE    command that starts the engine, e.g. \"ssh HOST shardboard-engine\"\n");
}

} // namespace shardboard
