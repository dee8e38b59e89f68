// SPDX-License-Identifier: Apache-2.0
#include "widgets/mesh/meshview.h"
#include "widgets/controls/viewheader.h"
#include "widgets/look/errortext.h"

#include "widgets/canvas/navigation.h"
#include "widgets/controls/contextmenu.h"
#include "widgets/controls/findfield.h"
#include "widgets/document/planplayer.h"
#include "widgets/document/steptexts.h"
#include "widgets/edits/meshorder.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/legend.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/mesh/meshcanvas.h"
#include "widgets/mesh/meshlegend.h"
#include "widgets/mesh/topologyview.h"

#include <QContextMenuEvent>
#include <QEvent>
#include <QMenu>
#include <QShortcut>
#include <QToolButton>

namespace shardboard {

namespace {

constexpr int kFind = 110;
constexpr int kRoomy = 400; ///< below this width the field is not there until it is wanted

} // namespace

MeshView::MeshView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_header(new ViewHeader(tr("Mesh"), this))
    , m_find(new FindField(this))
    , m_coloring(new QToolButton(this))
    , m_canvas(new MeshCanvas(document, this))
    , m_foot(new QWidget(this))
    , m_legend(new Legend(m_foot))
    , m_topology(new TopologyView(document, this))
{
    nameWidget(this, "meshView", tr("Mesh"));
    m_coloring->setObjectName(QStringLiteral("meshColoring"));
    m_coloring->setText(tr("Memory"));
    m_coloring->setAccessibleName(tr("Color by memory"));
    m_coloring->setCheckable(true);
    m_coloring->setFocusPolicy(Qt::TabFocus);
    m_coloring->setToolTip(
        tr("Colors the devices by how full they are at their peak, instead of by the shard that they hold of the selected weight"));
    nameWidget(m_find, "meshFind", tr("Find devices"),
               tr("A device's number, coordinates such as model=3, node 1, or a mesh axis (Ctrl+F); Enter goes to the next one"));
    m_find->setFixedWidth(kFind);
    m_find->installEventFilter(this);
    m_header->addRight(m_find);
    m_header->addRight(m_coloring);
    connect(m_find, &FindField::textChanged, this, [this] {
        m_canvas->setFound(m_find->wanted());
        showFind();
    });
    connect(m_find, &FindField::nextWanted, m_canvas, &MeshCanvas::findNext);
    connect(m_find, &FindField::left, this, [this] {
        m_canvas->setFocus(Qt::OtherFocusReason);
        showFind();
    });
    auto* find = new QShortcut(QKeySequence::Find, this);
    find->setContext(Qt::WidgetWithChildrenShortcut);
    connect(find, &QShortcut::activated, this, &MeshView::focusFind);
    connect(m_coloring, &QToolButton::toggled, this, [this](bool memory) {
        m_canvas->setColoring(memory ? MeshCanvas::Coloring::Memory : MeshCanvas::Coloring::Shards);
        showLegend();
    });
    m_legend->setObjectName(QStringLiteral("meshLegend"));
    auto* foot = new QHBoxLayout(m_foot);
    foot->setContentsMargins(kPanelMargin - 6, 0, kPanelMargin, 0);
    foot->addWidget(m_legend);
    foot->addStretch(1);
    m_foot->hide();
    connect(m_legend, &Legend::chosenChanged, m_canvas, &MeshCanvas::setHighlight);
    connect(m_canvas, &MeshCanvas::placeChanged, this, &MeshView::showHeader);
    connect(m_header, &ViewHeader::stepChosen, this, [this](int step) {
        m_canvas->goBackTo(step);
        m_canvas->setFocus(Qt::OtherFocusReason); // its keys go on from there
    });
    connect(m_canvas, &MeshCanvas::allWanted, m_legend, [this] { m_legend->choose({}); });
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->setSizeConstraint(QLayout::SetNoConstraint); // the view may get lower than with its legend
    column->addWidget(m_header);
    column->addWidget(m_canvas, 1);
    column->addWidget(m_foot);
    column->addWidget(m_topology);
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
        m_canvas->showTransfer({}, 1);
}

void MeshView::focusFind() { m_find->begin(); }

void MeshView::showFind()
{
    m_find->setVisible(document()->hasDesign()
                       && (width() >= kRoomy * textScale(this) || m_find->hasFocus() || !m_find->wanted().isEmpty()));
    showHeader(); // what it is written in got another width
}

void MeshView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    showFind();
    showLegend();
}

bool MeshView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_find && (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut))
        QMetaObject::invokeMethod(this, &MeshView::showFind, Qt::QueuedConnection); // when the focus is where it goes to
    return DocumentView::eventFilter(watched, event);
}

QSize MeshView::minimumSizeHint() const
{
    const QSize out = DocumentView::minimumSizeHint();
    return { out.width(), out.height() - (m_foot->isHidden() ? 0 : m_foot->minimumSizeHint().height()) };
}

