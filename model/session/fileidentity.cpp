// SPDX-License-Identifier: Apache-2.0
#include "model/session/fileidentity.h"

#include "model/io/file/textfile.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QFile>
#include <QFileInfo>

namespace shardboard {

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
    if (const auto content = readTextFile(QFile::encodeName(path).toStdString()); content.ok()) {
        out.size = static_cast<qint64>(content.value().size());
        out.digest = digestOf(content.value());
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
