// SPDX-License-Identifier: Apache-2.0
// A panel behind another tab sleeps, but may still have the keyboard's focus: its rows are then those of an earlier design.
// Whatever input reaches a view wakes it first.
#pragma once

#include <QObject>

namespace shardboard {

class ViewWaker : public QObject {
    Q_OBJECT
public:
    /// Watches all events of the program for as long as it lives.
    explicit ViewWaker(QObject* parent = nullptr);
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace shardboard
