// SPDX-License-Identifier: Apache-2.0
// The colour and hatching of something, as a small square in a legend.
#pragma once

#include "widgets/look/devicecolors.h"

#include <QWidget>

namespace shardboard {

class Swatch : public QWidget {
    Q_OBJECT
public:
    explicit Swatch(const PartColor& color, QWidget* parent = nullptr);
    PartColor color() const { return m_color; }
    void setColor(const PartColor& color);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    PartColor m_color;
};

} // namespace shardboard
