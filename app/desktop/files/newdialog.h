// SPDX-License-Identifier: Apache-2.0
// Asks for what a new design needs: model or module, mesh, hardware, workload, layout. Says while it is filled in how large the
// model is, whether it fits and how long a step takes. Checks everything before it closes; what is wrong is said in the dialog.
#pragma once

#include "app/desktop/files/sample.h"
#include "widgets/workload/effect.h"

#include <QDialog>

#include <optional>

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QSpinBox;
class QTimer;

namespace shardboard {

class LatestJob;

/// What a design would be.
struct NewPreview {
    std::int64_t parameters = 0;
    std::int64_t devices = 0;
    DesignCost cost {};
    QString refusal {}; ///< why it cannot be made; then the others say nothing
};
/// Reads the headers of a checkpoint, so it takes its time; knows no widget.
NewPreview previewOf(const NewDesign& wanted);
/// `8.03 billion parameters · 8 devices`, memory of a device and whether it fits, the time of a step; a line each.
QString previewText(const NewPreview& preview);

class NewDialog : public QDialog {
    Q_OBJECT
public:
    explicit NewDialog(QWidget* parent = nullptr);

    void setModel(const QString& nameOrPath);
    /// Hardware from a file, besides the presets. It is read when the design is made; what is wrong with it is said then.
    void setHardwareFile(const QString& path);
    /// Asks for the dims of a ColumnParallelLinear instead of a model.
    void setModule();
    /// The design, after the dialog was accepted.
    const Design& design() const { return m_design; }
    /// What the preset could not do as named, a sentence each.
    const std::vector<std::string>& notes() const { return m_notes; }

    void accept() override;

private:
    NewDesign wanted() const;
    bool isModule() const;
    void showModule();
    void showWorkload();
    void showPreset();
    void preview();
    void browse(bool folder);
    void browseHardware();

    QComboBox* m_model = nullptr;
    QFormLayout* m_form = nullptr;
    QSpinBox* m_inDim = nullptr;
    QSpinBox* m_outDim = nullptr;
    QCheckBox* m_bias = nullptr;
    QCheckBox* m_tied = nullptr;
    QLineEdit* m_mesh = nullptr;
    QComboBox* m_hardware = nullptr;
    QComboBox* m_workload = nullptr;
    QSpinBox* m_batch = nullptr;
    QSpinBox* m_sequence = nullptr;
    QComboBox* m_logits = nullptr;
    QSpinBox* m_microBatches = nullptr;
    QComboBox* m_recompute = nullptr;
    QComboBox* m_attention = nullptr;
    QComboBox* m_overlap = nullptr;
    QComboBox* m_software = nullptr;
    QComboBox* m_dtype = nullptr;
    QComboBox* m_preset = nullptr;
    QLabel* m_presetWhat = nullptr;
    QLabel* m_preview = nullptr; ///< parameters, devices, memory, step
    QLabel* m_error = nullptr;
    QTimer* m_settled = nullptr; ///< a moment after the last edit
    LatestJob* m_previewing = nullptr;
    Design m_design;
    std::vector<std::string> m_notes;
};

} // namespace shardboard
