// SPDX-License-Identifier: Apache-2.0
// The picture of the device mesh: cells with ids and memory, units of devices with their names, axis bars, hover, selection, zoom;
// coloured by the shards that the devices hold, or by how full they are. Level of detail goes by the size of a cell on screen, so
// that 16,384 devices cost one image; where they are small, a click goes into the unit of devices under it. Reads prepared data
// only while painting.
#pragma once

#include "widgets/canvas/canvaswidget.h"
#include "widgets/mesh/devicecards.h"
#include "widgets/mesh/meshbars.h"
#include "widgets/mesh/meshscene.h"
#include "widgets/mesh/transfers.h"

#include <memory>
#include <optional>
#include <vector>

namespace shardboard {

class MeshCanvas : public CanvasWidget {
    Q_OBJECT
public:
    using Coloring = MeshScene::Coloring;

    explicit MeshCanvas(Document* document, QWidget* parent = nullptr);

    void refresh(); ///< the evaluation, the shown weight or the theme is another one
    void updateOverlay(); ///< only hover or selection moved
    void setColoring(Coloring coloring);
    Coloring coloring() const { return m_scene.coloring; }
    /// What does not match is drawn quietly; a mesh axis that is named shows its device group.
    void setFound(const QString& text);
    const MeshPattern& found() const { return m_scene.found; }
    /// The next device that matches after the selected one is selected, and brought into sight; false where there is none.
    bool findNext(bool back);
    /// Whether a device is what is searched for and what the legend shows.
    bool isLoud(std::int64_t position) const { return m_scene.isLoud(position); }
    const DeviceColors& colors() const { return m_scene.colors; }
    /// All devices in a canvas of some size.
    struct Fitted {
        int detail = 0; ///< what there is room to tell of a device: 0, its colour; 1, its id too; 2, and its memory
        double height = 0; ///< pixels that they take
    };
    Fitted fittedIn(const QSize& size) const;
    PartColor colorAt(std::int64_t position) const; ///< of a device as it is drawn now
    /// Data on its way: what a collective moves in the device groups that are in sight. At a progress from 0 to 1 dots run along
    /// the arrows; at 1 they are plain arrows. -1: nothing moves. A step of a plan is named below, in two lines, also where nothing
    /// moves, so that the picture does not change its size from step to step.
    void showTransfer(CollectiveId collective, double progress, const QString& title = {}, const QString& words = {});
    CollectiveId shownTransfer() const { return m_transfer; }
    /// The arrows that are drawn, from cell to cell, in pixels of this widget.
    const std::vector<Arrow>& arrows() const { return m_arrows; }
    QString transferText() const; ///< the words as they are shown, with the groups that are drawn

    /// Units that fill the view, from the outside in: `pod 3, data 5` and `node 92`. None while everything is in sight.
    QStringList placeSteps() const;
    /// What a click takes at this zoom: devices (MeshGrid::kDevices), or the units of a tier.
    int takenTier() const;
    /// Shows the unit of a tier that a device is in.
    void goInto(int tier, std::int64_t position);
    void goUp(); ///< out of the innermost unit that fills the view
    void goBackTo(int steps); ///< to where only so many of the units fill it
    const MeshGrid& grid() const { return m_scene.grid; }

    QSize sizeHint() const override;
    /// Rectangle of a device on this widget, for tests and tool tips.
    QRectF deviceRect(std::int64_t position) const;
    std::int64_t deviceAt(const QPointF& point) const;
    /// Mesh axis whose bar or labels are under a point, or -1.
    int axisAt(const QPointF& point) const override;
    QString deviceText(std::int64_t position) const; ///< what the tool tip and the accessible description say

    int accessibleCount() const override;
    QString accessibleItemName(int index) const override;
    QRectF accessibleItemRect(int index) const override;
    int accessibleItemAt(const QPointF& point) const override;
    int accessibleCurrent() const override;
    void accessibleActivate(int index) override;

Q_SIGNALS:
    void allWanted(); ///< Esc: what the legend quiets is to be seen again
    void placeChanged(); ///< placeSteps() are other ones

protected:
    void layOut() override;
    void highlightChanged() override;
    QRectF viewArea() const override { return gridArea(); }
    bool isBlank() const override { return !document()->hasDesign(); }
    void paintBase(QPainter& painter) override;
    void paintOverlay(QPainter& painter, const QRegion& region) override;
    QString toolTipAt(const QPointF& point) const override;
    void moveCurrent(int dx, int dy) override;
    void selectAt(const QPointF& point) override;
    void hoverAt(const QPointF& point) override;
    bool canNavigate() const override { return document()->hasDesign(); }
    QRectF selectedPart() const override;
    void viewMoved() override;
    void paintMap(QPainter& painter, const Viewport& map) const override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    QRectF gridArea() const { return gridArea(rect()); }
    QRectF gridArea(const QRectF& canvas) const;
    MeshRoom roomIn(const QSizeF& canvas) const;
    void arrange();
    /// A unit that fills the view.
    struct Place {
        int tier = -1;
        std::int64_t position = 0;
        friend bool operator==(const Place&, const Place&) = default;
    };
    std::vector<Place> place() const; ///< from the outside in
    std::int64_t unitAt(const QPointF& point, int tier) const; ///< first device of a unit, or -1
    double solidCell() const;
    std::vector<QRgb> tones() const;
    void heat();
    void paintCells(QPainter& painter);
    void paintPixels(QPainter& painter, const Viewport& viewport, const QRect& area) const;
    void paintUnits(QPainter& painter);
    void paintUnitNames(QPainter& painter);
    void paintCell(QPainter& painter, std::int64_t position, const QRectF& rect);
    void paintGroupsOfSelected(QPainter& painter);
    void paintMembers(QPainter& painter, const std::vector<int>& axes, std::int64_t of, const QPen& pen) const;
    void paintGroup(QPainter& painter);
    const Collective* transferCollective() const; ///< null: nothing moves
    void layTransfer();
    void paintTransferWords(QPainter& painter) const;
    void paintOutline(QPainter& painter, std::int64_t position, bool selected);
    std::vector<int> groupAxes() const;
    QString footerText() const;
    void paintScale(QPainter& painter, const QRectF& rect) const;
    void tellDevice(std::int64_t position);

    MeshScene m_scene;
    DeviceCards m_cards; ///< cells that are large enough
    std::vector<MeshBar> m_bars;
    QString m_foundText;
    int m_hoveredAxis = -1;
    std::optional<Place> m_hoveredUnit; ///< that a click would go into
    std::vector<Place> m_place;
    QFont m_idFont; ///< of cells without cards
    std::shared_ptr<const Evaluation> m_evaluation; ///< that was prepared
    CollectiveId m_transfer;
    double m_progress = 1;
    QString m_transferTitle;
    QString m_transferWords;
    ShownTransfers m_moves;
    std::vector<Arrow> m_arrows;
};

} // namespace shardboard
