// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/filenotices.h"

#include "app/desktop/base/banner.h"
#include "app/desktop/files/fileactions.h"
#include "app/desktop/files/fileconflict.h"
#include "app/desktop/files/filewatch.h"
#include "model/io/design/designfile.h"
#include "model/session/document.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"

#include <QDir>
#include <QLocale>

namespace shardboard {

FileNotices::FileNotices(Document* document, FileActions* files, Recovery* recovery, FileWatch* watch, Banner* banner,
                         QWidget* window)
    : QObject(window)
    , m_document(document)
    , m_fileActions(files)
    , m_recovery(recovery)
    , m_banner(banner)
    , m_window(window)
{
    connect(recovery, &Recovery::failed, banner, &Banner::showError);
    connect(watch, &FileWatch::changed, this, [this](const QString& path) {
        m_banner->ask(m_document->isModified() ? tr("%1 was changed by another program and in this window.").arg(path)
                                               : tr("%1 was changed by another program.").arg(path),
                      { { tr("Read It Again"), [this] { m_fileActions->reload(); } } });
    });
    connect(watch, &FileWatch::removed, this, [this](const QString& path) {
        m_banner->ask(tr("%1 was removed by another program; the design is only in this window now.").arg(path),
                      { { tr("Write It Again"), [this, path] {
                             if (stateOf(path, {}) == FileState::Same) // there is still none
                                 m_fileActions->writeTo(path);
                             else
                                 m_fileActions->saveTo(path);
                         } } });
    });
}

void FileNotices::offerRecovery()
{
    const QList<Recovery::Left> left = m_recovery->leftBehind();
    if (left.isEmpty())
        return;
    const Recovery::Left& newest = left.first();
    const auto restore = [this, newest] { this->restore(newest); };
    const auto discard = [this, newest] {
        m_recovery->discard(newest);
        offerRecovery();
    };
    if (!newest.problem.isEmpty()) {
        m_banner->ask(tr("The unsaved changes of a window that ended unexpectedly cannot be restored: %1").arg(newest.problem),
                      { { tr("Discard"), discard } });
        return;
    }
    m_banner->ask(
        tr("Unsaved changes of %1 from %2 were left behind by a window that ended unexpectedly.")
            .arg(newest.file.path.isEmpty() ? shownText(newest.name) : shownText(QDir::toNativeSeparators(newest.file.path)),
                 QLocale().toString(newest.kept, QLocale::ShortFormat)),
        { { tr("Restore"), restore }, { tr("Discard"), discard } });
}

/// Not before it was said that the file is another one by now.
void FileNotices::restore(const Recovery::Left& left)
{
    if (!left.file.path.isEmpty() && stateOf(left.file.path, left.file) != FileState::Same) {
        const auto design = m_recovery->designOf(left);
        if (!design.ok()) {
            m_banner->showError(errorText(design.error()));
            return;
        }
        const auto answer = FileConflict::askBeforeRestore(left.file.path, designText(design.value()), m_window);
        if (answer == FileConflict::Answer::Reload && m_fileActions->mayReplace() && !m_fileActions->openPath(left.file.path))
            return;
        if (answer != FileConflict::Answer::Restore) {
            offerRecovery(); // they are kept until they are discarded
            return;
        }
    }
    if (!m_fileActions->mayReplace())
        return;
    const Status status = m_recovery->restore(left);
    if (!status.ok())
        m_banner->showError(errorText(status.error()));
    else
        offerRecovery();
}

} // namespace shardboard
