// SPDX-License-Identifier: Apache-2.0
// The hardware of the design: a preset with its source, every value to be edited with its unit, and files of hardware. Each
// accepted value is one edit that can be undone; what cannot be is told beside its field, and changes nothing.
#pragma once

#include "widgets/documentview.h"
#include "widgets/hardwarefields.h"

#include <vector>

class QLabel;
class QLineEdit;
class QPushButton;
class QVBoxLayout;

namespace shardboard {

class ChoiceBox;

class HardwareView : public DocumentView {
    Q_OBJECT
public:
    explicit HardwareView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;

    /// Hardware from a file, as an edit. Errors: it cannot be read, or a value is refused.
    Status open(const QString& path);
    Status save(const QString& path);
    /// The field of a key, or null.
    QLineEdit* edit(const QString& key) const;
    /// What is told beside a field; empty when it is accepted.
    QString errorOf(const QString& key) const;

Q_SIGNALS:
    void refused(const QString& message);
    void openWanted();
    void saveWanted();

protected:
    void refresh() override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Row {
        HardwareField field;
        QLineEdit* edit = nullptr;
        QLabel* error = nullptr;
    };
    void buildLayout();
    void makeRows(const Hardware& hardware);
    void addSection(const HardwareSection& section);
    void choosePreset();
    void backToPreset();
    bool check(Row& row, Hardware& edited);
    void commit(std::size_t index);
    void step(std::size_t index, double factor);
    void showError(const Row& row, const QString& text);

    std::vector<Row> m_rows;
    QString m_shape; ///< of what the rows were made: levels and their fabrics
    ChoiceBox* m_preset;
    QPushButton* m_open;
    QPushButton* m_save;
    QPushButton* m_back;
    QLabel* m_source;
    QLabel* m_empty;
    QWidget* m_body;
    QVBoxLayout* m_column;
    std::vector<QLabel*> m_quiet; ///< details and sources
};

} // namespace shardboard
