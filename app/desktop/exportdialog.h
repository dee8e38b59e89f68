// SPDX-License-Identifier: Apache-2.0
// What an export would write, before it does: each file with what changes against the folder's, and what stands in the way, each
// with a way to it.
#pragma once

#include "model/formats/exporter.h"

#include <QDialog>
#include <QString>

#include <vector>

class QLabel;
class QLineEdit;
class QListWidget;
class QPlainTextEdit;
class QPushButton;

namespace shardboard {

class Document;

class ExportDialog : public QDialog {
    Q_OBJECT
public:
    ExportDialog(const Document& document, const QString& target, const QString& folder, QWidget* parent = nullptr);

    QString folder() const;
    /// The weight that the user asked to see instead of exporting; empty: none.
    QString wantedWeight() const { return m_wantedWeight; }

private:
    void build();
    void showProblems();
    void compare();
    void showFile(int row);
    void browse();

    const Document& m_document;
    std::vector<ExportedFile> m_files; ///< empty where something stands in the way
    std::vector<Error> m_refusals;
    QString m_wantedWeight;
    QLineEdit* m_folder;
    QLabel* m_note;
    QLabel* m_problemTitle;
    QListWidget* m_problems;
    QListWidget* m_list;
    QPlainTextEdit* m_preview;
    QPushButton* m_export = nullptr;
};

} // namespace shardboard
