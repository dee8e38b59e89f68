// SPDX-License-Identifier: Apache-2.0
// What is to be searched: the objective, limits, what may change, and for how long. It keeps nothing in the design. When something
// is edited while a search runs, it asks once whether to begin again.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/explore/explorerequest.h"

#include <vector>

class QCheckBox;
class QGridLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace shardboard {

class ChoiceBox;
class ExploreSearch;
class NumberEdit;
class WrappedLabel;

class SearchForm : public DocumentView {
    Q_OBJECT
public:
    SearchForm(Document* document, ExploreSearch* search, QWidget* parent = nullptr);
    QSize sizeHint() const override;

    ExploreRequest request() const;
    /// Why it cannot be searched so; empty: it can.
    QString whyNot() const;
    /// Bytes of a device, as dragged in a plot.
    void setMemory(double bytes);
    /// The design was edited by taking what the search found: no reason to ask.
    void ignoreEdit(bool ignore) { m_ignoring = ignore; }
    /// Whether it asks.
    bool isAsking() const;

Q_SIGNALS:
    void edited(); ///< another request
    void restartWanted();

protected:
    void refresh() override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Part {
        QCheckBox* box;
        bool SearchedParts::*part;
    };
    void build();
    void layOutParts(int columns);
    void fitParts();
    void addRow(QGridLayout* form, const QString& label, QWidget* field, int row);
    void fieldEdited();
    void followSearch();
    void followDesign();
    void showWhatHolds();
    void ask();
    QString whyNotMemory() const;
    QString whyNotSeconds() const;

    ExploreSearch* m_search;
    ChoiceBox* m_objective = nullptr;
    QLineEdit* m_memory = nullptr;
    QLineEdit* m_step = nullptr;
    NumberEdit* m_devices = nullptr;
    ChoiceBox* m_time = nullptr;
    std::vector<Part> m_parts;
    QGridLayout* m_partsGrid = nullptr;
    int m_partsColumns = 1;
    QLabel* m_partsTitle = nullptr;
    WrappedLabel* m_note = nullptr;
    QWidget* m_question = nullptr;
    WrappedLabel* m_questionText = nullptr;
    QPushButton* m_again = nullptr;
    QPushButton* m_goOn = nullptr;
    QString m_hardware; ///< whose memory the field has
    std::int64_t m_meshDevices = 0; ///< that the field has
    bool m_asked = false; ///< about the search that runs
    bool m_ignoring = false;
};

} // namespace shardboard
