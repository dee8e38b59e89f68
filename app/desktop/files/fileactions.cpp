// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/fileactions.h"

#include "app/desktop/base/banner.h"
#include "app/desktop/base/messagebox.h"
#include "app/desktop/base/settings.h"
#include "app/desktop/export/exportaction.h"
#include "app/desktop/export/exportstate.h"
#include "app/desktop/files/fileconflict.h"
#include "app/desktop/files/newdialog.h"
#include "app/desktop/files/recentfiles.h"
#include "app/desktop/files/sample.h"
#include "app/desktop/files/savename.h"
#include "model/io/design/designfile.h"
#include "model/io/exports/exportfiles.h"
#include "model/session/document.h"
#include "model/session/selection.h"
#include "widgets/jobs/longwork.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>
#include <QPushButton>
#include <QUrl>

#include <algorithm>
#include <memory>

namespace shardboard {

namespace {
const QString kSuffix = QStringLiteral(".shardboard");

QString designFilter() { return FileActions::tr("Shardboard designs (*.shardboard);;All files (*)"); }

/// What File > New takes: a folder of a checkpoint, or what lies in one.
bool isModel(const QFileInfo& info)
{
    return info.isDir() || info.fileName() == QLatin1String("config.json") || info.suffix() == QLatin1String("safetensors")
        || info.suffix() == QLatin1String("gguf") || info.fileName().endsWith(QLatin1String(".safetensors.index.json"));
}
}

FileActions::FileActions(Document* document, Settings& settings, RecentFiles* recent, Banner* banner, QWidget* window)
    : QObject(window)
    , m_document(document)
    , m_settings(settings)
    , m_recent(recent)
    , m_banner(banner)
    , m_window(window)
    , m_work(new LongWork(window))
{
    connect(m_work, &LongWork::cancelled, this, &FileActions::tellCancelled);
    connect(document, &Document::opened, this, [this] {
        m_exportFolder.clear();
        m_exportFolders.clear();
    });
}

void FileActions::newDesign(const QString& model)
{
    if (!mayReplace())
        return;
    NewDialog dialog(m_window);
    if (!model.isEmpty())
        dialog.setModel(model);
    create(dialog);
}

void FileActions::newModule()
{
    if (!mayReplace())
        return;
    NewDialog dialog(m_window);
    dialog.setModule();
    create(dialog);
}

void FileActions::create(NewDialog& dialog)
{
    if (dialog.exec() != QDialog::Accepted)
        return;
    const Status status = m_document->setDesign(dialog.design());
    if (!status.ok()) {
        m_banner->showError(errorText(status.error()));
        return;
    }
    m_banner->hide();
    showNotes(dialog.notes());
}

void FileActions::showNotes(const std::vector<std::string>& notes)
{
    if (notes.empty())
        return;
    constexpr std::size_t kShown = 3;
    QStringList lines;
    for (std::size_t i = 0; i < notes.size() && i < kShown; ++i)
        lines << qstr(notes[i]);
    if (notes.size() > kShown)
        lines << tr("… and %n more", nullptr, static_cast<int>(notes.size() - kShown));
    m_banner->showInfo(lines.join(QLatin1Char('\n')));
}

void FileActions::open()
{
    if (!mayReplace())
        return;
    const QString path = QFileDialog::getOpenFileName(m_window, tr("Open Design"), m_settings.lastFolder(), designFilter());
    if (!path.isEmpty())
        openPath(path);
}

bool FileActions::openPath(const QString& path)
{
    if (const QFileInfo info(path); info.exists() && isModel(info)) {
        m_banner->showError(
            tr("%1: is a model and no design; choose File ▸ New and name it there, or drop it on the window").arg(path));
        return false;
    }
    const Status status = m_document->open(path);
    if (!status.ok()) {
        m_banner->showError(errorText(status.error()));
        return false;
    }
    m_banner->hide();
    m_recent->add(path);
    rememberFolder(path);
    return true;
}

void FileActions::openSample() { openSample(samples().front().id); }

void FileActions::openSample(const QString& id)
{
    if (!mayReplace())
        return;
    const auto design = shardboard::openSample(id);
    const Status status = design.ok() ? m_document->setDesign(design.value()) : Status(design.error());
    if (status.ok())
        m_banner->hide();
    else
        m_banner->showError(errorText(status.error()));
}

void FileActions::reload()
{
    const QString path = m_document->filePath();
    if (!path.isEmpty() && mayReplace())
        openPath(path);
}

bool FileActions::save() { return m_document->filePath().isEmpty() ? saveAs() : saveTo(m_document->filePath()); }

bool FileActions::saveAs()
{
    if (!m_document->hasDesign())
        return false;
    const QString current = m_document->filePath();
    const QString proposal = current.isEmpty()
        ? m_settings.lastFolder() + QLatin1Char('/') + fileNamePart(qstr(m_document->design().model.name)) + kSuffix
        : current;
    const QString path =
        saveName(m_window, QFileDialog::getSaveFileName(m_window, tr("Save Design As"), proposal, designFilter()), { kSuffix });
    return !path.isEmpty() && saveTo(path);
}

QString FileActions::takeWaiting() { return m_waiting ? m_waiting() : QString(); }

bool FileActions::saveTo(const QString& path)
{
    const QString leftOut = takeWaiting();
    if (!askAndSave(path))
        return false;
    if (!leftOut.isEmpty())
        m_banner->showInfo(tr("Saved without what is typed and cannot be used. %1").arg(leftOut));
    return true;
}

bool FileActions::askAndSave(const QString& path)
{
    const FileIdentity& known = m_document->file();
    const bool own = QFileInfo(path).absoluteFilePath() == m_document->filePath() || outsideOf(path).path == known.path;
    if (!own || stateOf(path, known) == FileState::Same)
        return writeTo(path);
    const std::string mine = designText(m_document->design());
    const FileIdentity shown = identityOf(path);
    if (shown.digest == digestOf(mine))
        return writeTo(path); // the other one has saved the same
    switch (FileConflict::askBeforeSave(path, mine, m_window)) {
    case FileConflict::Answer::SaveAs:
        return saveAs();
    case FileConflict::Answer::Overwrite:
        // What came while it was asked has not been seen.
        return identityOf(path) == shown ? writeTo(path) : askAndSave(path);
    case FileConflict::Answer::Reload:
        openPath(path);
        return false; // nothing was saved: a window that was to be closed stays
    default:
        return false;
    }
}

bool FileActions::writeTo(const QString& path)
{
    const Status status = m_document->save(path);
    if (!status.ok()) {
        m_banner->showError(errorText(status.error()));
        return false;
    }
    m_recent->add(path);
    rememberFolder(path);
    return true;
}

QString FileActions::exportFolder(const QString& target) const
{
    const QString last = m_exportFolder.value(target);
    if (!last.isEmpty() || !m_document->hasDesign())
        return last;
    const QString file = m_document->filePath();
    return file.isEmpty()
        ? m_settings.lastFolder() + QStringLiteral("/%1-%2").arg(fileNamePart(qstr(m_document->design().model.name)), target)
        : QFileInfo(file).absolutePath() + QStringLiteral("/%1-%2").arg(QFileInfo(file).completeBaseName(), target);
}

/// Of many devices an export is a hundred megabytes and more, which take a while to write and to read back.
void FileActions::writeExport(const QString& target, std::shared_ptr<const std::vector<ExportedFile>> files, const QString& folder)
{
    if (!mayReplaceIn(folder, *files))
        return;
    m_work->cancel(); // tells what became of the export before
    m_banner->hide();
    m_export = std::make_shared<ExportState>();
    m_writtenTo = folder;
    m_exportFolder[target] = folder; // at once: when it has ended, another document may be open
    const auto design = std::make_shared<const Design>(m_document->design());
    m_work->start(tr("Writing %1 …").arg(QDir::toNativeSeparators(folder)),
                  [this, folder, files = std::move(files), state = m_export, design,
                   evaluation = m_document->evaluation()](LongWork::Control& control) -> LongWork::Answer {
                      const auto written = writeFiles(*files, folder, [&] { return control.stopped() || !state->begin(); });
                      if (written.ok())
                          state->finish();
                      const auto back = !written.ok() || control.stopped() ? written : readBack(*design, *evaluation, folder);
                      if (written.cancelled())
                          return {}; // told when it was cancelled
                      return [this, folder, written, back] {
                          if (!written.ok()) {
                              m_banner->showError(errorText(written.error())); // says which files are there
                              return;
                          }
                          if (back.ok())
                              m_banner->showInfo(written.value() + QStringLiteral(" · ") + back.value());
                          else
                              m_banner->showError(errorText(back.error()));
                      };
                  });
}

/// What is in a folder may be the export of another design: asked about once, until another document is opened.
bool FileActions::mayReplaceIn(const QString& folder, const std::vector<ExportedFile>& files)
{
    const QString place = QFileInfo(folder).absoluteFilePath();
    const auto there = std::find_if(files.begin(), files.end(), [&place](const ExportedFile& file) {
        return QFileInfo(place + QLatin1Char('/') + qstr(file.name)).isFile();
    });
    if (there != files.end() && !m_exportFolders.contains(place)) {
        const auto box = messageBox(
            QMessageBox::Question, tr("Replace an Export"),
            tr("Replace the export in %1?").arg(shortened(shownText(QDir::toNativeSeparators(folder)), kLongestName)),
            tr("It has files such as %1 that were not written for the design that is open.").arg(shownText(qstr(there->name))),
            QMessageBox::Yes | QMessageBox::Cancel, m_window);
        box->setObjectName(QStringLiteral("replaceExportBox"));
        box->button(QMessageBox::Yes)->setText(tr("Replace"));
        box->setDefaultButton(QMessageBox::Cancel);
        if (box->exec() != QMessageBox::Yes)
            return false;
    }
    m_exportFolders << place;
    return true;
}

/// A cancel that comes while files are written leaves some, and says so.
void FileActions::tellCancelled()
{
    const QString folder = QDir::toNativeSeparators(m_writtenTo);
    switch (m_export->cancel()) {
    case ExportState::Left::Nothing:
        m_banner->showInfo(tr("The export was cancelled."));
        break;
    case ExportState::Left::Some:
        m_banner->showInfo(tr("The export was cancelled while it was written: %1 may hold only some of its files.").arg(folder));
        break;
    case ExportState::Left::All:
        m_banner->showInfo(tr("The export is in %1, but reading it back was cancelled.").arg(folder));
        break;
    }
}

void FileActions::showWeight(const QString& name)
{
    const auto& weights = m_document->evaluation()->weights;
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (verbatim(weights[i].spec.name) == name)
            m_document->selection()->setWeight(static_cast<int>(i));
}

bool FileActions::mayReplace()
{
    takeWaiting();
    if (!m_document->hasDesign() || !m_document->isModified())
        return true;
    const QString name =
        m_document->filePath().isEmpty() ? qstr(m_document->design().model.name) : QFileInfo(m_document->filePath()).fileName();
    const auto box = messageBox(
        QMessageBox::Question, tr("Unsaved Changes"), tr("Save the changes to “%1”?").arg(shortened(shownText(name), kLongestName)),
        tr("Otherwise they will be lost."), QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, m_window);
    box->setObjectName(QStringLiteral("unsavedBox"));
    box->setDefaultButton(QMessageBox::Save);
    switch (box->exec()) {
    case QMessageBox::Save:
        return save();
    case QMessageBox::Discard:
        return true;
    default:
        return false;
    }
}

QString FileActions::droppedFile(const QMimeData* data)
{
    const QList<QUrl> urls = data->urls();
    return urls.size() == 1 && urls.first().isLocalFile() ? urls.first().toLocalFile() : QString();
}

void FileActions::openDropped(const QString& path)
{
    const QFileInfo info(path);
    if (path.endsWith(kSuffix)) {
        if (mayReplace())
            openPath(path);
    } else if (isModel(info)) {
        newDesign(path);
    } else {
        m_banner->showError(tr("%1: is neither a design (*.shardboard) nor a model; drop a design, a checkpoint folder, a "
                               "config.json, or a .safetensors or .gguf file")
                                .arg(path));
    }
}

void FileActions::rememberFolder(const QString& path) { m_settings.setLastFolder(QFileInfo(path).absolutePath()); }

} // namespace shardboard
