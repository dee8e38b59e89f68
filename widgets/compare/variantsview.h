// SPDX-License-Identifier: Apache-2.0
// The design and its variants in a table: how long a step takes, what it needs, and in what each differs from the design as it is
// now. Variants last as long as the window has the design open.
#pragma once

#include "widgets/document/documentview.h"

class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace shardboard {

class CompareView;

class VariantsView : public DocumentView {
    Q_OBJECT
public:
    /// The variants are those that `comparison` compares with.
    VariantsView(Document* document, CompareView* comparison, QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void refresh() override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void addRow(int variant, const QString& name, const Design& design, const Evaluation& evaluation);
    void showMarks();
    void showHovered();
    void rename(QTreeWidgetItem* item);
    bool isNaming() const;
    void catchUp();
    void fitColumns();

    CompareView* m_comparison;
    QLabel* m_count;
    QPushButton* m_keep;
    QTreeWidget* m_list;
    QWidget* m_empty;
    QLabel* m_emptyText;
    QPushButton* m_keepFirst;
    bool m_filling = false;
    bool m_missed = false; ///< other variants, or other names
    Qt::KeyboardModifiers m_modifiers; ///< of the last click
};

} // namespace shardboard
