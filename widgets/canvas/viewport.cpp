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

void Viewport::replaceWorld(const QRectF& world)
{
    m_world = world;
    if (m_fitted || m_scale <= fittedScale())
        fit();
    else
        clamp();
}

double Viewport::largestScale() const
{
    return m_largest > 0 ? std::max(m_largest, fittedScale()) : std::max(fittedScale() * 64, 96.0);
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

QRectF Viewport::toScreen(const QRectF& world) const { return QRectF(toScreen(world.topLeft()), world.size() * m_scale); }

QRectF Viewport::visibleWorld() const { return QRectF(toWorld(m_view.topLeft()), m_view.size() / m_scale).intersected(m_world); }

void Viewport::zoomAt(const QPointF& screen, double factor)
{
    const QPointF fixed = toWorld(screen);
    const double least = fittedScale();
    const double wanted = std::clamp(m_scale * factor, least, largestScale());
    if (wanted <= least) {
        fit();
        return;
    }
    m_scale = wanted;
    m_origin = screen - fixed * m_scale;
    m_fitted = false;
    // Held at its edges the world would move under the cursor; only its last half must not leave the view.
    const QRectF shown = toScreen(m_world);
    const QPointF middle = m_view.center();
    m_origin -= QPointF(std::max(0.0, shown.left() - middle.x()) + std::min(0.0, shown.right() - middle.x()),
                        std::max(0.0, shown.top() - middle.y()) + std::min(0.0, shown.bottom() - middle.y()));
}

void Viewport::pan(const QPointF& pixels)
{
    if (m_fitted)
        return;
    // Where zooming has left the world beyond its edges it stays until it is moved back, and goes no further.
    const QPointF before = missing();
    m_origin += pixels;
    const QPointF now = missing();
    const auto allowed = [](double then, double is) {
        if (then > 0 && is > 0)
            return std::max(0.0, is - then);
        return then < 0 && is < 0 ? std::min(0.0, is - then) : is;
    };
    m_origin += QPointF(allowed(before.x(), now.x()), allowed(before.y(), now.y()));
}

void Viewport::show(const QRectF& part, double maxScale)
{
    const double least = fittedScale();
    const double fitting = std::min(m_view.width() / std::max(part.width(), 1e-9), m_view.height() / std::max(part.height(), 1e-9));
    const double wanted = std::clamp(std::min(fitting, maxScale), least, largestScale());
    if (wanted <= least) {
        fit();
        return;
    }
    m_scale = wanted;
    m_fitted = false;
    centreOn(part.center());
}

void Viewport::centreOn(const QPointF& world)
{
    if (!m_fitted)
        pan(m_view.center() - toScreen(world));
}

void Viewport::reveal(const QRectF& part, double margin)
{
    const QRectF place = toScreen(part).adjusted(-margin, -margin, margin, margin);
    const auto way = [](double lo, double hi, double viewLo, double viewHi) {
        if (lo < viewLo || hi - lo > viewHi - viewLo)
            return viewLo - lo;
        return hi > viewHi ? viewHi - hi : 0.0;
    };
    pan({ way(place.left(), place.right(), m_view.left(), m_view.right()),
          way(place.top(), place.bottom(), m_view.top(), m_view.bottom()) });
}

/// How far the world would have to move to lie in the view, or to fill it.
QPointF Viewport::missing() const
{
    const QRectF shown = toScreen(m_world);
    const auto axis = [](double lo, double hi, double viewLo, double viewHi, double place) {
        if (hi - lo <= viewHi - viewLo)
            return viewLo + (viewHi - viewLo - (hi - lo)) * place - lo;
        if (lo > viewLo)
            return viewLo - lo;
        return hi < viewHi ? viewHi - hi : 0.0;
    };
    return { axis(shown.left(), shown.right(), m_view.left(), m_view.right(), 0.5),
             axis(shown.top(), shown.bottom(), m_view.top(), m_view.bottom(), m_place) };
}

void Viewport::clamp() { m_origin += missing(); }

} // namespace shardboard
