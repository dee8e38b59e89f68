// SPDX-License-Identifier: Apache-2.0
// Asks which file the edits of the history are written to or read from. Problems go to the banner.
#pragma once

#include <QObject>
#include <QString>

namespace shardboard {

class Banner;
class Document;
class HistoryView;
class Settings;

class HistoryFiles : public QObject {
    Q_OBJECT
public:
    HistoryFiles(Document* document, HistoryView* view, Settings& settings, Banner* banner, QWidget* window);

    void save();
    bool saveTo(const QString& path);
    void open();
    bool replayFrom(const QString& path);

private:
    Document* m_document;
    Settings& m_settings;
    Banner* m_banner;
    QWidget* m_window;
};

} // namespace shardboard
