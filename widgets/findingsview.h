// SPDX-License-Identifier: Apache-2.0
// What is wrong or worth knowing, worst first; activating one selects the object that it is about.
#pragma once

#include "widgets/documentview.h"

class QTreeWidget;
class QTreeWidgetItem;

namespace shardboard {

class FindingsView : public DocumentView {
    Q_OBJECT
public:
    explicit FindingsView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void refresh() override;

private:
    void follow(QTreeWidgetItem* item);

    QTreeWidget* m_list;
    QLabel* m_empty;
};

/// Selects what a finding is about: a weight by name, a mesh axis, or the collective of an operation. False when it is
/// none of them.
bool selectWhere(const Document& document, const std::string& where);

} // namespace shardboard
