// SPDX-License-Identifier: Apache-2.0
// A design's file that is not what the design was read from: another program or window has replaced it, or removed it.
// What is to become of the two is asked with the difference in sight, and the usual answer loses neither.
#pragma once

#include "model/session/fileidentity.h"

#include <QDialog>

#include <string>
#include <vector>

class QPlainTextEdit;

namespace shardboard {

enum class FileState { Same, Changed, Removed };

/// What has become of the file since it was `known`.
FileState stateOf(const QString& path, const FileIdentity& known);

class FileConflict : public QDialog {
    Q_OBJECT
public:
    enum class Answer { Cancel, SaveAs, Overwrite, Reload, Restore };

    /// Before a design with the text `mine` is saved over a file that is not what it was read from.
    static Answer askBeforeSave(const QString& path, const std::string& mine, QWidget* window);
    /// Before changes are restored that were made to what the file no longer is. Saves nothing; saving asks again.
    static Answer askBeforeRestore(const QString& path, const std::string& mine, QWidget* window);

private:
    struct Choice {
        Answer answer;
        QString text;
        const char* name;
    };

    FileConflict(const QString& what, const QString& more, const QString& path, const std::string& mine,
                 const std::vector<Choice>& choices, QWidget* window);
    Answer ask();
    void showDifference(const QString& path, const std::string& mine);

    Answer m_answer = Answer::Cancel;
    QPlainTextEdit* m_difference;
};

} // namespace shardboard
