// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/filenotices.h"

#include "app/desktop/banner.h"
#include "app/desktop/fileactions.h"
#include "app/desktop/filewatch.h"
#include "app/desktop/recovery.h"
#include "model/session/document.h"
#include "widgets/format.h"

#include <QLocale>

namespace shardboard {

FileNotices::FileNotices(Document* document, FileActions* files, Recovery* recovery, FileWatch* watch, Banner* banner, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_fileActions(files)
    , m_recovery(recovery)
    , m_banner(banner)
{
    connect(recovery, &Recovery::failed, banner, &Banner::showError);
    connect(watch, &FileWatch::changed, this, [this](const QString& path) {
        m_banner->ask(m_document->isModified() ? tr("%1 was changed by another program, and here, too.").arg(path)
                                               : tr("%1 was changed by another program.").arg(path),
                      { { tr("Read It Again"), [this] { m_fileActions->reload(); } } });
    });
    connect(watch, &FileWatch::removed, this, [this](const QString& path) {
        m_banner->ask(tr("%1 was removed by another program; the design is only in this window now.").arg(path),
                      { { tr("Write It Again"), [this, path] { m_fileActions->saveTo(path); } } });
    });
}

void FileNotices::offerRecovery()
{
    const QList<Recovery::Left> left = m_recovery->leftBehind();
    if (left.isEmpty())
        return;
    const Recovery::Left& newest = left.first();
    const auto restore = [this, newest] {
        if (!m_fileActions->mayReplace())
            return;
        const Status status = m_recovery->restore(newest);
        if (!status.ok())
            m_banner->showError(qstr(status.error().text()));
        else
            offerRecovery();
    };
    const auto discard = [this, newest] {
        m_recovery->discard(newest);
        offerRecovery();
    };
    m_banner->ask(tr("Unsaved changes of %1 from %2 were left behind by a window that ended unexpectedly.")
                      .arg(newest.name, QLocale().toString(newest.kept, QLocale::ShortFormat)),
                  { { tr("Restore"), restore }, { tr("Discard"), discard } });
}

} // namespace shardboard
