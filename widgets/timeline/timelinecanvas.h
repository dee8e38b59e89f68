// SPDX-License-Identifier: Apache-2.0
// The lanes of a timeline on one ruler, and the memory beneath. The wheel zooms at the pointer, Shift and the wheel or a drag pans,
// a drag on the ruler takes a range; W and S zoom, A and D pan, arrow keys go along a lane and from lane to lane, F shows what is
// selected, Shift+F everything. It knows no document: whoever has one says which item is selected, and is told what is chosen.
#pragma once

#include "model/timeline/blocks.h"
#include "widgets/canvas/accessiblecanvas.h"

#include <QPixmap>
#include <QPointF>
#include <QString>
#include <QWidget>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

class QScrollBar;

namespace shardboard {

class TimelineCanvas : public QWidget, public AccessibleItems {
    Q_OBJECT
public:
    explicit TimelineCanvas(QWidget* parent = nullptr);

    /// Everything is in sight then, unless it is as long as the one before and `keepWindow`. Null: nothing is shown.
    void setTimeline(std::shared_ptr<const Timeline> timeline, bool keepWindow = false);
    const Timeline* timeline() const { return m_timeline.get(); }
    /// Drawn with a frame wherever it is; -1: none.
    void setSelectedItem(std::int32_t item);
    std::int32_t selectedItem() const { return m_item; }
    /// What is not drawn as this kind is quiet; -1: nothing is.
    void setShownKind(int kind);

    /// The critical path as a line below the lanes; the full stop follows it, with Shift back.
    void setPathShown(bool shown);
    void followPath(int by);
    /// What was measured is pale: it is of another design.
    void setFaded(bool faded);

    /// What is seen of the time.
    const TimeWindow& timeWindow() const { return m_window; }
    void setWindow(double from, double secondsPerPixel);
    void zoomAt(double pixel, double factor); ///< pixel of the lanes
    void zoom(double factor);
    void pan(double pixels);
    void showAll();
    /// The interval that is current, or else all of the selected item.
    void showSelected();
    /// The first occurrence of an item: its lane and time come into sight.
    void showItem(std::int32_t item);

    struct Place {
        int row = -1;
        std::size_t lane = 0; ///< index into Timeline::lanes
        std::ptrdiff_t interval = -1; ///< index into its intervals; -1: none there
    };
    Place placeAt(const QPointF& point) const;
    const Place& current() const { return m_current; }
    /// On the widget; empty while it is scrolled away.
    QRectF rectOf(std::size_t lane, std::size_t interval) const;
    /// What the ruler says, and of which second: no two alike.
    std::vector<std::pair<double, QString>> rulerMarks() const;
    QString textOf(const Place& place) const; ///< as the tool tip says it, line by line
    QRectF lanesArea() const; ///< of the intervals, without the labels
    QRectF memoryArea() const; ///< empty: nothing is known of memory
    int rowCount() const { return static_cast<int>(m_rows.size()); }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

    int accessibleCount() const override;
    QString accessibleItemName(int index) const override;
    QRectF accessibleItemRect(int index) const override;
    int accessibleItemAt(const QPointF& point) const override;
    int accessibleCurrent() const override { return m_current.row; }
    void accessibleActivate(int index) override;

Q_SIGNALS:
    void itemChosen(int item); ///< clicked, or gone to by a key; -1: what the plan does not have

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    /// One or two lanes with a label: of a device what was predicted stands above what was measured.
    struct Row {
        std::ptrdiff_t lane = -1;
        std::ptrdiff_t predicted = -1; ///< above it; -1: none
        double y = 0; ///< from the top of all rows
        double height = 0;
        bool first = false; ///< of its group
        QString group;
        QString name;
        QString error; ///< of what was predicted: `+4.4 %`
        bool attention = false;
    };
    struct Ink; // colors and brushes of a paint

    void makeRows();
    void layOut();
    void moved();
    void choose(const Place& place, bool tell);
    void moveAlong(int by);
    void moveRow(int by);
    void revealCurrent();
    double contentHeight() const;
    double rowTop(const Row& row) const;
    QRectF stripOf(const Row& row, bool predicted) const;
    int rowOfLane(std::size_t lane) const;
    const MemoryLane* shownMemory(bool predicted) const;

    void paintBase(QPainter& painter) const;
    void paintRuler(QPainter& painter, const Ink& ink) const;
    void paintRow(QPainter& painter, const Ink& ink, const Row& row) const;
    void paintStrip(QPainter& painter, const Ink& ink, const Lane& lane, std::size_t index, const QRectF& strip) const;
    void paintSelected(QPainter& painter, const Ink& ink, std::size_t lane, const QRectF& strip) const;
    void paintMemory(QPainter& painter, const Ink& ink) const;
    void paintPath(QPainter& painter) const;
    void paintOverlay(QPainter& painter) const;

    std::shared_ptr<const Timeline> m_timeline;
    std::vector<LaneSums> m_sums; ///< by lane
    std::vector<Row> m_rows;
    std::vector<std::vector<double>> m_totals; ///< of memory lanes
    std::int32_t m_item = -1;
    std::vector<std::vector<std::uint32_t>> m_selected; ///< by lane: intervals of the item
    int m_kind = -1;
    bool m_pathShown = true;
    bool m_faded = false;
    TimeWindow m_window;
    Place m_current;
    QScrollBar* m_scroll;
    QPixmap m_base;
    QPointF m_hover { -1, -1 };
    enum class Drag { None, Waiting, Pan, Range };
    Drag m_drag = Drag::None;
    QPointF m_pressed;
    QPointF m_last;
    Qt::MouseButton m_button = Qt::NoButton;
};

} // namespace shardboard
