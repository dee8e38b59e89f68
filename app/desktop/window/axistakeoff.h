// SPDX-License-Identifier: Apache-2.0
// An axis that is dragged from a tensor and dropped anywhere else in the window is taken off: not only beside the tensor.
#pragma once

#include <QObject>

class QWidget;

namespace shardboard {

class AxisTakeOff : public QObject {
    Q_OBJECT
public:
    /// Where no view takes the axis, `window` does.
    explicit AxisTakeOff(QWidget* window);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
};

} // namespace shardboard
