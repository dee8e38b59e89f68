// SPDX-License-Identifier: Apache-2.0
// The cut of a weight in a small picture: tiles in the colours of their owners, an empty frame where it is whole
// everywhere.
#pragma once

#include "widgets/shards/tilescene.h"

#include <QWidget>

namespace shardboard {

class TileStrip : public QWidget {
    Q_OBJECT
public:
    explicit TileStrip(QWidget* parent = nullptr);
    void showWeight(const WeightLayout& weight, const Evaluation& evaluation);
    void clear();
    const TileScene& scene() const { return m_scene; }
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void paintTiles(QPainter& painter, const QRectF& room);

    TileScene m_scene;
    bool m_empty = true;
};

} // namespace shardboard
