// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/historyfiles.h"

#include "app/desktop/base/banner.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/files/savename.h"
#include "model/io/file/textfile.h"
#include "model/session/document.h"
#include "model/session/edithistory.h"
#include "widgets/history/historyview.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"

#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QStringList>
#include <QUndoStack>

namespace shardboard {

namespace {

QString editFilter() { return HistoryFiles::tr("Edits (*.edits.json);;All files (*)"); }

} // namespace

HistoryFiles::HistoryFiles(Document* document, HistoryView* view, Settings& settings, Banner* banner, QWidget* window)
    : QObject(window)
    , m_document(document)
    , m_settings(settings)
    , m_banner(banner)
    , m_window(window)
{
    setObjectName(QStringLiteral("historyFiles"));
    connect(view, &HistoryView::saveWanted, this, &HistoryFiles::save);
    connect(view, &HistoryView::replayWanted, this, &HistoryFiles::open);
}

void HistoryFiles::save()
{
    const QString file = m_document->filePath();
    const QString name = file.isEmpty()
        ? m_settings.lastFolder() + QLatin1Char('/') + fileNamePart(qstr(m_document->design().model.name))
        : QFileInfo(file).absolutePath() + QLatin1Char('/') + QFileInfo(file).completeBaseName();
    const QString suffix = QStringLiteral(".edits.json");
    const QString path = saveName(m_window, QFileDialog::getSaveFileName(m_window, tr("Save Edits"), name + suffix, editFilter()),
                                  { suffix, QStringLiteral(".json") });
    if (!path.isEmpty())
        saveTo(path);
}

bool HistoryFiles::saveTo(const QString& path)
{
    const auto edits = namedEdits(*m_document->undoStack());
    const Status status = writeFileAtomically(QFile::encodeName(path).toStdString(), editsText(edits));
    if (status.ok())
        m_banner->showInfo(tr("%1 in %2").arg(counted(static_cast<std::int64_t>(edits.size()), tr("edit"), tr("edits")), path));
    else
        m_banner->showError(errorText(status.error()));
    return status.ok();
}

void HistoryFiles::open()
{
    const QString path = QFileDialog::getOpenFileName(m_window, tr("Replay Edits"), m_settings.lastFolder(), editFilter());
    if (!path.isEmpty())
        replayFrom(path);
}

bool HistoryFiles::replayFrom(const QString& path)
{
    const std::string file = QFile::encodeName(path).toStdString();
    const auto text = readTextFile(file);
    const auto edits = text.ok() ? editsFromText(text.value(), file) : Result<std::vector<NamedEdit>>(text.error());
    const auto [made, there, status] = edits.ok() ? replay(*m_document, edits.value()) : Replay { 0, 0, edits.error() };
    const QString madeText = counted(made, tr("edit"), tr("edits"));
    QString alreadyText;
    if (there > 0)
        alreadyText = tr("%1 there already")
                          .arg(made > 0 ? there == 1 ? tr("1 was") : tr("%1 were").arg(there)
                                        : counted(there, tr("edit is"), tr("edits are")));
    if (!status.ok()) {
        QStringList parts;
        if (made > 0)
            parts << tr("%1 of %2 edits were made").arg(made).arg(edits.value().size());
        if (there > 0)
            parts << alreadyText;
        m_banner->showError(parts.isEmpty() ? errorText(status.error())
                                            : tr("%1, then: %2").arg(parts.join(QStringLiteral(", ")), errorText(status.error())));
    } else if (made == 0) {
        m_banner->showInfo(there > 0 ? tr("%1: nothing changes").arg(alreadyText)
                                     : tr("%1 holds no edits: nothing changes").arg(path));
    } else {
        const int kept = m_document->undoStack()->index(); // fewer than were made where the history is full
        const QString told = kept < made ? tr("%1 replayed; undo takes back the last %2 one by one").arg(madeText).arg(kept)
                                         : tr("%1 replayed; undo takes them back one by one").arg(madeText);
        m_banner->showInfo(there > 0 ? told + QStringLiteral(" · ") + alreadyText : told);
    }
    return status.ok();
}

} // namespace shardboard
