// SPDX-License-Identifier: Apache-2.0
// Memory of the fullest device by cause, against what the hardware has.
#pragma once

#include "widgets/documentview.h"

class QGridLayout;

namespace shardboard {

class StackedBar;

class MemoryView : public DocumentView {
    Q_OBJECT
public:
    explicit MemoryView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void refresh() override;

private:
    StackedBar* m_bar;
    QLabel* m_summary;
    QWidget* m_legend;
    QGridLayout* m_rows;
};

} // namespace shardboard