/// Of colours by shard; those by memory have their scale in the picture.
void MeshView::showLegend()
{
    const int without = height() - m_header->sizeHint().height() - m_topology->sizeHint().height();
    const int legend = m_legend->minimumSizeHint().height();
    const MeshCanvas::Fitted alone = m_canvas->fittedIn({ width(), without });
    const MeshCanvas::Fitted beside = m_canvas->fittedIn({ width(), without - legend });
    // Devices lose neither their ids nor their memory for it, nor what they are seen in: then the bars of the axes tell alone
    // which colour is which.
    const bool room = without - legend >= m_canvas->minimumSizeHint().height() && beside.detail == alone.detail
        && (beside.height >= 2 * legend || beside.height >= 0.9 * alone.height);
    std::vector<LegendEntry> entries;
    if (document()->hasDesign() && m_canvas->coloring() == MeshCanvas::Coloring::Shards && room)
        entries = meshLegend(m_canvas->colors());
    const bool shown = !entries.empty();
    const bool other = m_foot->isHidden() == shown;
    m_foot->setVisible(shown);
    m_legend->setEntries(std::move(entries));
    if (m_legend->sizeHint().width() > width() - 2 * kPanelMargin + 6) // names that are cut say nothing
        m_legend->setEntries(meshLegend(m_canvas->colors(), true));
    if (other)
        layout()->activate();
    if (shown)
        m_foot->layout()->activate(); // a picture that is taken now has it, too
}

/// How many devices there are, or match what is searched for.
void MeshView::showHeader()
{
    QString detail;
    QStringList path;
    if (document()->hasDesign()) {
        const auto hardware = hardwareOf(document()->design());
        detail = counted(document()->design().mesh.deviceCount(), tr("device"), tr("devices"));
        if (const QStringList steps = m_canvas->placeSteps(); steps.isEmpty())
            detail += QStringLiteral(" · ") + qstr(document()->design().hardware);
        else
            path = QStringList { detail } + steps;
        m_header->setToolTip(hardware.ok() ? qstr(hardware.value().name) : QString());
    }
    const MeshPattern& found = m_canvas->found();
    if (!found.isEmpty() && document()->hasDesign()) {
        const Mesh& mesh = document()->design().mesh;
        const std::int64_t count = found.count(mesh);
        detail = found.axis() >= 0 ? tr("mesh axis %1, Enter selects it").arg(qstr(mesh.axis(found.axis()).name))
            : count == 0           ? tr("no device is “%1”; Esc shows all").arg(m_find->wanted())
                                   : tr("%1 of %2").arg(count).arg(counted(mesh.deviceCount(), tr("device"), tr("devices")));
        path.clear();
    }
    if (path.isEmpty())
        m_header->setDetail(detail);
    else
        m_header->setPath(path);
}

void MeshView::refresh()
{
    m_shownWeight = selection()->weight();
    m_canvas->refresh();
    showLegend();
    showFind();
    showStep();
}

void MeshView::selectionChanged()
{
    if (m_shownWeight != selection()->weight()) {
        m_shownWeight = selection()->weight(); // its tiles colour the devices
        m_canvas->refresh();
        showLegend();
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
            action->setToolTip(errorText(status.error()));
        else if (edited.value() == design)
            action->setToolTip(tr("It already is"));
        else
            connect(action, &QAction::triggered, this,
                    [this, text, to = edited.value()] { (void)document()->edit(to, text).ok(); });
    };
    const std::int64_t other = selection()->device();
    if (device >= 0 && other >= 0 && other < mesh.deviceCount() && other != device)
        offer(tr("Swap devices %1 and %2").arg(mesh.deviceId(other)).arg(mesh.deviceId(device)),
              withDevicesSwapped(design, other, device));
    for (int axis = 0; axis < mesh.axisCount(); ++axis)
        if (mesh.axis(axis).size > 1)
            offer(tr("Number devices along %1 first").arg(qstr(mesh.axis(axis).name)), withDevicesAlong(design, axis));
    offer(tr("Number devices row by row"), withDevicesAlong(design, -1));
    menu->addSeparator();
    connect(menu->addAction(tr("Find Devices\tCtrl+F")), &QAction::triggered, this, &MeshView::focusFind);
    CanvasNavigation* navigation = m_canvas->navigation();
    connect(menu->addAction(tr("Show Selection\tF")), &QAction::triggered, navigation, &CanvasNavigation::fitSelection);
    connect(menu->addAction(tr("Show Everything\tShift+F")), &QAction::triggered, navigation, &CanvasNavigation::fitAll);
}

void MeshView::contextMenuEvent(QContextMenuEvent* event)
{
    const bool mouse = event->reason() == QContextMenuEvent::Mouse;
    const std::int64_t device = mouse ? m_canvas->deviceAt(m_canvas->mapFromGlobal(event->globalPos())) : selection()->device();
    showContextMenu(this, event->globalPos(), [&](QMenu* menu) { fillMenu(menu, device); });
}

void MeshView::hoverChanged() { m_canvas->updateOverlay(); }

} // namespace shardboard
