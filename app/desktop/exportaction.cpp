// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/exportaction.h"

#include "model/formats/exporter.h"
#include "model/session/document.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QStringList>

namespace shardboard {

Result<QString> exportTo(const QString& target, const Document& document, const QString& folder)
{
    const auto files = exportDesign(target.toStdString(), document.design(), *document.evaluation());
    if (!files.ok())
        return files.error();
    const Status written = writeExport(QFile::encodeName(folder).toStdString(), files.value());
    if (!written.ok())
        return written.error();
    QStringList names;
    for (const ExportedFile& file : files.value())
        names << QString::fromStdString(file.name);
    return QCoreApplication::translate("shardboard", "Wrote %1 to %2")
        .arg(names.join(QStringLiteral(", ")), QDir::toNativeSeparators(folder));
}

} // namespace shardboard
