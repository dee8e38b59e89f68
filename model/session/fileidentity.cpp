// SPDX-License-Identifier: Apache-2.0
#include "model/session/fileidentity.h"

#include "model/io/file/openfile.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QFile>
#include <QFileInfo>

#include <array>

namespace shardboard {

namespace {
constexpr qint64 kMostRead = qint64 { 256 } << 20; ///< bytes; no design is so large
}

bool FileIdentity::sameContent(const FileIdentity& other) const
{
    if (!exists() || !other.exists())
        return exists() == other.exists();
    return size == other.size && !digest.isEmpty() && digest == other.digest;
}

QByteArray digestOf(const std::string& content)
{
    return QCryptographicHash::hash(QByteArray::fromRawData(content.data(), static_cast<qsizetype>(content.size())),
                                    QCryptographicHash::Sha256);
}

FileIdentity outsideOf(const QString& path)
{
    FileIdentity out;
    if (path.isEmpty())
        return out;
    const QFileInfo info(path);
    out.path = info.exists() ? info.canonicalFilePath() : info.absoluteFilePath();
    if (info.exists()) {
        out.size = info.size();
        out.modified = info.lastModified().toMSecsSinceEpoch();
    }
    return out;
}

FileIdentity identityOf(const QString& path)
{
    FileIdentity out = outsideOf(path); // before it is read: who changes it meanwhile changes its time
    if (!out.exists())
        return out;
    auto file = OpenFile::open(QFile::encodeName(path).toStdString());
    if (!file.ok())
        return out;
    QCryptographicHash hash(QCryptographicHash::Sha256);
    std::array<char, 65536> piece {}; // whatever lies there by now may be large
    qint64 size = 0;
    auto count = file.value().read(piece.data(), piece.size());
    for (; count && *count > 0 && size <= kMostRead; count = file.value().read(piece.data(), piece.size())) {
        hash.addData(QByteArrayView(piece.data(), static_cast<qsizetype>(*count)));
        size += static_cast<qint64>(*count);
    }
    if (count && *count == 0) {
        out.size = size;
        out.digest = hash.result();
    }
    return out;
}

FileIdentity identityOf(const QString& path, const std::string& content)
{
    FileIdentity out = outsideOf(path);
    out.size = static_cast<qint64>(content.size());
    out.digest = digestOf(content);
    return out;
}

} // namespace shardboard
