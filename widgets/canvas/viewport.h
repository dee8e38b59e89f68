// SPDX-License-Identifier: Apache-2.0
// Zoom and pan: the mapping between world coordinates (units of the drawing) and the pixels of a widget. Pure values.
#pragma once

#include <QPointF>
#include <QRectF>
#include <QSizeF>

namespace shardboard {

class Viewport {
public:
    /// `world` is everything there is to see; `maxScale` pixels per world unit are never exceeded when fitting.
    void setWorld(const QRectF& world, double maxScale);
    void setView(const QRectF& view);
    /// Where a world that is lower than the view lies in it: 0 at the top, 0.5 (as at first) in the middle.
    void setVerticalPlace(double place);
    /// Shows the whole world, centred; also what a new viewport shows.
    void fit();
    bool isFitted() const { return m_fitted; }

    double scale() const { return m_scale; } ///< pixels per world unit
    QPointF toScreen(const QPointF& world) const;
    QPointF toWorld(const QPointF& screen) const;
    QRectF toScreen(const QRectF& world) const;
    /// The part of the world that the view shows.
    QRectF visibleWorld() const;

    /// Zooms so that the world point under `screen` stays there, between the fitted scale and 64 times it (or 96 pixels
    /// per unit, if that is more).
    void zoomAt(const QPointF& screen, double factor);
    /// Moves the picture by pixels; the world cannot leave the view.
    void pan(const QPointF& pixels);

private:
    double fittedScale() const;
    void clamp();

    QRectF m_world { 0, 0, 1, 1 };
    QRectF m_view { 0, 0, 1, 1 };
    double m_maxScale = 1;
    double m_place = 0.5;
    double m_scale = 1;
    QPointF m_origin; ///< screen position of world (0, 0)
    bool m_fitted = true;
};

} // namespace shardboard
