// SPDX-License-Identifier: Apache-2.0
#include "widgets/canvas/viewport.h"

#include <algorithm>

namespace shardboard {

void Viewport::setWorld(const QRectF& world, double maxScale)
{
    m_world = world;
    m_maxScale = maxScale;
    fit();
}

void Viewport::setView(const QRectF& view)
{
    m_view = view;
    if (m_fitted)
        fit();
    else
        clamp();
}

void Viewport::setVerticalPlace(double place)
{
    m_place = place;
    clamp();
}

double Viewport::fittedScale() const
{
    const double width = std::max(m_world.width(), 1e-9);
    const double height = std::max(m_world.height(), 1e-9);
    return std::max(1e-9, std::min({ m_view.width() / width, m_view.height() / height, m_maxScale }));
}

void Viewport::fit()
{
    m_scale = fittedScale();
    m_origin = -m_world.topLeft() * m_scale; // clamp() places it
    clamp();
    m_fitted = true;
}

QPointF Viewport::toScreen(const QPointF& world) const { return m_origin + world * m_scale; }

QPointF Viewport::toWorld(const QPointF& screen) const { return (screen - m_origin) / m_scale; }

QRectF Viewport::toScreen(const QRectF& world) const
{
    return QRectF(toScreen(world.topLeft()), world.size() * m_scale);
}

QRectF Viewport::visibleWorld() const
{
    return QRectF(toWorld(m_view.topLeft()), m_view.size() / m_scale).intersected(m_world);
}

void Viewport::zoomAt(const QPointF& screen, double factor)
{
    const QPointF fixed = toWorld(screen);
    const double least = fittedScale();
    const double wanted = std::clamp(m_scale * factor, least, std::max(least * 64, 96.0));
    if (wanted <= least) {
        fit();
        return;
    }
    m_scale = wanted;
    m_origin = screen - fixed * m_scale;
    m_fitted = false;
    clamp();
}

void Viewport::pan(const QPointF& pixels)
{
    if (m_fitted)
        return;
    m_origin += pixels;
    clamp();
}

void Viewport::clamp()
{
    const QRectF shown = toScreen(m_world);
    const auto axis = [](double lo, double hi, double viewLo, double viewHi, double place) {
        if (hi - lo <= viewHi - viewLo)
            return viewLo + (viewHi - viewLo - (hi - lo)) * place - lo;
        if (lo > viewLo)
            return viewLo - lo;
        return hi < viewHi ? viewHi - hi : 0.0;
    };
    m_origin += QPointF(axis(shown.left(), shown.right(), m_view.left(), m_view.right(), 0.5),
                        axis(shown.top(), shown.bottom(), m_view.top(), m_view.bottom(), m_place));
}

} // namespace shardboard
