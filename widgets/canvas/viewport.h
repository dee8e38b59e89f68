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
    /// Another world of the same scale: what is seen stays where it is as far as the world reaches.
    void replaceWorld(const QRectF& world);
    /// No zoom goes beyond so many pixels per unit; 0, as at first: 64 times the fitted scale, or 96 if that is more.
    void setLargestScale(double scale) { m_largest = scale; }
    double largestScale() const;
    void setView(const QRectF& view);
    /// Where a world that is lower than the view lies in it: 0 at the top, 0.5 (as at first) in the middle.
    void setVerticalPlace(double place);
    /// Shows the whole world, centred; also what a new viewport shows.
    void fit();
    bool isFitted() const { return m_fitted; }

    const QRectF& world() const { return m_world; }
    const QRectF& view() const { return m_view; }
    double scale() const { return m_scale; } ///< pixels per world unit
    QPointF toScreen(const QPointF& world) const;
    QPointF toWorld(const QPointF& screen) const;
    QRectF toScreen(const QRectF& world) const;
    /// The part of the world that the view shows.
    QRectF visibleWorld() const;

    /// Zooms so that the world point under `screen` stays there, between the fitted scale and the largest one. At most half of
    /// the view is left empty by it.
    void zoomAt(const QPointF& screen, double factor);
    /// Moves the picture by pixels; the world cannot leave the view further than zooming has brought it.
    void pan(const QPointF& pixels);
    /// Shows a part of the world in the middle, as large as fits, but at most `maxScale` pixels per unit.
    void show(const QRectF& part, double maxScale);
    /// Brings a world point into the middle, as far as the world reaches.
    void centreOn(const QPointF& world);
    /// Moves as little as brings a part of the world into sight, with so many pixels around it.
    void reveal(const QRectF& part, double margin);

private:
    double fittedScale() const;
    QPointF missing() const;
    void clamp();

    QRectF m_world { 0, 0, 1, 1 };
    QRectF m_view { 0, 0, 1, 1 };
    double m_maxScale = 1;
    double m_largest = 0;
    double m_place = 0.5;
    double m_scale = 1;
    QPointF m_origin; ///< screen position of world (0, 0)
    bool m_fitted = true;
};

} // namespace shardboard
