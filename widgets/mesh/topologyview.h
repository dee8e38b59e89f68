// SPDX-License-Identifier: Apache-2.0
// What the mesh lies on: levels of the hardware as nested boxes (a torus as a grid with its wraparound), each with its link,
// its rate, what the collectives of a step carry over it, and the mesh axes whose device groups reach over it.
#pragma once

#include "model/hardware/hardware.h"
#include "model/plan/time/traffic.h"
#include "widgets/document/documentview.h"

#include <QRectF>

#include <cstdint>
#include <vector>

namespace shardboard {

/// A level as it is told, the outermost first.
struct TopologyLine {
    std::size_t level = 0; ///< index into Hardware::levels
    QString name; ///< `NVLink domain of 8`, `fat tree of 2 nodes`, `torus 16 × 16, rings`
    QString link; ///< `NVLink 4 through NVSwitch, 18 links`
    QString rate; ///< `370 GB/s`: of a device, in one direction
    QString source;
    std::vector<int> axes; ///< mesh axes whose groups have members in several of its units, so that they use its link
    std::int64_t members = 1; ///< of one unit that the mesh uses
    std::int64_t units = 1; ///< of this level that the mesh uses
    LevelTraffic traffic {};
    double share = 0; ///< of the step, in which collectives run that reach as far as this level
};
std::vector<TopologyLine> topologyLines(const Mesh& mesh, const Hardware& hardware);

class TopologyView : public DocumentView {
    Q_OBJECT
public:
    explicit TopologyView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    const std::vector<TopologyLine>& lines() const { return m_lines; }
    /// Of the chip of a mesh axis on a line; empty when it is not there.
    QRectF chipRect(std::size_t line, int axis) const;

protected:
    void refresh() override;
    void selectionChanged() override { update(); }
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Chip {
        std::size_t line = 0;
        int axis = -1;
        QRectF rect;
    };
    std::vector<Chip> chips() const;
    double lineTop(std::size_t line) const;
    bool namesFit(double left) const;
    void paintTraffic(QPainter& painter, const QRectF& rect, const TopologyLine& line) const;
    QString toolTipAt(const QPoint& point) const;
    void paintPicture(QPainter& painter, const QRectF& rect) const;
    void paintTorus(QPainter& painter, const QRectF& rect, const Level& level) const;
    void paintDots(QPainter& painter, const QRectF& rect, std::int64_t count) const;

    std::vector<TopologyLine> m_lines;
    Hardware m_hardware;
    Mesh m_mesh;
};

} // namespace shardboard
