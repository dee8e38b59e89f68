// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/exportchanges.h"

#include <QByteArray>
#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <algorithm>

namespace shardboard {

namespace {

constexpr std::size_t kMostCompared = std::size_t { 4 } << 20; ///< bytes, line by line
constexpr std::size_t kBeginning = std::size_t { 64 } << 10; ///< of a larger file is shown

QString textOfFile(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// The beginning of a text as far as it is compared line by line; `bytes` counts all of it.
std::string beginningOf(const TextSource& text, const std::atomic<bool>& stop, std::int64_t& bytes)
{
    std::string beginning;
    text([&](std::string_view piece) {
        bytes += static_cast<std::int64_t>(piece.size());
        beginning += piece.substr(0, std::min(piece.size(), kMostCompared - std::min(kMostCompared, beginning.size())));
        return !stop;
    });
    return beginning;
}

bool sameContent(const QString& path, const TextSource& text, std::int64_t bytes, const std::atomic<bool>& stop)
{
    QFile file(path);
    return file.size() == bytes && file.open(QIODevice::ReadOnly) && text([&](std::string_view piece) {
               const auto size = static_cast<qsizetype>(piece.size());
               return !stop && file.read(size) == QByteArray::fromRawData(piece.data(), size);
           });
}

} // namespace

std::vector<FileChange> changesOf(const std::vector<ExportedFile>& files, const QString& folder, const std::atomic<bool>& stop)
{
    std::vector<FileChange> out;
    for (const ExportedFile& file : files) {
        if (stop)
            return out;
        const QFileInfo there(QDir(folder).filePath(QString::fromStdString(file.name)));
        const QString path = there.filePath();
        FileChange change;
        const std::string beginning = beginningOf(file.text, stop, change.bytes);
        change.link = !folder.isEmpty() && there.isSymLink();
        change.there = !folder.isEmpty() && (change.link || there.exists());
        const bool readable = change.there && !change.link && there.isFile(); // a pipe would keep its reader waiting
        constexpr auto kMost = static_cast<std::int64_t>(kMostCompared);
        change.large = change.bytes > kMost || (readable && there.size() > kMost);
        const QString content = QString::fromStdString(change.large ? beginning.substr(0, kBeginning) : beginning);
        change.text = content.left(static_cast<qsizetype>(kBeginning));
        change.diff = lineDiff(readable && !change.large ? textOfFile(path) : QString(), content);
        change.same = readable && (change.large ? sameContent(path, file.text, change.bytes, stop) : change.diff.same());
        out.push_back(std::move(change));
    }
    return out;
}

} // namespace shardboard
