// SPDX-License-Identifier: Apache-2.0
// Stacked values over the moments of a step, with the limit, the highest moment and the phases marked. Values are plain
// numbers; the view names the unit and what stands at the axis of the moments.
#pragma once

#include <QColor>
#include <QSize>
#include <QString>
#include <QStringList>
#include <QWidget>

#include <cstdint>
#include <memory>
#include <vector>

namespace shardboard {

struct TimelineLook {
    QColor background;
    QColor text;
    QColor line;
    QColor over; ///< of the limit when it is exceeded
};

struct TimelinePart {
    QString name;
    QColor color;
    Qt::BrushStyle hatch = Qt::NoBrush; ///< drawn over it in `hatchColor`
    QColor hatchColor {};
    std::vector<double> values; ///< one for each moment
};

/// Where something begins: a phase.
struct TimelineMark {
    int moment = 0;
    QString text;
};

/// At the axis of the moments. Numbers are told where there is room for them, at even distances; words where they fit between.
struct TimelineTick {
    int moment = 0;
    QString text;
    std::int64_t number = -1; ///< of a layer; -1: a word
};

/// What the axes are of.
struct TimelineAxes {
    QString value; ///< `GiB`
    QString moment; ///< `layer`
    std::vector<TimelineTick> ticks {};
};

class TimelineChart : public QWidget {
    Q_OBJECT
public:
    explicit TimelineChart(QWidget* parent = nullptr);
    ~TimelineChart() override;
    /// `limit` 0: none. All parts have as many values. `highest`: index of the moment to mark, -1 for none.
    void setParts(std::vector<TimelinePart> parts, double limit, int highest, std::vector<TimelineMark> marks, TimelineAxes axes,
                  const TimelineLook& look);
    /// The moment that is pointed at by mouse or arrow keys, -1 for none.
    int current() const { return m_current; }
    void setCurrent(int moment);
    int count() const { return m_count; }
    /// What stands at the axis of the moments, from left to right: texts, and its name at the end.
    QStringList momentTexts() const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void currentChanged(int moment);
    void chosen(int moment); ///< clicked, or Return

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    int momentAt(double x) const;
    struct Plot;
    std::unique_ptr<Plot> m_plot;
    /// What is shown. The plot is made of it when it is painted: views get several sizes, and often other values, before that.
    struct Content {
        std::vector<TimelinePart> parts {};
        double limit = 0;
        std::vector<TimelineMark> marks {};
        TimelineAxes axes {};
        TimelineLook look {};
    };
    void makePlot();
    void showPointer();
    std::vector<const TimelineTick*> placedTicks() const;
    void placeTicks();
    Content m_content;
    QSize m_made; ///< for which the plot is made; empty: it is not
    int m_count = 0;
    int m_highest = -1;
    int m_current = -1;
};

} // namespace shardboard
