// SPDX-License-Identifier: Apache-2.0
// The export form as a question: it is accepted when there is something to write and a folder for it.
#pragma once

#include "app/desktop/export/exportform.h"

#include <QDialog>

class QPushButton;

namespace shardboard {

class ExportDialog : public QDialog {
    Q_OBJECT
public:
    ExportDialog(const Document& document, const QString& target, const QString& folder, QWidget* parent = nullptr);

    QString folder() const { return m_form->folder(); }
    /// What is to be written, made once; null until it is made and where something stands in the way.
    std::shared_ptr<const std::vector<ExportedFile>> files() const { return m_form->files(); }
    /// The files are being made, or compared with the folder's.
    bool isBusy() const { return m_form->isBusy(); }
    /// The weight that the user asked to see instead of exporting; empty: none.
    QString wantedWeight() const { return m_wantedWeight; }

    /// Is not accepted before there is something to write and a folder for it.
    void done(int result) override;

private:
    ExportForm* m_form;
    QPushButton* m_export;
    QString m_wantedWeight;
};

} // namespace shardboard
