// SPDX-License-Identifier: Apache-2.0
// The design's strategies in the order in which they count: of those that name a weight, the first here decides.
#pragma once

#include "widgets/document/documentview.h"

class QTreeWidget;

namespace shardboard {

class WrappedLabel;

class StrategyList : public DocumentView {
    Q_OBJECT
public:
    explicit StrategyList(Document* document, QWidget* parent = nullptr);

Q_SIGNALS:
    void editRequested(); ///< of the weights that were just selected

protected:
    void refresh() override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    bool select(int entry);
    void remove(int entry);

    WrappedLabel* m_title;
    QTreeWidget* m_list;
};

} // namespace shardboard
