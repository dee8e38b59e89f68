// SPDX-License-Identifier: Apache-2.0
// Explains the selected collective, operation or weight: the causes from their root on, and every row that the picker could
// have taken, with its price, what refused it, what it would do to the step, and a button that pins it.
#pragma once

#include "model/design/explain/explain.h"
#include "widgets/document/documentview.h"

#include <functional>
#include <optional>

class QLabel;
class QScrollArea;
class QSplitter;
class QTableView;
class QTimer;

namespace shardboard {

class ChoiceBox;
class ElidedLabel;
class InspectorPage;
class LatestJob;
class RowsModel;

class ExplainView : public DocumentView {
    Q_OBJECT
public:
    explicit ExplainView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    /// Explains now instead of when the event loop is idle, with what the rows would do if they were pinned (pictures and tests).
    void buildNow() { build(true); }
    const RowsModel& rows() const { return *m_rows; }

Q_SIGNALS:
    void pinNamed(int pin); ///< a cause that is a pin was clicked: index into Design::pins

protected:
    void refresh() override;
    void selectionChanged() override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void later();
    void build(bool wait);
    void askForEffects(const ExplainTarget& target, int effects);
    void fillOperations();
    void showCauses(const Explanation& explanation);
    void showRows(Explanation explanation);
    void addButtons();
    void fitColumns();
    void showDetail();
    void choosePicked();
    void follow(const CauseLink& link);
    void apply(const Repair& repair);

    ElidedLabel* m_title;
    ChoiceBox* m_operations;
    QSplitter* m_split;
    QScrollArea* m_causes;
    QWidget* m_ranked; ///< the table and what its row says
    QTableView* m_table;
    RowsModel* m_rows;
    QLabel* m_note;
    QLabel* m_detail; ///< all that the table's current row says
    QTimer* m_timer;
    LatestJob* m_effects; ///< of the rows, which are evaluated elsewhere
    QString m_refusal;
};

/// What the selection asks for: the collective, the operation, or the weight.
std::optional<ExplainTarget> selectedTarget(const Document& document);
/// The causes as cards, which tell `clicked` when one with something behind it is clicked.
void addCauseCards(InspectorPage& page, const Explanation& explanation, const std::function<void(const CauseLink&)>& clicked);
/// Selects the weight or operation that a cause speaks of; false where it speaks of neither.
bool selectCause(const Document& document, const CauseLink& link);

} // namespace shardboard
