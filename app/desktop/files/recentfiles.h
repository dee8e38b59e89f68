// SPDX-License-Identifier: Apache-2.0
// The files that were opened or saved last: newest first, each once, at most ten; missing ones stay, greyed.
#pragma once

#include <QObject>
#include <QStringList>

class QMenu;

namespace shardboard {

class Settings;

class RecentFiles : public QObject {
    Q_OBJECT
public:
    static constexpr int kLimit = 10;

    RecentFiles(Settings& settings, QObject* parent = nullptr);

    QStringList files() const { return m_files; }
    void add(const QString& path);
    void clear();
    /// Fills a menu anew each time it opens, so that it knows which files are missing by then.
    void attach(QMenu* menu);

Q_SIGNALS:
    void changed();
    void chosen(const QString& path);

private:
    void fill(QMenu* menu);
    void store();

    Settings& m_settings;
    QStringList m_files; ///< absolute paths
};

} // namespace shardboard
