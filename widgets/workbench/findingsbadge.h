// SPDX-License-Identifier: Apache-2.0
// How much is wrong with the design: a sign and a number, as bad as the worst finding. A click asks for the list.
#pragma once

#include "widgets/document/documentview.h"

class QPushButton;

namespace shardboard {

class FindingsBadge : public DocumentView {
    Q_OBJECT
public:
    explicit FindingsBadge(Document* document, QWidget* parent = nullptr);
    QPushButton* button() const { return m_button; }

Q_SIGNALS:
    void clicked();

protected:
    void refresh() override;

private:
    QPushButton* m_button;
};

} // namespace shardboard
