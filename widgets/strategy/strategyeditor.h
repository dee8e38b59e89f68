// SPDX-License-Identifier: Apache-2.0
// Writes the strategy of the selected weights: the kind and its parameters, with what it would lead to beside it. The
// design changes only with Apply, and then in one undo step.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/edits/strategydraft.h"

#include <memory>

class QLabel;
class QPushButton;
class QScrollArea;
class QSpinBox;

namespace shardboard {

class ChoiceBox;
class LatestJob;
class StrategyForm;
class StrategyPreview;
class ViewHeader;

class StrategyEditor : public DocumentView {
    Q_OBJECT
public:
    explicit StrategyEditor(Document* document, QWidget* parent = nullptr);

    QSize sizeHint() const override;
    const StrategyDraft& draft() const { return m_draft; }

public Q_SLOTS:
    /// Goes on with the draft as another kind; parameters that it lacks come from the weight and the model.
    void chooseKind(StrategyKind kind);
    /// Puts the cursor where the selected weights' strategy is written: into the kind, or into a spec.
    void beginEdit(bool asSpec);
    /// Makes the edit; nothing changes when it is refused.
    void apply();
    /// Back to what the design says.
    void revert();

protected:
    void refresh() override;
    void selectionChanged() override;
    void themeChanged() override;
    void showEvent(QShowEvent* event) override;

private:
    void buildLayout();
    void load();
    void showHeader();
    void showScopes();
    void changeDraft(const StrategyDraft& draft);
    void evaluateDraft();
    void showAnswer(const Result<std::shared_ptr<const Evaluation>>& answer);
    DraftScope scope() const;
    std::vector<int> weights() const;
    bool canEdit() const;

    ViewHeader* m_header;
    QLabel* m_empty;
    QScrollArea* m_scroll;
    StrategyForm* m_form;
    StrategyPreview* m_preview;
    QWidget* m_foot;
    QLabel* m_scopeName;
    ChoiceBox* m_scope;
    QSpinBox* m_layer;
    QPushButton* m_apply;
    QPushButton* m_revert;
    LatestJob* m_evaluating; ///< of the design as it would be
    std::vector<int> m_weights; ///< those that the draft is for
    StrategyDraft m_base; ///< what the design says
    StrategyDraft m_draft;
    bool m_current = false; ///< the preview is of the draft
};

} // namespace shardboard
