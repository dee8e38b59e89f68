// SPDX-License-Identifier: Apache-2.0
// Draws a flow scene from left to right, in as many lines as the width needs; zooms and pans. Lines between boxes have the colours
// of the mesh axes that the value is cut over, and the thickness of the collective that they lead to.
#pragma once

#include "widgets/canvas/canvaswidget.h"
#include "widgets/flow/flowlayout.h"
#include "widgets/flow/flowscene.h"

#include <vector>

namespace shardboard {

class FlowCanvas : public CanvasWidget {
    Q_OBJECT
public:
    enum class Thickness { Bytes, Time };

    explicit FlowCanvas(Document* document, QWidget* parent = nullptr);
    void setScene(FlowScene scene);
    const FlowScene& scene() const { return m_scene; }
    QRectF itemRect(int index) const; ///< on this widget
    /// Index of the item at a point, or -1.
    int itemAt(const QPointF& point) const;
    int current() const { return m_current; } ///< that the keyboard is at, -1: none
    /// Selects what an item stands for; of a folded segment asks for it.
    void activate(int index);
    int accessibleCount() const override;
    QString accessibleItemName(int index) const override;
    QRectF accessibleItemRect(int index) const override;
    int accessibleItemAt(const QPointF& point) const override;
    int accessibleCurrent() const override;
    bool isAccessibleSelected(int index) const override;
    void accessibleActivate(int index) override { activate(index); }
    /// Brings an item into sight.
    void reveal(int index);
    /// Marks the item of the current step; -1: none.
    void setStep(int index);
    int step() const { return m_step; }
    void setThickness(Thickness thickness);
    Thickness thickness() const { return m_thickness; }
    double strokeOf(int index) const; ///< of the lines beside an item, in pixels before zooming
    void updateHover(); ///< another weight is hovered, in whichever view
    /// What does not match is drawn quietly; empty: everything matches.
    void setFilter(const QString& text);
    bool matches(int index) const;
    void showWhole(bool whole) override;
    int missingHeight() const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void unfoldRequested(PlannedSegmentId segment);
    void playRequested(); ///< by Space
    void stepRequested(int by, bool collective); ///< by , and . with Shift for collectives
    void endRequested(bool last); ///< by Home and End

protected:
    void layOut() override { place(false); }
    void highlightChanged() override { update(); }
    void paintBase(QPainter& painter) override;
    bool hasFocusFrame() const override { return m_current < 0; } ///< keys have not chosen an item yet
    QString toolTipAt(const QPointF& point) const override;
    void moveCurrent(int dx, int dy) override;
    void selectAt(const QPointF& point) override;
    void hoverAt(const QPointF& point) override;
    bool canNavigate() const override { return !m_rects.empty(); }
    QRectF selectedPart() const override;
    void viewMoved() override;
    void goHome() override;
    bool isInTheWay(const QRectF& map) const override;
    void paintMap(QPainter& painter, const Viewport& map) const override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void place(bool home);
    QSizeF sizeOf(const FlowItem& item) const;
    void selectOperation(const FlowItem& item) const;
    bool isSelected(const FlowItem& item) const;
    bool isAbout(const FlowItem& item, int weight) const;
    double amountOf(const FlowItem& item) const;
    void paintConnector(QPainter& painter, int from, int to) const;
    void paintItem(QPainter& painter, int index) const;
    void paintBand(QPainter& painter, const QRectF& rect, const FlowInk& ink) const;

    FlowScene m_scene;
    std::vector<QRectF> m_rects; ///< in the world
    double m_largest = 0; ///< amount of the thickest line of the plan
    Thickness m_thickness = Thickness::Bytes;
    QString m_filter;
    int m_current = -1;
    int m_step = -1;
    int m_hovered = -1; ///< the weight that was hovered last, in whichever view
    double m_lineScale = 1; ///< lines are as wide as the view at this scale
    double m_homeScale = 1; ///< of what goHome() has shown
    QPointF m_homeOrigin;
    bool m_atHome = true; ///< what is seen is what goHome() shows
};

} // namespace shardboard
