// SPDX-License-Identifier: Apache-2.0
// Draws a flow scene from left to right, in as many lines as the width needs, so that nothing is cut off.
#pragma once

#include "widgets/canvas/accessiblecanvas.h"
#include "widgets/flowscene.h"

#include "model/session/document.h"

#include <QWidget>

#include <vector>

namespace shardboard {

class FlowCanvas : public QWidget, public AccessibleItems {
    Q_OBJECT
public:
    explicit FlowCanvas(Document* document, QWidget* parent = nullptr);
    void setScene(FlowScene scene);
    const FlowScene& scene() const { return m_scene; }
    QRectF itemRect(int index) const;
    /// Index of the item at a point, or -1.
    int itemAt(const QPointF& point) const;
    /// Selects what an item stands for.
    void activate(int index);
    int accessibleCount() const override;
    QString accessibleItemName(int index) const override;
    QRectF accessibleItemRect(int index) const override;
    int accessibleItemAt(const QPointF& point) const override;
    int accessibleCurrent() const override;
    bool isAccessibleSelected(int index) const override;
    void accessibleActivate(int index) override { activate(index); }
    int heightForWidth(int width) const override;
    bool hasHeightForWidth() const override { return true; }
    QSize sizeHint() const override;

Q_SIGNALS:
    void currentMoved(const QRect& rect); ///< the item with the keyboard's focus

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    double place(double width, std::vector<QRectF>& rects) const;
    QSizeF sizeOf(const FlowItem& item) const;
    void selectOperation(const FlowItem& item) const;
    bool isSelected(const FlowItem& item) const;
    void paintConnector(QPainter& painter, int from, int to) const;
    void paintItem(QPainter& painter, int index) const;

    Document* m_document;
    FlowScene m_scene;
    std::vector<QRectF> m_rects;
    int m_current = -1;
};

} // namespace shardboard
