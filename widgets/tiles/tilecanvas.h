// SPDX-License-Identifier: Apache-2.0
// The picture of one sharded weight: tiles in the colours of their owners, the axis chips on the dims that they cut,
// and the zones on which a dragged mesh axis can be dropped. It asks for edits by a signal and makes none itself.
#pragma once

#include "widgets/canvas/canvaswidget.h"
#include "widgets/shards/tilescene.h"
#include "widgets/tiles/tilelegend.h"

#include <QFontMetricsF>

#include <functional>
#include <vector>

namespace shardboard {

class TileCanvas : public CanvasWidget {
    Q_OBJECT
public:
    explicit TileCanvas(Document* document, QWidget* parent = nullptr);

    /// Shows a weight of the evaluation, or nothing for -1.
    void show(int weight);
    const TileScene& scene() const { return m_scene; }

    /// Asked while an axis is dragged over a dim (-1: off): empty when the edit would be accepted, else why not.
    using DropCheck = std::function<QString(int axis, int dim)>;
    void setDropCheck(DropCheck check) { m_dropCheck = std::move(check); }

    /// The kinds of tiles that the legend has to name.
    TileKinds kinds() const;

    QRectF picture() const { return m_picture; } ///< where the tensor is drawn; zoomed, more than is seen of it
    QRectF zone(int dim) const; ///< drop zone of a dim; of -1: the one that takes an axis off
    QRectF chipRect(int axis) const; ///< empty when the axis cuts nothing here
    QRectF tileRect(std::int64_t position) const; ///< bounding rectangle of what a device holds
    int accessibleCount() const override;
    QString accessibleItemName(int index) const override;
    QRectF accessibleItemRect(int index) const override;
    int accessibleItemAt(const QPointF& point) const override;
    int accessibleCurrent() const override;
    bool isAccessibleSelected(int index) const override;
    void accessibleActivate(int index) override;
    QString tileText(std::int64_t position) const; ///< device, coordinates, ranges and bytes, as the tool tip says it
    bool isDragged() const { return m_dragAxis >= 0; } ///< a mesh axis is over it
    bool cutsOver(const QString& axis) const; ///< the shown weight
    void takeOff(const QString& axis); ///< as if it were dropped beside the tensor

Q_SIGNALS:
    void axisDropped(int axis, int dim); ///< dim -1: take it off

protected:
    void layOut() override;
    bool isBlank() const override { return m_weight < 0; }
    void paintBase(QPainter& painter) override;
    void paintOverlay(QPainter& painter, const QRegion& region) override;
    void paintAboveMap(QPainter& painter) override; ///< where a mesh axis would go that is dragged
    QString toolTipAt(const QPointF& point) const override;
    int axisAt(const QPointF& point) const override;
    void moveCurrent(int dx, int dy) override; ///< to the tile beside the one of the current device
    void selectAt(const QPointF& point) override;
    void hoverAt(const QPointF& point) override;
    bool canNavigate() const override { return m_weight >= 0 && !m_scene.replicated; }
    QRectF selectedPart() const override;
    void viewMoved() override { layOut(); }
    void paintMap(QPainter& painter, const Viewport& map) const override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragMoveEvent(QDragMoveEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    struct Chip {
        int axis = -1;
        int dim = -1;
        QRectF rect;
    };
    static constexpr int kNoDim = -2;
    void placeChips(int dim, bool vertical);
    QRectF bandRect(int row, int column) const;
    bool rangesFit() const;
    std::int64_t deviceAt(const QPointF& point) const;
    std::int64_t ownerOf(int index) const; ///< first device that holds a tile, row by row
    int dimAt(const QPointF& point) const; ///< drawn dim or -1 (off), or kNoDim
    void paintTiles(QPainter& painter) const;
    void paintTile(QPainter& painter, const Tile& tile) const;
    TileEdge edgeOfTile(const Tile& tile) const;
    QStringList fittingOwners(const Tile& tile, const QFontMetricsF& metrics, const QRectF& rect) const;
    void paintTileLabel(QPainter& painter, const Tile& tile, const QRectF& rect) const;
    void paintReplicated(QPainter& painter) const;
    void paintLabels(QPainter& painter) const;
    void paintShard(QPainter& painter) const;

    int m_weight = -1;
    TensorSpec m_spec;
    Layout m_layout;
    TileScene m_scene;
    QRectF m_frame; ///< what is seen of the picture; all of it until it is zoomed
    QRectF m_picture;
    std::vector<Chip> m_chips;
    QSizeF m_leastLabel; ///< smaller tiles have no room for any label
    bool m_showRanges = false; ///< the index ranges fit into every tile
    DropCheck m_dropCheck;
    int m_dragAxis = -1;
    int m_dragDim = kNoDim;
    QString m_refusal;
};

/// `0–1024`
QString tileRangeText(const Range& range);

} // namespace shardboard
