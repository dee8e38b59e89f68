// SPDX-License-Identifier: Apache-2.0
// Draws devices of a mesh as cards: the shard's colour with the device's id in it, and beneath how full the device is. Many cards
// differ in their id alone: where they are drawn on pixels, what they share is drawn once for one pass over the devices.
#pragma once

#include "widgets/devicecolors.h"

#include <QFont>
#include <QPixmap>
#include <QRectF>

#include <cstdint>
#include <map>
#include <tuple>

class QPainter;
class QWidget;

namespace shardboard {

class DeviceCards {
public:
    /// For one pass with a painter. `manyOfThem`: whether so many follow that cards are moved onto whole pixels, so that they can be
    /// shared; few are drawn where they are.
    DeviceCards(const QWidget* widget, const QPainter& painter, bool manyOfThem);

    /// `fill` is the share of the device's memory at its peak of `peak` bytes.
    void paint(QPainter& painter, const QRectF& card, const QString& id, const PartColor& color, double fill, std::int64_t peak);

private:
    using Look = std::tuple<unsigned, unsigned, unsigned, int, double, std::int64_t>; ///< fill, label and hatch, and the memory
    QRectF box(const QRectF& card) const;
    void paintShared(QPainter& painter, const QRectF& card, const PartColor& color, double fill, std::int64_t peak) const;

    const QWidget* m_widget;
    QFont m_small; ///< of the memory
    double m_textHeight;
    double m_ratio; ///< device pixels
    bool m_share;
    QSizeF m_size; ///< of the cards in `m_looks`
    std::map<Look, QPixmap> m_looks;
};

} // namespace shardboard
