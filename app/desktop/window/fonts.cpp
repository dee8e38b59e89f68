// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/fonts.h"

#include <QApplication>
#include <QDir>
#include <QFontDatabase>

namespace shardboard {

namespace {
const QString kSans = QStringLiteral("DejaVu Sans");
const QString kMono = QStringLiteral("DejaVu Sans Mono");
}

void ensureFonts(QApplication& application)
{
    const QStringList families = QFontDatabase::families();
    const bool headless = QGuiApplication::platformName() == QLatin1String("offscreen")
        || QGuiApplication::platformName() == QLatin1String("minimal");
    if (!families.isEmpty() && !headless)
        return;
    if (!families.contains(kSans) || !families.contains(kMono)) {
        const QDir folder(QStringLiteral("/usr/share/fonts/truetype/dejavu"));
        for (const QString& name : folder.entryList({ QStringLiteral("DejaVuSans*.ttf") }, QDir::Files))
            QFontDatabase::addApplicationFont(folder.filePath(name));
    }
    QFont font(kSans);
    font.setPointSizeF(10);
    application.setFont(font);
}

} // namespace shardboard
