// SPDX-License-Identifier: Apache-2.0
// Keeps unsaved changes in a file of their own, so that a crash loses seconds of work and never touches the design's file.
// Each window has one such file, locked while the window lives; one that nobody holds was left behind by a crash.
#pragma once

#include "model/core/result.h"

#include <QDateTime>
#include <QList>
#include <QLockFile>
#include <QObject>
#include <QString>
#include <QTimer>

#include <memory>

namespace shardboard {

class Document;

class Recovery : public QObject {
    Q_OBJECT
public:
    /// What a window left behind that did not end properly.
    struct Left {
        QString path; ///< of the file in which it was kept
        QString file; ///< of the design; empty when it was never saved
        QString name; ///< to show: of the file, or of the model
        QDateTime kept;
    };

    /// `folder` is made when something is to be kept.
    Recovery(Document* document, const QString& folder, QObject* parent = nullptr);
    /// A document that ends properly was saved or given up: nothing is left behind.
    ~Recovery() override;

    /// How long changes may stay unkept (ms).
    void setDelay(int milliseconds) { m_timer.setInterval(milliseconds); }
    /// Where the changes of this window are kept.
    QString path() const { return m_path; }

    /// Newest first. Files that cannot be read are left alone.
    QList<Left> leftBehind() const;
    /// Opens it as unsaved changes of its file; it is kept until this window has kept it.
    Status restore(const Left& left);
    void discard(const Left& left);

Q_SIGNALS:
    /// Changes cannot be kept; said once until it works again.
    void failed(const QString& text);

private:
    void follow();
    void keep();
    void forget();

    Document* m_document;
    QString m_folder;
    QString m_path;
    std::unique_ptr<QLockFile> m_lock;
    QTimer m_timer;
    bool m_failed = false;
};

} // namespace shardboard
