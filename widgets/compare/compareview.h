// SPDX-License-Identifier: Apache-2.0
// The design that is open against another one, or two others: what each of them costs, and what differs, step by step, with what
// each step is worth. Steps can be accepted, all or some, as one edit. The others are the design as it was opened, states that were
// kept, files, and what a search found.
#pragma once

#include "model/design/designsteps.h"
#include "widgets/document/documentview.h"

#include <memory>
#include <vector>

class QLabel;
class QScrollArea;
class QPushButton;
class QSplitter;
class QTreeWidget;
class QTreeWidgetItem;

namespace shardboard {

class ChoiceBox;
class LatestJob;

class CompareView : public DocumentView {
    Q_OBJECT
public:
    explicit CompareView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;

    /// Keeps the present state to be compared with, and compares with it.
    void keep();
    /// Compares with the design in a file. Errors: it cannot be read or evaluated.
    Status open(const QString& path);
    /// Makes a variant the present design, as one edit that can be undone.
    void take(int index);
    /// The one of the two that is not the present design.
    void takeOther();

    /// A design that is compared with.
    struct Other {
        QString name;
        Design design;
        std::shared_ptr<const Evaluation> evaluation;
        bool found = false; ///< by a search, and not named by a person since
    };
    const std::vector<Other>& others() const { return m_others; } ///< the first one is the design as it was opened
    /// A and B, the two that are compared; -1: the design as it is now.
    int chosen() const { return m_chosen; }
    int shown() const { return m_shown; }
    void rename(int index, const QString& name);
    /// Removes it; not the first one.
    void forget(int index);
    /// One that a search found, in place of what an earlier search found under that name. What is compared stays.
    void addVariant(const QString& name, const Design& design, std::shared_ptr<const Evaluation> evaluation);

    /// One of those that are compared, by its index.
    struct Side {
        const Design& design;
        const Evaluation& evaluation;
        QString name;
    };
    Side side(int index) const;
    /// The variant under the mouse, in any view; kNoVariant for none.
    static constexpr int kNoVariant = -2;
    int hovered() const { return m_hovered; }
    void setHovered(int index);

    const DesignComparison& comparison() const { return m_comparison; }
    /// What A lacks to be B, step by step, and which of the steps are accepted.
    const std::vector<DesignStep>& steps() const { return m_steps; }
    const std::vector<bool>& accepted() const { return m_accepted; }
    /// Of each step; fewer than steps while they are still counted.
    const std::vector<StepWorth>& worth() const { return m_worth; }
    int otherCount() const { return static_cast<int>(m_others.size()); }
    void chooseOther(int index);
    void chooseShown(int index);

Q_SIGNALS:
    void refused(const QString& message);
    void othersChanged(); ///< those to compare with, or their names
    void chosenChanged(); ///< which two are compared
    void hoveredChanged(int index);
    void fileWanted(); ///< a person wants to name a file

protected:
    void refresh() override;
    void selectionChanged() override { }
    void resizeEvent(QResizeEvent* event) override;

private:
    void buildLayout();
    void startAnew();
    int toTake() const;
    void forgetOther();
    void showOthers();
    void showComparison();
    void showCosts(const QString& before, const QString& after);
    void showChanges(const QString& before, const QString& after);
    void countWorth();
    void showWorth();
    void acceptSteps();
    void checkStep(QTreeWidgetItem* item, int column);
    void fitColumns();
    void fitCosts();
    void fitChanges();

    std::vector<std::vector<int>> m_changed; ///< weights that each row of m_changes is about
    std::vector<Other> m_others;
    int m_chosen = 0; ///< A
    int m_shown = -1; ///< B
    int m_hovered = kNoVariant;
    int m_kept = 0; ///< how many were kept; they are numbered
    DesignComparison m_comparison;
    std::vector<DesignStep> m_steps;
    std::vector<bool> m_accepted;
    std::vector<StepWorth> m_worth;
    LatestJob* m_counting; ///< of what the steps are worth
    bool m_filling = false;
    ChoiceBox* m_choice;
    QPushButton* m_keep;
    QPushButton* m_open;
    QPushButton* m_take;
    QPushButton* m_forget;
    QLabel* m_verdict;
    QLabel* m_empty;
    QLabel* m_same;
    QScrollArea* m_sameArea = nullptr;
    QSplitter* m_split;
    QTreeWidget* m_costs;
    QTreeWidget* m_changes;
    QLabel* m_acceptedText;
    QPushButton* m_accept;
};

} // namespace shardboard
