// SPDX-License-Identifier: Apache-2.0
// Asks where a view's picture goes, in which form and how much of the view: file, SVG, PDF or PNG at a scale, all or what is in
// sight. The file's ending follows the form and the form a typed ending.
#pragma once

#include "app/desktop/pictures/pictures.h"

#include <QDialog>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace shardboard {

class PictureDialog : public QDialog {
    Q_OBJECT
public:
    /// What is proposed, and what was chosen in the end.
    struct Choice {
        QString path; ///< with the ending of its form
        PictureOptions options;
    };
    /// `hasParts`: whether there may be more than what is in sight.
    PictureDialog(const QString& view, const Choice& proposal, bool hasParts, QWidget* parent = nullptr);

    Choice choice() const;

private:
    void formChanged();
    void pathChanged();
    void browse();

    QLineEdit* m_path;
    QComboBox* m_form;
    QComboBox* m_part;
    QLabel* m_note;
    QPushButton* m_save;
};

} // namespace shardboard
