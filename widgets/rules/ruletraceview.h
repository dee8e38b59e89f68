// SPDX-License-Identifier: Apache-2.0
// Why the selected weight is cut as it is: per tensor dim which rule decided, which were skipped and by what.
#pragma once

#include "widgets/document/ruletrace.h"

#include <QTreeWidget>

namespace shardboard {

class RuleTraceView : public QTreeWidget {
    Q_OBJECT
public:
    explicit RuleTraceView(QWidget* parent = nullptr);

    void show(const WeightTrace& trace);
    /// One sentence where there is nothing to trace.
    void say(const QString& text);
    QStringList lines() const; ///< what is shown, row by row

Q_SIGNALS:
    void ruleChosen(int rule);

private:
    QTreeWidgetItem* add(const QString& title, const QString& text, int rule);
};

} // namespace shardboard
