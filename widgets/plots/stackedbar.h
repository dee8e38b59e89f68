// SPDX-License-Identifier: Apache-2.0
// One horizontal bar of stacked values with a mark for the limit. Values are plain numbers; the view names the unit.
#pragma once

#include <QColor>
#include <QString>
#include <QWidget>

#include <memory>
#include <vector>

namespace shardboard {

struct StackPart {
    QString name;
    double value = 0;
    QColor color;
};

struct StackLook {
    QColor background;
    QColor text;
    QColor line;
    QColor over; ///< of the limit when it is exceeded
};

class StackedBar : public QWidget {
    Q_OBJECT
public:
    explicit StackedBar(QWidget* parent = nullptr);
    ~StackedBar() override;
    /// `limit` 0: none. `unit` is shown at the value axis.
    void setParts(const std::vector<StackPart>& parts, double limit, const QString& unit, const QString& limitText,
                  const StackLook& look);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

private:
    struct Plot;
    std::unique_ptr<Plot> m_plot;
};

} // namespace shardboard
