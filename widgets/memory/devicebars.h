// SPDX-License-Identifier: Apache-2.0
// The peak memory of devices as bars, stacked by cause, with the mark of what a device has: one bar for each stage of a pipeline,
// or one for all devices where they are alike. Drawn by hand, so that it is as sharp in a picture as on the screen.
#pragma once

#include "widgets/look/devicecolors.h"

#include <QString>
#include <QWidget>

#include <cstdint>
#include <vector>

namespace shardboard {

/// One cause in a bar.
struct BarPart {
    QString name;
    std::int64_t bytes = 0;
    PartColor color;
};

struct DeviceBar {
    QString name; ///< `all 8 devices`, `stage 2`
    std::vector<BarPart> parts;
    std::int64_t total() const;
};

class DeviceBars : public QWidget {
    Q_OBJECT
public:
    explicit DeviceBars(QWidget* parent = nullptr);

    /// `limit` in bytes, 0: unknown. `current` is marked; -1: none.
    void setBars(const std::vector<DeviceBar>& bars, std::int64_t limit, int current);
    const std::vector<DeviceBar>& bars() const { return m_bars; }
    /// Of the device that is hovered in another view: it has a frame; -1: none.
    void setHovered(int bar);
    int hovered() const { return m_hovered; }
    /// Where a part is drawn; empty for one that has no bytes.
    QRectF partRect(int bar, int part) const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void chosen(int bar); ///< clicked, or Return

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    double nameWidth() const;
    QRectF lane(int bar) const;
    double scale() const; ///< pixels of a byte
    int barAt(const QPointF& point) const;
    QString toolTipAt(const QPoint& point) const;

    std::vector<DeviceBar> m_bars;
    std::int64_t m_limit = 0;
    int m_current = -1;
    int m_hovered = -1;
};

} // namespace shardboard
