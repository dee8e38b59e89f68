// SPDX-License-Identifier: Apache-2.0
// What is said about the design's file without being asked: another program changed or removed it, unsaved changes were left
// behind by a crash, or cannot be kept. Each stands in the banner with what can be done about it.
#pragma once

#include "app/desktop/files/recovery.h"

#include <QObject>

class QWidget;

namespace shardboard {

class Banner;
class Document;
class FileActions;
class FileWatch;

class FileNotices : public QObject {
    Q_OBJECT
public:
    FileNotices(Document* document, FileActions* files, Recovery* recovery, FileWatch* watch, Banner* banner, QWidget* window);

    /// Asks about unsaved changes that a crash left behind, the newest first, if there are any.
    void offerRecovery();

private:
    void restore(const Recovery::Left& left);

    Document* m_document;
    FileActions* m_fileActions;
    Recovery* m_recovery;
    Banner* m_banner;
    QWidget* m_window;
};

} // namespace shardboard
