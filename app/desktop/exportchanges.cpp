// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/exportchanges.h"

#include <QByteArray>
#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <algorithm>

namespace shardboard {

namespace {

constexpr std::size_t kMostCompared = std::size_t { 4 } << 20; ///< bytes, line by line
constexpr std::size_t kBeginning = std::size_t { 64 } << 10; ///< of a larger file is shown
constexpr qsizetype kBlock = qsizetype { 1 } << 20; ///< between two looks at the stop flag

QString textOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

bool sameContent(const QString& path, const std::string& content, const std::atomic<bool>& stop)
{
    QFile file(path);
    const auto size = static_cast<qsizetype>(content.size());
    if (file.size() != size || !file.open(QIODevice::ReadOnly))
        return false;
    for (qsizetype at = 0; at < size; at += kBlock) {
        const qsizetype length = std::min(kBlock, size - at);
        if (stop || file.read(length) != QByteArray::fromRawData(content.data() + at, length))
            return false;
    }
    return true;
}

} // namespace

std::vector<FileChange> changesOf(const std::vector<ExportedFile>& files, const QString& folder, const std::atomic<bool>& stop)
{
    std::vector<FileChange> out;
    for (const ExportedFile& file : files) {
        if (stop)
            return out;
        const QString path = QDir(folder).filePath(QString::fromStdString(file.name));
        FileChange change;
        change.there = !folder.isEmpty() && QFileInfo::exists(path);
        change.large = file.content.size() > kMostCompared || (change.there && QFileInfo(path).size() > static_cast<qint64>(kMostCompared));
        change.diff = lineDiff(change.there && !change.large ? textOf(path) : QString(), QString::fromStdString(change.large ? file.content.substr(0, kBeginning) : file.content));
        change.same = change.there && (change.large ? sameContent(path, file.content, stop) : change.diff.same());
        out.push_back(std::move(change));
    }
    return out;
}

} // namespace shardboard
