// SPDX-License-Identifier: Apache-2.0
// What an export would write, before it does: each file with what changes against the folder's, and what stands in the way, each
// with a way to it. Of many devices the files take seconds to make and to compare, so both are done off the GUI thread.
#pragma once

#include "app/desktop/export/exportchanges.h"
#include "model/io/exports/exporttarget.h"

#include <QString>
#include <QTimer>
#include <QWidget>

#include <memory>
#include <vector>

class QLabel;
class QLineEdit;
class QListWidget;
class QPlainTextEdit;
class QProgressBar;

namespace shardboard {

class Document;
class LatestJob;

class ExportForm : public QWidget {
    Q_OBJECT
public:
    ExportForm(const Document& document, const ExportTarget& target, const QString& folder, QWidget* parent = nullptr);

    QString folder() const;
    /// What is to be written, made once; null until it is made and where something stands in the way.
    std::shared_ptr<const std::vector<ExportedFile>> files() const { return m_files; }
    /// The files are being made, or compared with the folder's.
    bool isBusy() const;
    /// There is something to write, and a folder for it.
    bool canExport() const { return m_canExport; }
    /// With what is in the folder now: the last export, as a rule.
    void compare();
    /// No answer of what is being made is wanted any more.
    void forget();

Q_SIGNALS:
    void changed(); ///< whether it can be written
    /// The weight that the user asked to see instead of exporting.
    void weightWanted(const QString& name);

private:
    void build();
    void prepare(const Document& document, const ExportTarget& target);
    void showProblems();
    void showBlocked();
    void folderChanged();
    void showChanges();
    void showNote(const QString& text);
    bool folderIsFile() const;
    QString linkInTheWay() const;
    void showFile(int row);
    void browse();
    void setCanExport(bool can);

    LatestJob* m_job; ///< makes the files, then compares them
    QTimer m_typed; ///< since the folder was typed
    std::shared_ptr<const std::vector<ExportedFile>> m_files;
    std::vector<FileChange> m_changes; ///< of m_files, as last compared
    std::vector<ExportRefusal> m_refusals;
    QLineEdit* m_folder;
    QLabel* m_note;
    QLabel* m_leftOut; ///< what the design says and the files do not
    QProgressBar* m_progress;
    QLabel* m_problemTitle;
    QListWidget* m_problems;
    QListWidget* m_list;
    QPlainTextEdit* m_preview;
    bool m_canExport = false;
};

} // namespace shardboard
