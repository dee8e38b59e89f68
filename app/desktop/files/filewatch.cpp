// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/filewatch.h"

#include "model/session/document.h"

#include <QFileInfo>

namespace shardboard {

namespace {

constexpr int kSettleMs = 200;

} // namespace

FileWatch::FileWatch(Document* document, QObject* parent)
    : QObject(parent)
    , m_document(document)
{
    m_timer.setSingleShot(true);
    m_timer.setInterval(kSettleMs);
    connect(&m_timer, &QTimer::timeout, this, &FileWatch::look);
    connect(&m_watcher, &QFileSystemWatcher::fileChanged, &m_timer, qOverload<>(&QTimer::start));
    connect(&m_watcher, &QFileSystemWatcher::directoryChanged, &m_timer, qOverload<>(&QTimer::start));
    connect(document, &Document::opened, this, &FileWatch::follow);
    connect(document, &Document::saved, this, &FileWatch::follow);
}

/// The document is what the file says now.
void FileWatch::follow()
{
    m_timer.stop();
    if (const QStringList watched = m_watcher.files() + m_watcher.directories(); !watched.isEmpty())
        m_watcher.removePaths(watched);
    m_path = m_document->filePath();
    m_seen = identityOf(m_path);
    if (m_seen.exists())
        m_watcher.addPath(m_path);
}

void FileWatch::look()
{
    const FileIdentity now = identityOf(m_path);
    if (now.exists() && !m_watcher.files().contains(m_path))
        m_watcher.addPath(m_path); // a file that was replaced is a new one to the watcher
    if (now.sameContent(m_seen))
        return;
    m_seen = now; // said once
    if (!now.exists()) {
        m_watcher.addPath(QFileInfo(m_path).absolutePath()); // it may come back
        Q_EMIT removed(m_path);
    } else {
        Q_EMIT changed(m_path);
    }
}

} // namespace shardboard
