// SPDX-License-Identifier: Apache-2.0
// Notices when another program changes, replaces or removes the file of the open design.
#pragma once

#include "model/session/fileidentity.h"

#include <QFileSystemWatcher>
#include <QObject>
#include <QTimer>

namespace shardboard {

class Document;

class FileWatch : public QObject {
    Q_OBJECT
public:
    explicit FileWatch(Document* document, QObject* parent = nullptr);

Q_SIGNALS:
    /// The file has other content than when it was opened or saved.
    void changed(const QString& path);
    void removed(const QString& path);

private:
    void follow();
    void look();

    Document* m_document;
    QFileSystemWatcher m_watcher;
    QTimer m_timer; ///< programs write in several steps
    QString m_path;
    FileIdentity m_seen; ///< what was there when anything was last said of it
};

} // namespace shardboard
