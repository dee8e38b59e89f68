// SPDX-License-Identifier: Apache-2.0
// Asks for what a new design needs: model, mesh, hardware, workload, preset. Checks everything before it closes; what
// is wrong is said in the dialog.
#pragma once

#include "app/desktop/sample.h"

#include <QDialog>

#include <optional>

class QComboBox;
class QLabel;
class QLineEdit;
class QSpinBox;

namespace shardboard {

class NewDialog : public QDialog {
    Q_OBJECT
public:
    explicit NewDialog(QWidget* parent = nullptr);

    void setModel(const QString& nameOrPath);
    /// The design, after the dialog was accepted.
    const Design& design() const { return m_design; }
    /// What the preset could not do as named, a sentence each.
    const std::vector<std::string>& notes() const { return m_notes; }

    void accept() override;

private:
    NewDesign wanted() const;
    void browse(bool folder);

    QComboBox* m_model = nullptr;
    QLineEdit* m_mesh = nullptr;
    QComboBox* m_hardware = nullptr;
    QComboBox* m_workload = nullptr;
    QSpinBox* m_batch = nullptr;
    QSpinBox* m_sequence = nullptr;
    QComboBox* m_dtype = nullptr;
    QComboBox* m_preset = nullptr;
    QLabel* m_error = nullptr;
    Design m_design;
    std::vector<std::string> m_notes;
};

} // namespace shardboard
