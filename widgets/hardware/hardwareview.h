// SPDX-License-Identifier: Apache-2.0
// The hardware of the design: a preset with its source, every value to be edited with its unit, levels that are added and
// removed with their fabric, torus and link, and files of hardware. Each accepted value is one edit that can be undone; what
// cannot be is told beside its field, and changes nothing.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/hardware/hardwarefields.h"

#include <vector>

class QCheckBox;
class QGridLayout;
class QHBoxLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QVBoxLayout;

namespace shardboard {

class ChoiceBox;
class WrappedLabel;

class HardwareView : public DocumentView {
    Q_OBJECT
public:
    explicit HardwareView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;

    /// Hardware from a file, as an edit. Errors: it cannot be read, or a value is refused.
    Status open(const QString& path);
    Status save(const QString& path);
    /// The field of a key where it is one for numbers or words, or null.
    QLineEdit* edit(const QString& key) const;
    /// The same of a choice.
    ChoiceBox* choice(const QString& key) const;
    /// What is told beside a field; empty when it is accepted.
    QString errorOf(const QString& key) const;

Q_SIGNALS:
    void refused(const QString& message);
    void openWanted();
    void saveWanted();

protected:
    void resizeEvent(QResizeEvent* event) override;
    void refresh() override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// A field with what it is edited by: one of the three.
    struct Row {
        HardwareField field;
        QLineEdit* edit = nullptr;
        ChoiceBox* choice = nullptr;
        std::vector<QCheckBox*> flags {};
        QLabel* error = nullptr;

        QString text() const;
        void setText(const QString& text) const;
    };
    void buildLayout();
    void makeRows(const Hardware& hardware);
    void addSection(const HardwareSection& section, int level, bool removable);
    void addRow(QGridLayout* grid, const HardwareSection& section, const HardwareField& field);
    void addEdit(QGridLayout* grid, int at, Row& row);
    void addChoice(QGridLayout* grid, int at, Row& row);
    void addFlags(QGridLayout* grid, int at, Row& row);
    void addAdder();
    QLabel* newError(QWidget* parent);
    void showSource();
    void choosePreset();
    void backToPreset();
    void addLevel();
    void removeLevel(std::size_t level);
    Status editHardware(Hardware edited, const QString& text);
    bool check(const Row& row, Hardware& edited);
    void commit(std::size_t index);
    void step(std::size_t index, double factor);
    bool keyPressed(const QObject* watched, int key);
    void showError(const Row& row, const QString& text);
    void showLevelError(const Error& error, const Hardware& hardware);
    const Row* rowOf(const QString& key) const;

    std::vector<Row> m_rows;
    QString m_shape; ///< of what the rows were made: levels, their fabrics and dims
    QLabel* m_levelError = nullptr; ///< why a level cannot be added or removed
    ChoiceBox* m_preset;
    QPushButton* m_open;
    QPushButton* m_save;
    QPushButton* m_back;
    WrappedLabel* m_source;
    QLabel* m_empty;
    QWidget* m_body;
    QVBoxLayout* m_column;
    std::vector<QLabel*> m_quiet; ///< details and sources
};

} // namespace shardboard
