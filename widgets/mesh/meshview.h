// SPDX-License-Identifier: Apache-2.0
// The device mesh with its header.
#pragma once

#include "widgets/document/documentview.h"

class QMenu;
class QToolButton;

namespace shardboard {

class FindField;
class Legend;
class MeshCanvas;
class PlanPlayer;
class TopologyView;
class ViewHeader;

class MeshView : public DocumentView {
    Q_OBJECT
public:
    explicit MeshView(Document* document, QWidget* parent = nullptr);
    MeshCanvas* canvas() const { return m_canvas; }
    Legend* legend() const { return m_legend; }
    /// Shows what the current step of a player moves.
    void follow(PlanPlayer* player);
    /// Edits of the device order, of a device (its mesh position, -1: none) among them; refused ones are disabled and say why.
    void fillMenu(QMenu* menu, std::int64_t device);
    QSize minimumSizeHint() const override; ///< without the legend, which gives way

public Q_SLOTS:
    void focusFind();

protected:
    void refresh() override;
    void selectionChanged() override;
    void hoverChanged() override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void showStep();
    void showHeader();
    void showFind();
    void showLegend();

    ViewHeader* m_header;
    FindField* m_find; ///< where there is little room, only while it is used
    QToolButton* m_coloring; ///< by memory instead of by shards
    MeshCanvas* m_canvas;
    QWidget* m_foot; ///< the legend, where there is room
    Legend* m_legend;
    TopologyView* m_topology;
    PlanPlayer* m_player = nullptr; ///< that it follows, if any
    int m_shownWeight = -1;
};

} // namespace shardboard
