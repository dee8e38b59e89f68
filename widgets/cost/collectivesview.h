// SPDX-License-Identifier: Apache-2.0
// The list of collectives: sortable, filterable, copied as TSV, linked with the selection.
#pragma once

#include "widgets/document/documentview.h"

#include <QFont>

#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

class QLabel;
class QLineEdit;
class QTableView;

namespace shardboard {

class CollectivesModel;

class ChoiceBox;
class ElidedLabel;
class PhaseFilter;
class PickerButton;

class CollectivesView : public DocumentView {
    Q_OBJECT
public:
    explicit CollectivesView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    /// The selected rows with a header line, tab-separated.

Q_SIGNALS:
    void pickerRefused(const QString& why); ///< a choice of the picker's button cannot be made

protected:
    void refresh() override;
    void selectionChanged() override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void fitColumns();
    void showGroups();
    void widenTensor(int by);
    std::array<qsizetype, 3> digitsOfNumbers() const;
    void narrowNumbers();
    void showPhases();
    void showState();

    CollectivesModel* m_model;
    PhaseFilter* m_filter;
    PickerButton* m_picker;
    QLineEdit* m_filterEdit;
    ChoiceBox* m_phase;
    QTableView* m_table;
    ElidedLabel* m_total;
    QLabel* m_empty;
    bool m_following = false;
    int m_wantedTensor = 0; ///< width in which names of tensors have the room that they may take
    std::map<int, std::pair<int, int>> m_narrowed; ///< columns of numbers: their width before, and since
    std::array<qsizetype, 3> m_digits {}; ///< for which they were narrowed
    std::optional<std::vector<Phase>> m_phases; ///< that can be chosen, and the font that they were measured with
    QFont m_phaseFont;
    QString m_sizedFor; ///< the model, and whether it has phases, that the columns were sized for
};

} // namespace shardboard
