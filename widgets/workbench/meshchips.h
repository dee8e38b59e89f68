// SPDX-License-Identifier: Apache-2.0
// The mesh axes as chips: drag one onto a tensor dim, or onto another one to change the order; double click to edit its name and
// size, `+` for a new axis.
#pragma once

#include "widgets/document/documentview.h"

#include <QAbstractButton>

#include <optional>
#include <utility>
#include <vector>

class QHBoxLayout;
class QLineEdit;
class QMenu;
class QToolButton;

namespace shardboard {

/// One chip, `model = 4`.
class AxisChip : public QAbstractButton {
    Q_OBJECT
public:
    AxisChip(const MeshAxis& axis, int index, const QColor& color, QWidget* parent);
    QSize sizeHint() const override;
    int axisIndex() const { return m_index; }

Q_SIGNALS:
    void editRequested();
    void dragged();
    void moveRequested(int by); ///< among the axes, by Alt and an arrow key

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QString m_name;
    int m_index;
    QColor m_color;
    QPoint m_pressed;
};

class MeshChips : public DocumentView {
    Q_OBJECT
public:
    explicit MeshChips(Document* document, QWidget* parent = nullptr);
    QString refusal() const { return m_refusal; } ///< why the last edit was not made
    /// Where there is little room: one chip that says how many, with the axes in its menu.
    void setJoined(bool joined);
    bool isJoined() const { return m_isJoined; }
    /// That one chip without the number of axes.
    void setBrief(bool brief);
    int wholeWidth() const; ///< with a chip for each axis

public Q_SLOTS:
    /// Opens the editor on an axis, or for a new one with -1.
    void startEdit(int axis);
    /// The axis `from` to the place `to` among the others.
    void moveAxis(int from, int to);

protected:
    void refresh() override;
    void selectionChanged() override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragMoveEvent(QDragMoveEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void commit();
    void stopEdit();
    bool apply(const Design& design, const QString& text);
    void fillMenu(QMenu* menu, int axis);
    void showJoined();
    void writeJoined();
    void showChips();
    int placeAt(const QPoint& point) const;
    void finishDrop();

    QHBoxLayout* m_row;
    QLineEdit* m_edit;
    QToolButton* m_add;
    QAbstractButton* m_joined;
    bool m_isJoined = false;
    bool m_isBrief = false;
    std::vector<AxisChip*> m_chips;
    std::vector<MeshAxis> m_axes; ///< that the chips were made for
    int m_edited = -2; ///< axis in the editor, -1 for a new one, -2: none
    QString m_refusal;
    std::optional<std::pair<int, int>> m_dropped; ///< an axis and the place that it was dropped on
};

/// The design with axis `index` named and sized anew (strategies and rules follow the name); -1 appends an axis at the end.
Result<Design> withMeshAxis(const Design& design, int index, const MeshAxis& axis);
/// The design without an axis; strategies no longer cut over it.
Result<Design> withoutMeshAxis(const Design& design, int index);

} // namespace shardboard
