// SPDX-License-Identifier: Apache-2.0
// The picture of the device mesh: cells with ids and memory, axis bars, hover, selection, zoom; coloured by the shards that the
// devices hold, or by how full they are. Level of detail goes by
// the size of a cell on screen, so that 16,384 devices cost one image. Reads prepared data only while painting.
#pragma once

#include "widgets/canvas/accessiblecanvas.h"
#include "widgets/canvas/navigation.h"
#include "widgets/canvas/viewport.h"
#include "widgets/canvas/zoomable.h"
#include "widgets/document/devicememory.h"
#include "widgets/look/devicecolors.h"
#include "widgets/mesh/devicecards.h"
#include "widgets/mesh/meshfind.h"
#include "widgets/mesh/meshgrid.h"
#include "widgets/mesh/transfers.h"

#include "model/hardware/hardware.h"
#include "model/session/document.h"

#include <QImage>
#include <QPixmap>
#include <QWidget>

#include <vector>

namespace shardboard {

class MeshCanvas : public QWidget, public Zoomable, public AccessibleItems, private NavigatedCanvas {
    Q_OBJECT
public:
    enum class Coloring { Shards, Memory };

    explicit MeshCanvas(Document* document, QWidget* parent = nullptr);

    void refresh(); ///< the evaluation, the shown weight or the theme is another one
    void updateOverlay(); ///< only hover or selection moved
    void setColoring(Coloring coloring);
    Coloring coloring() const { return m_coloring; }
    /// What does not match is drawn quietly; a mesh axis that is named shows its device group.
    void setFound(const QString& text);
    const MeshPattern& found() const { return m_found; }
    /// The next device that matches after the selected one is selected, and brought into sight; false where there is none.
    bool findNext(bool back);
    /// Devices of another colour than this entry of the legend's are drawn quietly; empty: none are.
    void setHighlight(const QString& key);
    /// Whether a device is what is searched for and what the legend shows.
    bool isLoud(std::int64_t position) const;
    const DeviceColors& colors() const { return m_colors; }
    /// How much of a device there is room to tell where all of them are seen in a canvas of this size: 0, its colour; 1, its id
    /// too; 2, and its memory.
    int detailIn(const QSize& size) const;
    PartColor colorAt(std::int64_t position) const; ///< of a device as it is drawn now
    /// Data on its way: what a collective moves in the device groups that are in sight. At a progress from 0 to 1 dots run along
    /// the arrows; at 1 they are plain arrows. -1: nothing moves. A step of a plan is named below, in two lines, also where nothing
    /// moves, so that the picture does not change its size from step to step.
    void showTransfer(int collective, double progress, const QString& title = {}, const QString& words = {});
    int shownTransfer() const { return m_transfer; }
    /// The arrows that are drawn, from cell to cell, in pixels of this widget.
    const std::vector<Arrow>& arrows() const { return m_arrows; }
    QString transferText() const; ///< the words as they are shown, with the groups that are drawn
    CanvasNavigation* navigation() const { return m_navigation; }
    const Viewport& currentView() const { return m_viewport; }

    QSize sizeHint() const override;
    void showWhole(bool whole) override;
    QSize minimumSizeHint() const override;
    /// Rectangle of a device on this widget, for tests and tool tips.
    QRectF deviceRect(std::int64_t position) const;
    std::int64_t deviceAt(const QPointF& point) const;
    /// Mesh axis whose bar or labels are under a point, or -1.
    int axisAt(const QPointF& point) const;
    QString deviceText(std::int64_t position) const; ///< what the tool tip and the accessible description say

    int accessibleCount() const override;
    QString accessibleItemName(int index) const override;
    QRectF accessibleItemRect(int index) const override;
    int accessibleItemAt(const QPointF& point) const override;
    int accessibleCurrent() const override;
    void accessibleActivate(int index) override;

Q_SIGNALS:
    void allWanted(); ///< Esc: what the legend quiets is to be seen again

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void leaveEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Bar {
        int axis = -1;
        bool across = false; ///< above the grid; else at its left
        std::size_t level = 0; ///< of MeshGrid::across() or down()
        QRectF rect; ///< line in the axis's colour
        QRectF zone; ///< line and labels
    };
    Viewport& viewport() override { return m_viewport; }
    bool canNavigate() const override { return m_document->hasDesign(); }
    QRectF selectedPart() const override;
    void viewMoved() override;
    void paintMap(QPainter& painter, const Viewport& map) const override;
    QRectF gridArea() const { return gridArea(rect()); }
    QRectF gridArea(const QRectF& canvas) const;
    void layoutBars();
    void renderBase();
    void paintBase(QPainter& painter);
    void paintCells(QPainter& painter);
    void paintPixels(QPainter& painter, const QRectF& visible, const Viewport& viewport) const;
    void paintCell(QPainter& painter, std::int64_t position, const QRectF& rect);
    void paintAxes(QPainter& painter);
    void paintLabels(QPainter& painter, const Bar& bar);
    void paintGroup(QPainter& painter);
    void layTransfer();
    void paintTransfer(QPainter& painter) const;
    void paintTransferWords(QPainter& painter) const;
    void paintOutline(QPainter& painter, std::int64_t position, bool selected);
    std::vector<int> groupAxes() const;
    QString footerText() const;
    void paintScale(QPainter& painter, const QRectF& rect) const;
    void moveDevice(int dx, int dy);
    void tellDevice(std::int64_t position);

    Document* m_document;
    Mesh m_mesh;
    MeshGrid m_grid;
    Viewport m_viewport;
    Viewport m_part; ///< what was in sight before the whole was shown
    DeviceColors m_colors;
    Hardware m_hardware;
    DeviceMemory m_memory;
    Coloring m_coloring = Coloring::Shards;
    QImage m_image; ///< one pixel a device, in grid shape
    DeviceCards m_cards; ///< cells that are large enough
    QPixmap m_base;
    std::vector<Bar> m_bars;
    QString m_foundText;
    QString m_highlight; ///< key of a legend's entry
    MeshPattern m_found;
    int m_hoveredAxis = -1;
    QPointF m_pressed;
    int m_pressedAxis = -1;
    const void* m_evaluation = nullptr; ///< that was prepared, to be compared alone
    int m_transfer = -1; ///< index into Plan::collectives
    double m_progress = 1;
    QString m_transferTitle;
    QString m_transferWords;
    ShownTransfers m_moves;
    std::vector<Arrow> m_arrows;
    CanvasNavigation* m_navigation;
};

} // namespace shardboard
