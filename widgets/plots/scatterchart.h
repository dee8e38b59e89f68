// SPDX-License-Identifier: Apache-2.0
// Many points of a few kinds, told apart by color and mark, under a limit that can be dragged; what is over it is faded on hatched
// ground. The front is a staircase. Points can be hovered, chosen and activated, by mouse and by keys. The vertical axis is
// logarithmic. Values are plain numbers; the view names the units.
#pragma once

#include "widgets/plots/plotlook.h"

#include <QString>
#include <QWidget>

#include <memory>
#include <vector>

namespace shardboard {

struct ScatterPoint {
    double x = 0;
    double y = 0;
    int kind = 0;
    bool faded = false; ///< over a limit
    bool front = false; ///< a step of the staircase
};

struct ScatterKind {
    QColor color;
    int mark = 0; ///< disc, triangle, square, diamond, cross, and again
};
inline constexpr int kScatterMarks = 5;

/// A point with a name beside it, which need not be one of the others.
struct ScatterFlag {
    double x = 0;
    double y = 0;
    QString letter;
    QString text;
};

struct ScatterContent {
    std::vector<ScatterPoint> points;
    std::vector<ScatterKind> kinds;
    std::vector<ScatterFlag> flags;
    double limit = 0; ///< of y; 0: none
    QString limitText;
    QString xName;
    QString yName;
};

class ScatterChart : public QWidget {
    Q_OBJECT
public:
    explicit ScatterChart(QWidget* parent = nullptr);
    ~ScatterChart() override;
    void setContent(ScatterContent content, const PlotLook& look);
    const ScatterContent& content() const { return m_content; }
    /// The point that is ringed, -1 for none: under the mouse, gone to by keys, or as somebody else says.
    int current() const { return m_current; }
    void setCurrent(int point);
    /// Points beyond the right or upper edge: a few that are far off would press all others together.
    int beyond() const { return m_beyond; }
    /// Where a point is painted.
    QPointF placeOf(int point) const;
    /// The point that is painted nearest to a place, within some pixels; -1 without one.
    int pointAt(const QPointF& at) const;
    /// Where the limit is painted, in pixels from the top; -1 without one.
    double limitPlace() const;
    QSize sizeHint() const override { return { 620, 320 }; }
    QSize minimumSizeHint() const override { return { 180, 110 }; }

Q_SIGNALS:
    void currentChanged(int point);
    void chosen(int point, Qt::KeyboardModifiers modifiers);
    void activated(int point);
    void limitDragged(double limit); ///< let go of at this value
    void plotted(); ///< beyond() is known

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    void makePlot();
    void setRanges();
    void addPoints();
    void addFront();
    void addLimit();
    void addFlags();
    void showRing();
    void step(bool forward);
    bool isInside(const ScatterPoint& point) const;

    struct Plot;
    std::unique_ptr<Plot> m_plot;
    ScatterContent m_content;
    PlotLook m_look;
    int m_current = -1;
    int m_beyond = 0;
    bool m_dragging = false;
    double m_dragged = 0; ///< where the limit is while it is dragged
};

} // namespace shardboard
