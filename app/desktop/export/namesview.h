// SPDX-License-Identifier: Apache-2.0
// What a framework calls the weights of the design, and what becomes of them there: a row for each of its parameters.
#pragma once

#include "widgets/document/documentview.h"

class QLabel;
class QTreeWidget;

namespace shardboard {

class ChoiceBox;

class NamesView : public DocumentView {
    Q_OBJECT
public:
    explicit NamesView(Document* document, QWidget* parent = nullptr);

protected:
    void refresh() override;
    void selectionChanged() override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void fitColumns();

    ChoiceBox* m_scheme;
    QLabel* m_total;
    QTreeWidget* m_list;
    QLabel* m_empty;
    bool m_following = false;
};

} // namespace shardboard
