// SPDX-License-Identifier: Apache-2.0
// The cost model fitted to this machine, step by step: what will be measured, the measurement, how near the laws come to it, and
// what becomes of it: a hardware file, and the open design priced anew.
#pragma once

#include "model/io/measured/machinefit.h"
#include "model/io/wire/calibration.h"
#include "widgets/document/documentview.h"

#include <optional>

class QBoxLayout;
class QCheckBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QTreeWidget;

namespace shardboard {

class EngineSession;
class WrappedLabel;
class XyPlot;

class CalibrationPage : public DocumentView {
    Q_OBJECT
public:
    CalibrationPage(Document* document, EngineSession* engine, QWidget* parent = nullptr);
    QSize sizeHint() const override;

    void measure();
    /// What was fitted; nothing before.
    const std::optional<MachineFit>& fit() const { return m_fit; }
    /// The file that `shardctl calibrate` writes.
    std::string hardwareText() const;
    /// Gives the design this hardware, as one step that can be undone.
    void useForDesign();
    /// Of any calibration, measured here or not. Refused where no law can be fitted to it.
    void setCalibration(const Calibration& calibration);
    XyPlot* chart() const { return m_chart; }
    QTreeWidget* laws() const { return m_laws; }

Q_SIGNALS:
    void saveWanted(); ///< as a hardware file
    void refused(const QString& message);

protected:
    void refresh() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void build();
    void showState();
    void showFit();

    EngineSession* m_engine;
    std::optional<Calibration> m_calibration;
    std::optional<MachineFit> m_fit;
    QString m_priced; ///< what became of the step of the design
    WrappedLabel* m_what;
    QPushButton* m_measure;
    QCheckBox* m_quick;
    QLabel* m_state;
    QProgressBar* m_progress;
    WrappedLabel* m_found;
    QTreeWidget* m_laws;
    XyPlot* m_chart;
    QBoxLayout* m_both = nullptr; ///< table and chart: one beside the other, or below it
    QPushButton* m_use;
    QPushButton* m_save;
    WrappedLabel* m_price;
};

} // namespace shardboard
