// SPDX-License-Identifier: Apache-2.0
#include "widgets/meshview.h"

#include "widgets/format.h"
#include "widgets/meshcanvas.h"
#include "widgets/topologyview.h"

#include <QToolButton>
#include <QVBoxLayout>

namespace shardboard {

MeshView::MeshView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_header(new ViewHeader(tr("Mesh"), this))
    , m_coloring(new QToolButton(this))
    , m_canvas(new MeshCanvas(document, this))
{
    setObjectName(QStringLiteral("meshView"));
    setAccessibleName(tr("Mesh"));
    m_coloring->setObjectName(QStringLiteral("meshColoring"));
    m_coloring->setText(tr("Memory"));
    m_coloring->setAccessibleName(tr("Colours by memory"));
    m_coloring->setCheckable(true);
    m_coloring->setFocusPolicy(Qt::TabFocus);
    m_coloring->setToolTip(tr("Colours the devices by how full they are at their peak, instead of by the shard that they hold of the selected weight"));
    m_header->addRight(m_coloring);
    connect(m_coloring, &QToolButton::toggled, this,
            [this](bool memory) { m_canvas->setColoring(memory ? MeshCanvas::Coloring::Memory : MeshCanvas::Coloring::Shards); });
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_header);
    column->addWidget(m_canvas, 1);
    column->addWidget(new TopologyView(document, this));
    start();
}

void MeshView::refresh()
{
    QString detail;
    if (document()->hasDesign()) {
        const auto hardware = hardwareOf(document()->design());
        detail = counted(document()->design().mesh.deviceCount(), tr("device"), tr("devices"));
        detail += QStringLiteral(" · ") + qstr(document()->design().hardware);
        m_header->setToolTip(hardware.ok() ? qstr(hardware.value().name) : QString());
    }
    m_header->setDetail(detail);
    m_shownWeight = selection()->weight();
    m_canvas->refresh();
}

void MeshView::selectionChanged()
{
    if (m_shownWeight != selection()->weight()) {
        m_shownWeight = selection()->weight(); // its tiles colour the devices
        m_canvas->refresh();
    }
    m_canvas->updateOverlay();
}

void MeshView::hoverChanged() { m_canvas->updateOverlay(); }

} // namespace shardboard
