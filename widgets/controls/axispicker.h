// SPDX-License-Identifier: Apache-2.0
// An ordered list of mesh axes, major first, as chips: pick one from the menu of `+` or drop one, take one off by its
// cross or Delete, move one by dragging it sideways or with Alt and an arrow key.
#pragma once

#include "model/core/mesh.h"

#include <QAbstractButton>
#include <QWidget>

#include <string>
#include <vector>

class QMenu;
class QToolButton;

namespace shardboard {

/// One picked axis.
class PickedAxis : public QAbstractButton {
    Q_OBJECT
public:
    /// `color` is that of the axis; none: the mesh has no such axis.
    PickedAxis(const QString& name, const QColor& color, std::int64_t size, QWidget* parent);
    QRect crossRect() const;
    QSize sizeHint() const override;

Q_SIGNALS:
    void removed();
    void moved(int by); ///< places towards minor
    void draggedTo(const QPoint& point); ///< in the coordinates of the picker

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QColor m_color; ///< invalid: the mesh has no such axis
    QPoint m_pressed;
    bool m_dragging = false;
};

class AxisPicker : public QWidget {
    Q_OBJECT
public:
    explicit AxisPicker(QWidget* parent = nullptr);

    void setMesh(const Mesh& mesh);
    /// Shows these axes, without a signal.
    void setAxes(const std::vector<std::string>& axes);
    const std::vector<std::string>& axes() const { return m_axes; }
    const std::vector<PickedAxis*>& chips() const { return m_chips; }
    /// One entry for each axis that is not picked yet.
    void fillMenu(QMenu* menu);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

Q_SIGNALS:
    void axesChanged();

protected:
    void resizeEvent(QResizeEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void rebuild();
    int arrange(int width, bool place) const;
    int placeOf(const PickedAxis* chip) const;
    void move(int from, int to);
    void change(std::vector<std::string> axes, int focus);
    void pick(const std::string& axis);

    Mesh m_mesh;
    std::vector<std::string> m_axes;
    std::vector<PickedAxis*> m_chips;
    QToolButton* m_add;
};

} // namespace shardboard
