// SPDX-License-Identifier: Apache-2.0
// The selected weight, large: tiles, spec in the notations of the field, the shard of the device under the mouse, and
// the edits that cut its dims over mesh axes: by dropping an axis, from the context menu, by key.
#pragma once

#include "widgets/documentview.h"

class QAction;
class QGridLayout;
class QMenu;

namespace shardboard {

class SpecLabel;
class TileCanvas;

class TileView : public DocumentView {
    Q_OBJECT
public:
    explicit TileView(Document* document, QWidget* parent = nullptr);
    TileCanvas* canvas() const { return m_canvas; }
    /// `Cut dim 0 over model`, …, `Take model off` for the selected weight; refused ones are disabled and say why.
    void fillMenu(QMenu* menu);

public Q_SLOTS:
    /// Makes the edit, or shows why it is refused.
    void putAxis(int axis, int dim);

protected:
    void refresh() override;
    void selectionChanged() override;
    void hoverChanged() override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QString judge(int axis, int dim) const;
    void showWeight();
    void showSpec(const WeightLayout& weight);
    void showShard();
    void showMessage(const QString& message);
    void arrange();

    ViewHeader* m_header;
    TileCanvas* m_canvas;
    QWidget* m_side;
    SpecLabel* m_spec;
    QLabel* m_words;
    QLabel* m_shard;
    QLabel* m_message;
    QGridLayout* m_grid;
    bool m_sideBelow = false;
};

} // namespace shardboard
