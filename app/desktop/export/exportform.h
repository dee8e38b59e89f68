// SPDX-License-Identifier: Apache-2.0
// What an export would write, before it does: first what is lost, or stands in the way, each with a way to it; then each file, and
// what changes against the folder's. Of many devices the files take seconds to make and to compare, so both are done off the GUI
// thread.
#pragma once

#include "app/desktop/export/exportchanges.h"
#include "model/io/exports/exporttarget.h"

#include <QString>
#include <QStringList>
#include <QTimer>
#include <QWidget>

#include <memory>
#include <vector>

class QLabel;
class QLineEdit;
class QListWidget;
class QProgressBar;
class QPushButton;
class QToolButton;

namespace shardboard {

class CodeView;
class Document;
class LatestJob;
class LossBox;
class ViewHeader;

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
    /// What stands in the way; empty where nothing does, or it is not known yet.
    const std::vector<ExportRefusal>& refusals() const { return m_refusals; }
    /// Goes to the first line with one of these texts, in the file that is shown or else in the first that has one; marks the
    /// weight of that name among those that stand in the way.
    void showWeight(const QString& name, const QStringList& texts);
    /// Files that the folder has in another version are shown as what changes.
    bool againstLast() const;
    void setAgainstLast(bool on);
    /// No answer of what is being made is wanted any more.
    void forget();

Q_SIGNALS:
    void changed(); ///< whether it can be written
    /// The weight that the user asked to see instead of exporting.
    void weightWanted(const QString& name);

private:
    void build();
    void prepare(const Document& document, const ExportTarget& target);
    void setRefusals(std::vector<ExportRefusal> refusals);
    void showProblems();
    void showBlocked();
    void copyFile() const;
    bool showLine(const QStringList& texts);
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
    QString m_title; ///< of the target
    std::int64_t m_weights = 0;
    QLineEdit* m_folder;
    QLabel* m_note;
    LossBox* m_loss; ///< the title and list of problems, or what is left out
    QLabel* m_leftOut; ///< what the design says and the files do not
    QLabel* m_tick; ///< nothing is lost
    QProgressBar* m_progress;
    QLabel* m_problemTitle;
    QListWidget* m_problems;
    QListWidget* m_list;
    QWidget* m_shown; ///< files and what is in them
    ViewHeader* m_header;
    QToolButton* m_against;
    QPushButton* m_copy;
    CodeView* m_preview;
    QStringList m_wanted; ///< of the weight that is to be seen
    bool m_canExport = false;
};

} // namespace shardboard
