// SPDX-License-Identifier: Apache-2.0
// The selected weight, large, or all weights on one canvas. Of one: tiles, spec in the notations of the field, the shard of the
// device under the mouse, and the edits that cut its dims over mesh axes: by dropping an axis, from the context menu, by key.
#pragma once

#include "widgets/document/documentview.h"

class QAction;
class QGridLayout;
class QLabel;
class QMenu;
class QToolButton;

namespace shardboard {

class ElidedLabel;
class FindField;
class HeaderField;
class Legend;
class ModelCanvas;
class SpecLabel;
class TileCanvas;
class ViewHeader;

class TileView : public DocumentView {
    Q_OBJECT
public:
    explicit TileView(Document* document, QWidget* parent = nullptr);
    TileCanvas* canvas() const { return m_canvas; }
    ModelCanvas* modelCanvas() const { return m_model; }
    Legend* legend() const { return m_legend; }
    /// `Cut dim 0 over model`, …, `Take model off` for the selected weight; refused ones are disabled and say why.
    void fillMenu(QMenu* menu);

public Q_SLOTS:
    /// All weights on one canvas instead of the selected one.
    void showAll(bool all);
    /// What the selected device holds of all weights.
    void showHeld();
    /// Makes the edit, or shows why it is refused.
    void putAxis(int axis, int dim);

    QSize minimumSizeHint() const override;

protected:
    void refresh() override;
    void selectionChanged() override;
    void hoverChanged() override;
    void weightHoverChanged() override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QString refusalOf(int axis, int dim) const;
    void showWeight();
    void showModel();
    void findNext(bool back);
    void showSpec(const WeightLayout& weight);
    void showShard();
    void showLegend();
    void showMessage(const QString& message);
    void offerFixes(int axis, int dim);
    void arrange();
    bool roomForSide() const;

    ViewHeader* m_header;
    QToolButton* m_all;
    FindField* m_find; ///< of all weights: those that match
    HeaderField* m_findRoom = nullptr;
    QToolButton* m_held; ///< of all weights: what one device holds
    TileCanvas* m_canvas;
    ModelCanvas* m_model;
    QWidget* m_side;
    SpecLabel* m_spec;
    QLabel* m_words;
    QLabel* m_shard;
    QWidget* m_foot; ///< what is told of all weights, and the legend
    ElidedLabel* m_told;
    Legend* m_legend;
    QLabel* m_message;
    QWidget* m_fixes; ///< what can be done instead of what was refused, as buttons
    QWidget* m_one; ///< canvas and spec of one weight
    QGridLayout* m_grid;
    bool m_sideBelow = false;
    std::int64_t m_heldDevice = -1; ///< that the canvas of all weights was prepared for
};

} // namespace shardboard
