// SPDX-License-Identifier: Apache-2.0
// Keeps unsaved changes in a file of their own, so that a crash loses seconds of work and never touches the design's file.
// Each window has one such file, locked while the window lives; one that nobody holds was left behind by a crash. It says to
// which file the changes were made and what that held, so that what is there later is not taken for it.
#pragma once

#include "model/core/result.h"
#include "model/design/design.h"
#include "model/session/fileidentity.h"

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
        FileIdentity file; ///< of the design, as it was when the changes were made; no path when it was never saved
        QString name; ///< of the model
        QString problem; ///< why it cannot be read; empty: it can
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

    /// Newest first, what cannot be read last.
    QList<Left> leftBehind() const;
    Result<Design> designOf(const Left& left) const;
    /// Opens it as unsaved changes of its file, whatever that is now; it is kept until this window has kept it.
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
