// SPDX-License-Identifier: Apache-2.0
// What a file was when it was read or written, so that nobody replaces another one by mistake: a newer version of it,
// what a second window has saved, or a file of the same name elsewhere. An atomic save makes a new file of it each
// time, so it is the content that tells.
#pragma once

#include <QByteArray>
#include <QString>

#include <string>

namespace shardboard {

struct FileIdentity {
    QString path; ///< absolute, links followed; empty: a design that was never in a file
    qint64 size = -1; ///< -1: there was no file
    qint64 modified = 0; ///< milliseconds since 1970
    QByteArray digest; ///< SHA-256 of the content; empty where there is none or it cannot be read

    bool exists() const { return size >= 0; }
    /// The same bytes, or no file both times.
    bool sameContent(const FileIdentity& other) const;
    bool operator==(const FileIdentity&) const = default;
};

/// Of what lies there now; reads all of it.
FileIdentity identityOf(const QString& path);
/// The same without looking into it: the digest is empty.
FileIdentity outsideOf(const QString& path);
/// Of a file with this content, which was just read or written.
FileIdentity identityOf(const QString& path, const std::string& content);
QByteArray digestOf(const std::string& content);

} // namespace shardboard
