// SPDX-License-Identifier: Apache-2.0
// Draws devices of a mesh as cards: the shard's colour with the device's id in it, and beneath how full the device is. Many cards
// differ in their id alone: where they are drawn on pixels, what they share is drawn once, as long as its size and
// the theme stay.
#pragma once

#include "widgets/look/devicecolors.h"

#include <QFont>
#include <QPalette>
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
    /// Before a pass over the devices. `manyOfThem`: whether so many follow that cards are moved onto whole pixels, so that they
    /// can be shared; few are drawn where they are.
    void begin(const QWidget* widget, const QPainter& painter, bool manyOfThem);

    /// `fill` is the share of the device's memory at its peak of `peak` bytes. `part`, below the id, is what the colour stands for;
    /// empty: nothing is said.
    void paint(QPainter& painter, const QRectF& card, const QString& id, const PartColor& color, double fill, std::int64_t peak,
               const QString& part);

private:
    using Look = std::tuple<unsigned, unsigned, unsigned, int, double, std::int64_t>; ///< fill, label and hatch, and the memory
    QRectF box(const QRectF& card) const;
    void paintShared(QPainter& painter, const QRectF& card, const PartColor& color, double fill, std::int64_t peak) const;

    const QWidget* m_widget = nullptr;
    QPalette m_palette;
    QFont m_font; ///< of the widget
    QFont m_small; ///< of the memory
    double m_textHeight = 0;
    double m_ratio = 1; ///< device pixels
    bool m_share = false;
    QSizeF m_size; ///< of the cards in `m_looks`
    std::map<Look, QPixmap> m_looks; ///< from pass to pass, so that a view that is moved draws none anew
};

} // namespace shardboard
