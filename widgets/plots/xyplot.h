// SPDX-License-Identifier: Apache-2.0
// Numbers over numbers with axes, ticks, and units, and a cursor: the nearest point to the mouse, or the one that the arrow keys go
// to, is marked and told beside it.
#pragma once

#include "model/plots/plot.h"

#include <QColor>
#include <QFont>
#include <QSize>
#include <QString>
#include <QWidget>

#include <memory>
#include <vector>

namespace shardboard {

struct XyLook {
    QColor background;
    QColor text;
    QColor quiet;
    QColor line;
    QColor accent;
    std::vector<QColor> hues;
    friend bool operator==(const XyLook&, const XyLook&) = default;
};

class XyPlot : public QWidget {
    Q_OBJECT
public:
    explicit XyPlot(QWidget* parent = nullptr);
    ~XyPlot() override;

    /// False: it is what is shown, and nothing is drawn anew.
    bool setPlot(Plot plot, const XyLook& look);
    const Plot& plot() const { return m_plot; }
    /// What is not of this hue is quiet; -2: nothing is.
    void setShownHue(int hue);
    /// Points of this item have a ring; -1: none.
    void setSelectedItem(std::int32_t item);

    struct At {
        int series = -1;
        int point = -1;
        bool valid() const { return series >= 0; }
        friend bool operator==(const At&, const At&) = default;
    };
    At current() const { return m_current; }
    void setCurrent(At at);
    /// What the cursor tells: x, y, and what it is; empty: it is nowhere.
    QString currentText() const;
    /// Where a point lies in the widget.
    QPointF placeOf(At at) const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void currentChanged();
    void chosen(std::int32_t item); ///< clicked, or Return

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Parts;
    void makePlot();
    void placeTicks();
    void showCursor();
    At nearest(const QPointF& place) const;
    QColor colorOf(const PlotSeries& series) const;
    QColor hueOf(int hue) const;

    std::unique_ptr<Parts> m_parts;
    Plot m_plot;
    XyLook m_look;
    PlotRange m_x;
    PlotRange m_y;
    At m_current;
    int m_hue = -2;
    std::int32_t m_item = -1;
    bool m_made = false;
};

} // namespace shardboard
