// SPDX-License-Identifier: Apache-2.0
// The design that is open against another one: what differs, and what each of them costs. The other one is the design as it
// was opened, a state that was kept, or a file.
#pragma once

#include "model/design/compare.h"
#include "widgets/document/documentview.h"

#include <memory>
#include <vector>

class QLabel;
class QScrollArea;
class QPushButton;
class QSplitter;
class QTreeWidget;

namespace shardboard {

class ChoiceBox;

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

    const DesignComparison& comparison() const { return m_comparison; }
    int otherCount() const { return static_cast<int>(m_others.size()); }
    void chooseOther(int index);
    void chooseShown(int index);

Q_SIGNALS:
    void refused(const QString& message);
    void othersChanged(); ///< those to compare with, or their names
    void chosenChanged(); ///< which two are compared
    void fileWanted(); ///< a person wants to name a file

protected:
    void refresh() override;
    void selectionChanged() override { }
    void resizeEvent(QResizeEvent* event) override;

private:
    void buildLayout();
    void startAnew();
    struct Side {
        const Design& design;
        const Evaluation& evaluation;
        QString name;
    };
    Side side(int index) const;
    int toTake() const;
    void forgetOther();
    void showOthers();
    void showComparison();
    void showCosts(const QString& before, const QString& after);
    void showChanges(const QString& before, const QString& after);
    void fitColumns();

    std::vector<std::vector<int>> m_changed; ///< weights that each row of m_changes is about
    std::vector<Other> m_others;
    bool m_narrow = false;
    int m_chosen = 0; ///< A
    int m_shown = -1; ///< B
    int m_kept = 0; ///< how many were kept; they are numbered
    DesignComparison m_comparison;
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
};

} // namespace shardboard
