// SPDX-License-Identifier: Apache-2.0
// All weights of the model on one canvas, their areas in proportion to their bytes, each with its cuts; from which one zooms into
// any. The reverse view has areas in proportion to what one device holds. Layers that are alike are one rectangle with the bytes
// of all of them. Level of detail goes by size on screen; reads prepared data only while painting.
#pragma once

#include "model/design/deviceweights.h"
#include "widgets/canvas/canvaswidget.h"
#include "widgets/shards/tilescene.h"
#include "widgets/tiles/tilelegend.h"

#include <memory>
#include <vector>

namespace shardboard {

class ModelCanvas : public CanvasWidget {
    Q_OBJECT
public:
    explicit ModelCanvas(Document* document, QWidget* parent = nullptr);

    void refresh(); ///< the evaluation, the device of the reverse view or the theme is another one
    void updateOverlay(); ///< only hover or selection moved
    void updateHover(); ///< only the hovered weight is another one
    /// Areas by what the shown device holds, instead of by what the model has.
    void setHeld(bool held);
    bool isHeld() const { return m_held; }
    /// The device of the reverse view: the selected one, else the first.
    std::int64_t heldDevice() const;
    std::int64_t heldBytes() const; ///< of all weights that it holds
    std::int64_t allBytes() const; ///< of all weights of the model
    int shownWeights() const; ///< that have an area

    QRectF weightRect(int weight) const; ///< on this widget; empty when it has no area
    int weightAt(const QPointF& point) const; ///< -1: none
    QString weightText(int weight) const; ///< what the tool tip and the accessible description say
    void zoomTo(int weight); ///< so that it fills the view
    /// What does not match is drawn quietly (as a WeightPattern); empty: everything matches.
    void setFilter(const QString& text);
    std::vector<int> matches() const; ///< the shown weights that match, in the order of the model
    /// The kinds of tiles that the legend has to name.
    TileKinds kinds() const;
    /// About the hovered weight, else the selected one, in a line; else what can be done here.
    QString toldText() const;
    bool isFitted() const { return m_viewport.isFitted(); }

    int accessibleCount() const override;
    QString accessibleItemName(int index) const override;
    QRectF accessibleItemRect(int index) const override;
    int accessibleItemAt(const QPointF& point) const override;
    int accessibleCurrent() const override;
    bool isAccessibleSelected(int index) const override;
    void accessibleActivate(int index) override;

Q_SIGNALS:
    void opened(int weight); ///< is to be seen alone

protected:
    void layOut() override;
    void highlightChanged() override { updateQuiet(); }
    QRectF viewArea() const override { return area(); }
    void paintBase(QPainter& painter) override;
    void paintOverlay(QPainter& painter, const QRegion& region) override;
    QString toolTipAt(const QPointF& point) const override;
    void moveCurrent(int dx, int dy) override;
    void selectAt(const QPointF& point) override;
    void hoverAt(const QPointF& point) override;
    bool canNavigate() const override { return !m_cells.empty(); }
    QRectF selectedPart() const override;
    void paintMap(QPainter& painter, const Viewport& map) const override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    struct Cell {
        int weight = -1;
        QRectF rect; ///< in the world
        QString name; ///< `mlp.down_proj × 32`
        QString shortest; ///< `down_proj × 32`
        QString amount; ///< bytes of all copies
        QString range; ///< of the shard, in the reverse view
        bool quiet = false; ///< it does not match the filter
        TileScene frame;
        TileKinds kinds;
        std::int64_t color = 0; ///< of the shard, in the reverse view
    };
    QRectF area() const;
    static QRectF partOf(const Cell& cell);
    void paintCell(QPainter& painter, const Cell& cell, const QRectF& rect) const;
    void paintTiles(QPainter& painter, const Cell& cell, const QRect& rect) const;
    QRectF tilesRect(const QRectF& rect) const;
    void paintHeldTiles(QPainter& painter, const Cell& cell) const;
    void updateQuiet();
    const Cell* cellOf(int weight) const;
    int hoveredWeight() const; ///< in whichever view
    int indexOf(int weight) const; ///< of its cell, -1: none
    int nearest(int weight, int dx, int dy) const;

    std::shared_ptr<const Evaluation>
        m_evaluation; ///< that of m_weights and m_cells: this view may sleep while the document has another
    std::vector<DeviceWeight> m_weights; ///< of the reverse view's device
    std::vector<Cell> m_cells;
    QString m_filter;
    bool m_held = false;
    int m_hovered = -1; ///< weight with a frame, as it was painted last
};

} // namespace shardboard
