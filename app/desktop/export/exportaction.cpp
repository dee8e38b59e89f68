// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/exportaction.h"

#include "model/io/layouts/layoutdiff.h"
#include "model/io/targets/targets.h"
#include "model/session/document.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QStringList>

namespace shardboard {

Result<QString> exportTo(const ExportTarget& target, const Document& document, const QString& folder)
{
    const auto files = exportDesign(target, document.design(), document.evaluation());
    if (!files.ok())
        return files.error();
    return writeFiles(files.value(), folder);
}

Result<QString> writeFiles(const std::vector<ExportedFile>& files, const QString& folder, const std::function<bool()>& stopped)
{
    const Status written = writeExport(QFile::encodeName(folder).toStdString(), files, stopped);
    if (written.cancelled())
        return Cancelled {};
    if (!written.ok())
        return written.error();
    QStringList names;
    for (const ExportedFile& file : files)
        names << QString::fromStdString(file.name);
    return QCoreApplication::translate("shardboard", "Wrote %1 to %2")
        .arg(names.join(QStringLiteral(", ")), QDir::toNativeSeparators(folder));
}

Result<QString> readBack(const Document& document, const QString& folder)
{
    return readBack(document.design(), *document.evaluation(), folder);
}

Result<QString> readBack(const Design& design, const Evaluation& evaluation, const QString& folder)
{
    const std::string path = QFile::encodeName(QDir(folder).filePath(QStringLiteral("shards.json"))).toStdString();
    const auto written = readLayoutTable(path, true);
    if (!written.ok())
        return written.error();
    const LayoutTable own = layoutTableOf(design, evaluation, "the design", true);
    const LayoutComparison comparison = compareLayouts(own, written.value(), DType::BF16);
    // What only a design knows (activations, logical names) is not in the file.
    for (const LayoutDifference& difference : comparison.differences)
        if (!difference.activation && difference.what != LayoutDifference::What::LogicalNames)
            return inputError(path + ": " + difference.tensor,
                              "does not read back as it was written (" + differenceName(difference.what) + ")",
                              "keep this export apart and report it");
    return QCoreApplication::translate("shardboard", "%1 tensors read back equal").arg(comparison.compared);
}

} // namespace shardboard
