// SPDX-License-Identifier: Apache-2.0
#include "widgets/meshview.h"

#include "widgets/format.h"
#include "widgets/canvas/navigation.h"
#include "widgets/meshcanvas.h"
#include "widgets/meshorder.h"
#include "widgets/planplayer.h"
#include "widgets/stepwords.h"
#include "widgets/topologyview.h"

#include <QContextMenuEvent>
#include <QMenu>
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

void MeshView::follow(PlanPlayer* player)
{
    m_player = player;
    connect(player, &PlanPlayer::stepChanged, this, &MeshView::showStep);
    connect(player, &PlanPlayer::progressed, this, &MeshView::showStep);
    connect(player, &QObject::destroyed, this, [this] { m_player = nullptr; });
}

void MeshView::showStep()
{
    const auto evaluation = document()->evaluation();
    if (m_player == nullptr || isAsleep())
        return;
    if (evaluation && m_player->isShown())
        m_canvas->showTransfer(m_player->current().collective, m_player->progress(), stepTitle(*evaluation, m_player->current()),
                               stepDetail(*evaluation, m_player->current()));
    else
        m_canvas->showTransfer(-1, 1);
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
    showStep();
}

void MeshView::selectionChanged()
{
    if (m_shownWeight != selection()->weight()) {
        m_shownWeight = selection()->weight(); // its tiles colour the devices
        m_canvas->refresh();
        showStep();
    }
    m_canvas->updateOverlay();
}

void MeshView::fillMenu(QMenu* menu, std::int64_t device)
{
    if (!document()->hasDesign())
        return;
    const Design& design = document()->design();
    const Mesh& mesh = design.mesh;
    menu->setToolTipsVisible(true);
    const auto offer = [&](const QString& text, const Result<Design>& edited) {
        QAction* action = menu->addAction(text);
        const Status status = edited.ok() ? document()->check(edited.value()) : Status(edited.error());
        action->setEnabled(status.ok() && !(edited.value() == design));
        if (!status.ok())
            action->setToolTip(qstr(status.error().text()));
        else if (edited.value() == design)
            action->setToolTip(tr("It is so already"));
        else
            connect(action, &QAction::triggered, this, [this, text, to = edited.value()] { (void)document()->edit(to, text).ok(); });
    };
    const std::int64_t other = selection()->device();
    if (device >= 0 && other >= 0 && other < mesh.deviceCount() && other != device)
        offer(tr("Swap devices %1 and %2").arg(mesh.deviceId(other)).arg(mesh.deviceId(device)), withDevicesSwapped(design, other, device));
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        if (mesh.axis(axis).size > 1)
            offer(tr("Number devices along %1 first").arg(qstr(mesh.axis(axis).name)), withDevicesAlong(design, axis));
    offer(tr("Number devices row by row"), withDevicesAlong(design, -1));
    menu->addSeparator();
    CanvasNavigation* navigation = m_canvas->navigation();
    connect(menu->addAction(tr("Show Selection\tF")), &QAction::triggered, navigation, &CanvasNavigation::fitSelection);
    connect(menu->addAction(tr("Show Everything\tShift+F")), &QAction::triggered, navigation, &CanvasNavigation::fitAll);
}

void MeshView::contextMenuEvent(QContextMenuEvent* event)
{
    const bool mouse = event->reason() == QContextMenuEvent::Mouse;
    QMenu menu(this);
    fillMenu(&menu, mouse ? m_canvas->deviceAt(m_canvas->mapFromGlobal(event->globalPos())) : selection()->device());
    if (!menu.isEmpty())
        menu.exec(event->globalPos());
}

void MeshView::hoverChanged() { m_canvas->updateOverlay(); }

} // namespace shardboard
