// SPDX-License-Identifier: Apache-2.0
// What the File menu does to the document: new, open, sample, save, save as, export, and the question about unsaved
// changes. Problems go to the banner; the document that was open stays.
#pragma once

#include <QHash>
#include <QObject>
#include <QStringList>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class QMimeData;
class QWidget;

namespace shardboard {

class Banner;
class Document;
class LongWork;
class NewDialog;
class RecentFiles;
class Settings;

class ExportState;
struct ExportedFile;

class FileActions : public QObject {
    Q_OBJECT
public:
    FileActions(Document* document, Settings& settings, RecentFiles* recent, Banner* banner, QWidget* window);

    /// Makes the edits that fields wait with; it is called before the design is saved or gives way. Says what was refused.
    void setWaiting(std::function<QString()> take) { m_waiting = std::move(take); }

    void newDesign(const QString& model = {});
    void newModule();
    void open();
    bool openPath(const QString& path);
    void openSample(); ///< the first
    void openSample(const QString& id);
    /// Reads the file again, after a question where that loses changes.
    void reload();
    bool save();
    bool saveAs();
    /// Asks first where that would replace another version of the design's own file.
    bool saveTo(const QString& path);
    bool writeTo(const QString& path); ///< without a question
    /// Where the last export to a target went, or would go.
    QString exportFolder(const QString& target) const;
    void writeExport(const QString& target, std::shared_ptr<const std::vector<ExportedFile>> files, const QString& folder);
    /// Selects it.
    void showWeight(const QString& name);
    /// Tells of what is being written, with a button that cancels it; stands where the banner does.
    LongWork* work() const { return m_work; }
    /// True when the document may be replaced or closed: nothing is unsaved, or it was saved, or the user said so.
    bool mayReplace();

    /// The one local file that is dragged, or empty.
    static QString droppedFile(const QMimeData* data);
    void openDropped(const QString& path);

private:
    void create(NewDialog& dialog);
    QString takeWaiting();
    bool askAndSave(const QString& path);
    bool mayReplaceIn(const QString& folder, const std::vector<ExportedFile>& files);
    void showNotes(const std::vector<std::string>& notes);
    void tellCancelled();
    void rememberFolder(const QString& path);

    Document* m_document;
    Settings& m_settings;
    RecentFiles* m_recent;
    Banner* m_banner;
    QWidget* m_window;
    std::function<QString()> m_waiting;
    QHash<QString, QString> m_exportFolder; ///< of the document's last export to each target
    QStringList m_exportFolders; ///< all that it was written to
    LongWork* m_work;
    std::shared_ptr<ExportState> m_export; ///< of what m_work writes
    QString m_writtenTo;
};

} // namespace shardboard
