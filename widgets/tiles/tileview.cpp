// SPDX-License-Identifier: Apache-2.0
#include "widgets/tiles/tileview.h"
#include "widgets/controls/viewheader.h"
#include "widgets/look/errortext.h"

#include "model/design/deviceweights.h"
#include "widgets/controls/contextmenu.h"
#include "widgets/controls/elidedlabel.h"
#include "widgets/controls/findfield.h"
#include "widgets/controls/headerfield.h"
#include "widgets/document/speclabel.h"
#include "widgets/edits/axisfixes.h"
#include "widgets/edits/weightedits.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/legend.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"
#include "widgets/tiles/modelcanvas.h"
#include "widgets/tiles/tilecanvas.h"

#include <QContextMenuEvent>
#include <QGridLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QShortcut>
#include <QToolButton>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kSideWidth = 190;
constexpr int kBesideTiles = 36; ///< pixels above the words, where the tiles begin
constexpr int kLeastCanvas = 170; ///< beside them
constexpr int kNarrow = 520; ///< below this width the spec stands under the tiles, where there is height for both

bool sideBelow(const QSize& size) { return size.width() < kNarrow && size.height() >= size.width(); }

} // namespace

TileView::TileView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_header(new ViewHeader(QString(), this))
    , m_all(new QToolButton(this))
    , m_find(new FindField(this))
    , m_held(new QToolButton(this))
    , m_canvas(new TileCanvas(document, this))
    , m_model(new ModelCanvas(document, this))
    , m_side(new QWidget(this))
    , m_spec(new SpecLabel(m_side))
    , m_words(new QLabel(m_side))
    , m_shard(new QLabel(this))
    , m_foot(new QWidget(this))
    , m_told(new ElidedLabel(m_foot))
    , m_legend(new Legend(m_foot))
    , m_message(new QLabel(this))
    , m_fixes(new QWidget(this))
    , m_one(new QWidget(this))
    , m_grid(new QGridLayout(m_one))
{
    nameWidget(this, "tileView", tr("Tiles"));
    m_header->setTitleMono(true);
    m_all->setObjectName(QStringLiteral("tileAll"));
    m_all->setText(tr("All Weights"));
    m_all->setToolTip(tr("All weights of the model on one canvas, by their bytes"));
    m_held->setObjectName(QStringLiteral("tileHeld"));
    m_held->setText(tr("On One Device"));
    m_held->setToolTip(tr("What the selected device holds of every weight, by its bytes"));
    nameWidget(m_find, "tileFind", tr("Find weights"),
               tr("Weights by their name or pattern, as in the list (Ctrl+F); Enter goes to the next one"));
    m_find->setFixedWidth(110);
    for (QToolButton* button : { m_held, m_all }) {
        button->setAccessibleName(button->text());
        button->setCheckable(true);
        button->setFocusPolicy(Qt::TabFocus);
    }
    m_findRoom = new HeaderField(m_header, m_find, m_held);
    m_header->addRight(m_all);
    m_spec->setObjectName(QStringLiteral("tileSpec"));
    m_words->setObjectName(QStringLiteral("tileWords"));
    m_shard->setObjectName(QStringLiteral("tileShard"));
    m_message->setObjectName(QStringLiteral("tileMessage"));
    for (QLabel* label : { m_words, m_shard, m_message }) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    m_message->hide();
    auto* side = boxLayout<QVBoxLayout>({ 0, 0, kPanelMargin, 0 }, 4, m_side);
    side->addWidget(m_spec);
    side->addWidget(m_words);
    side->addStretch(1);
    m_shard->setContentsMargins(kPanelMargin, 0, kPanelMargin, 8);
    m_message->setContentsMargins(kPanelMargin, 0, kPanelMargin, 8);
    m_told->setObjectName(QStringLiteral("tileTold"));
    m_legend->setObjectName(QStringLiteral("tileLegend"));
    auto* foot = boxLayout<QHBoxLayout>({ kPanelMargin, 0, kPanelMargin - 6, 4 }, 8, m_foot);
    foot->addWidget(m_told, 1);
    foot->addWidget(m_legend);
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setSpacing(0);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_header);
    column->addWidget(m_one, 1);
    column->addWidget(m_model, 1);
    column->addWidget(m_shard);
    column->addWidget(m_foot);
    column->addWidget(m_message);
    m_fixes->setObjectName(QStringLiteral("tileFixes"));
    m_fixes->hide();
    column->addWidget(m_fixes);
    m_canvas->setDropCheck([this](int axis, int dim) { return refusalOf(axis, dim); });
    connect(m_canvas, &TileCanvas::axisDropped, this, &TileView::putAxis);
    connect(m_legend, &Legend::chosenChanged, m_canvas, &TileCanvas::setHighlight);
    connect(m_legend, &Legend::chosenChanged, m_model, &ModelCanvas::setHighlight);
    connect(m_all, &QToolButton::toggled, this, &TileView::showAll);
    connect(m_find, &FindField::nextWanted, this, &TileView::findNext);
    connect(m_find, &FindField::left, this, [this] {
        m_model->navigation()->fitAll();
        m_model->setFocus(Qt::OtherFocusReason);
    });
    connect(m_find, &FindField::textChanged, this, [this](const QString& text) {
        m_model->setFilter(text);
        showModel();
    });
    auto* find = new QShortcut(QKeySequence::Find, this);
    find->setContext(Qt::WidgetWithChildrenShortcut);
    connect(find, &QShortcut::activated, this, [this] {
        showAll(true);
        m_find->begin();
    });
    connect(m_held, &QToolButton::toggled, this, [this](bool held) {
        m_model->setHeld(held);
        showWeight();
    });
    connect(m_model, &ModelCanvas::opened, this, [this](int weight) {
        selection()->setWeight(weight);
        m_all->setChecked(false);
        m_canvas->setFocus();
    });
    arrange();
    start();
}

void TileView::showAll(bool all)
{
    m_all->setChecked(all); // it may have been called by others
    m_heldDevice = -1;
    showWeight();
    if (all)
        m_model->setFocus();
}

void TileView::arrange()
{
    m_sideBelow = sideBelow(size());
    m_grid->removeWidget(m_canvas);
    m_grid->removeWidget(m_side);
    m_grid->addWidget(m_canvas, 0, 0);
    m_grid->addWidget(m_side, m_sideBelow ? 1 : 0, m_sideBelow ? 0 : 1);
    m_grid->setColumnStretch(0, 1);
    m_grid->setRowStretch(0, 1);
    const int sideWidth = static_cast<int>(kSideWidth * textScale(this));
    m_side->setMaximumWidth(m_sideBelow ? QWIDGETSIZE_MAX : sideWidth);
    m_side->setMinimumWidth(m_sideBelow ? 0 : sideWidth);
    m_side->layout()->setContentsMargins(m_sideBelow ? kPanelMargin : 0, m_sideBelow ? 0 : kBesideTiles, kPanelMargin,
                                         m_sideBelow ? 4 : 0);
    if (const WeightLayout* weight = selectedWeight(*document()))
        showSpec(*weight);
}

/// The inspector has the same words.
bool TileView::roomForSide() const
{
    if (!m_sideBelow)
        return width() >= kSideWidth * textScale(this) + kLeastCanvas;
    const int inside = std::max(1, width() - 2 * kPanelMargin);
    return m_words->heightForWidth(inside) + m_spec->sizeHint().height() + m_shard->heightForWidth(width())
        + m_canvas->minimumSizeHint().height() + m_foot->sizeHint().height()
        <= height();
}

QSize TileView::minimumSizeHint() const
{
    constexpr int kLeast = 280; // narrower than this and low, the words go below
    const QSize all = DocumentView::minimumSizeHint();
    return { std::min(all.width(), kLeast), all.height() };
}

void TileView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    if (m_sideBelow != sideBelow(size()))
        arrange();
    if (!m_sideBelow) { // beside the tiles, not beside their captions, unless the words have no room there
        const int words =
            m_spec->sizeHint().height() + 4 + m_words->heightForWidth(std::max(1, m_side->maximumWidth() - kPanelMargin));
        const int room = height() - m_header->sizeHint().height() - m_shard->heightForWidth(width())
            - (m_foot->isHidden() ? 0 : m_foot->sizeHint().height());
        m_side->layout()->setContentsMargins(0, std::clamp(room - words, 4, kBesideTiles), kPanelMargin, 0);
    }
    const WeightLayout* weight = selectedWeight(*document());
    m_side->setVisible(!m_all->isChecked() && weight && !weight->unknownShape && roomForSide());
}

void TileView::refresh()
{
    const Theme& theme = Theme::of(this);
    m_spec->setTextFont(monoFont(this, 0.5));
    m_words->setFont(uiFont(this, -0.5));
    m_shard->setFont(monoFont(this, -0.5));
    m_message->setFont(uiFont(this, -0.5));
    arrange();
    for (QWidget* label : std::initializer_list<QWidget*> { m_words, m_told })
        setTextColor(label, theme.quiet);
    m_told->setFont(uiFont(this, -1.5));
    setTextColor(m_message, theme.error);
    showMessage({});
    m_heldDevice = -1;
    showWeight();
}

void TileView::selectionChanged()
{
    showMessage({});
    showWeight();
}

void TileView::showHeld()
{
    m_held->setChecked(true);
    showAll(true);
}

void TileView::hoverChanged()
{
    if (m_all->isChecked()) {
        m_model->updateOverlay();
        m_told->setText(m_model->toldText());
        return;
    }
    showShard();
    m_canvas->update();
}

void TileView::weightHoverChanged()
{
    if (!m_all->isChecked()) {
        m_canvas->update();
        return;
    }
    m_model->updateHover();
    m_told->setText(m_model->toldText());
}

/// All weights, prepared anew when the device of the reverse view is another one.
void TileView::showModel()
{
    if (m_heldDevice != m_model->heldDevice()) {
        m_heldDevice = m_model->heldDevice();
        m_model->refresh();
    }
    m_model->updateOverlay();
    m_told->setText(m_model->toldText());
    const auto evaluation = document()->evaluation();
    m_header->setTitle(tr("All weights"));
    if (!evaluation) {
        m_header->setDetail(QString());
        return;
    }
    if (const QString text = m_find->wanted(); !text.isEmpty()) {
        const auto found = static_cast<std::int64_t>(m_model->matches().size());
        m_header->setDetail(found > 0 ? counted(found, tr("weight"), tr("weights"))
                                      : tr("no weight has “%1”; Esc shows all").arg(text));
        return;
    }
    const QString device = QString::number(evaluation->plan.mesh.deviceId(m_model->heldDevice()));
    m_header->setDetail(
        m_held->isChecked()
            ? tr("device %1 holds %2 of %3").arg(device, bytesText(m_model->heldBytes()), bytesText(m_model->allBytes()))
            : tr("%1 · area by bytes").arg(bytesText(m_model->allBytes())));
}

void TileView::findNext(bool back)
{
    auto found = m_model->matches();
    if (found.empty() || m_find->wanted().isEmpty())
        return;
    if (back)
        std::reverse(found.begin(), found.end());
    const int now = selection()->weight();
    const auto next = std::find_if(found.begin(), found.end(), [&](int weight) { return back ? weight < now : weight > now; });
    selection()->setWeight(next == found.end() ? found.front() : *next);
    m_model->zoomTo(selection()->weight());
}

void TileView::showWeight()
{
    const WeightLayout* weight = selectedWeight(*document());
    const bool all = m_all->isChecked();
    m_model->setVisible(all);
    m_findRoom->setWanted(all);
    if (!all) // before it is shown, which lays it out: it slept through changes of the mesh
        m_canvas->show(weight ? selection()->weight() : -1);
    m_one->setVisible(!all);
    m_shard->setVisible(!all);
    m_side->setVisible(weight && !weight->unknownShape && roomForSide());
    if (all)
        showModel();
    showLegend();
    if (all)
        return;
    m_header->setTitle(weight ? qstr(weight->spec.name) : tr("Tiles"));
    if (!weight) {
        m_header->setDetail(QString());
        m_shard->clear();
        return;
    }
    QString detail = qstr(dtypeName(weight->spec.dtype)) + QStringLiteral(" · ")
        + (weight->unknownShape ? tr("shape unknown") : shapeLabel(weight->spec.shape));
    if (weight->copies > 1)
        detail += tr(" · %1 layers").arg(weight->copies);
    m_header->setDetail(detail);
    showSpec(*weight);
    showShard();
}

/// Of one weight it stands there where not all tiles are alike or the tiles are too many to be named; of all weights always.
void TileView::showLegend()
{
    const bool all = m_all->isChecked();
    const auto entries = tileLegend(all ? m_model->kinds() : m_canvas->kinds());
    const TileScene& scene = m_canvas->scene();
    const bool wanted = all ? document()->hasDesign() : entries.size() > 1 || (!scene.image.isNull() && !scene.replicated);
    m_legend->setEntries(wanted ? entries : std::vector<LegendEntry>());
    m_told->setVisible(all);
    m_foot->setVisible(wanted);
}

void TileView::showSpec(const WeightLayout& weight)
{
    const Mesh& mesh = document()->design().mesh;
    m_spec->setSpec(shownSpec(*document(), weight.layout), weight.layout, mesh);
    QStringList words { parallelText(weight) };
    if (const QString max = maxText(weight); !max.isEmpty())
        words << QStringLiteral("MAX: %1").arg(max);
    if (document()->notation() != Notation::DTensor)
        words << QStringLiteral("DTensor: %1").arg(qstr(placementsText(weight.layout, mesh)));
    if (document()->notation() != Notation::Jax)
        words << QStringLiteral("JAX: %1").arg(qstr(specText(weight.layout, mesh)));
    if (!weight.layout.isReplicated())
        words << tr("cut: %1").arg(qstr(cutRuleName(weight.cut)));
    if (!m_canvas->scene().otherDims.isEmpty())
        words << m_canvas->scene().otherDims;
    m_words->setText(words.join(m_sideBelow ? QStringLiteral(" · ") : QStringLiteral("\n")));
}

void TileView::showShard()
{
    const WeightLayout* weight = selectedWeight(*document());
    if (!weight || weight->unknownShape) {
        m_shard->clear();
        return;
    }
    const std::int64_t device = shownDevice(*document());
    const Evaluation& evaluation = *document()->evaluation();
    const std::int64_t copies = replicationOf(evaluation, *weight);
    const QString on = counted(copies, tr("copy"), tr("copies"));
    if (device < 0) {
        m_shard->setText(tr("%1 per device · %2").arg(bytesText(weight->bytesPerDevice), on));
        m_shard->setToolTip(exactBytesText(weight->bytesPerDevice));
        return;
    }
    if (copiesOn(evaluation, *weight, device) == 0) {
        m_shard->setText(
            tr("Nothing on device %1, on another stage · %2").arg(QString::number(document()->design().mesh.deviceId(device)), on));
        m_shard->setToolTip({});
        return;
    }
    const Shard shard = weight->shards.shardAt(device);
    const std::int64_t bytes = bytesOf(shard.elements(), weight->spec.dtype);
    m_shard->setText(tr("Shard of device %1  %2 · %3 · %4")
                         .arg(QString::number(document()->design().mesh.deviceId(device)), shardText(shard), bytesText(bytes), on));
    m_shard->setToolTip(exactBytesText(bytes));
}

QString TileView::refusalOf(int axis, int dim) const
{
    const int weight = selection()->weight();
    if (!selectedWeight(*document()))
        return tr("No weight is selected.");
    if (dim >= 0 && axis == stageAxis(document()->design()))
        return tr("The stages of the pipeline lie along %1, each with layers of its own: nothing is cut over it.")
            .arg(qstr(document()->design().mesh.axis(axis).name));
    const Status status = document()->check(axisEdit(*document(), { weight }, axis, dim).design);
    return status.ok() ? QString() : errorText(status.error());
}

void TileView::putAxis(int axis, int dim)
{
    const WeightLayout* weight = selectedWeight(*document());
    if (!weight || axis < 0 || axis >= document()->design().mesh.axisCount() || dimOfAxis(weight->layout, axis) == dim)
        return;
    if (dim >= 0 && axis == stageAxis(document()->design()))
        return showMessage(refusalOf(axis, dim));
    const WeightEdit edit = axisEdit(*document(), { selection()->weight() }, axis, dim);
    const Status status = document()->edit(edit.design, edit.text);
    showMessage(status.ok() ? QString() : errorText(status.error()));
    if (!status.ok())
        offerFixes(axis, dim);
}

void TileView::showMessage(const QString& message)
{
    m_message->setText(message);
    m_message->setVisible(!message.isEmpty());
    m_fixes->hide();
}

/// Beside the refusal what would be accepted, one click away.
void TileView::offerFixes(int axis, int dim)
{
    qDeleteAll(m_fixes->findChildren<QPushButton*>(QString(), Qt::FindDirectChildrenOnly));
    delete m_fixes->layout();
    const auto fixes = axisFixes(*document(), selection()->weight(), axis, dim);
    auto* rows = boxLayout<QVBoxLayout>({ kPanelMargin, 0, kPanelMargin, 8 }, 4, m_fixes);
    for (const WeightEdit& fix : fixes) {
        auto* button = new QPushButton(menuText(fix.text), m_fixes);
        button->setAccessibleName(fix.text);
        rows->addWidget(button, 0, Qt::AlignLeft);
        connect(button, &QPushButton::clicked, this, [this, fix] {
            const Status status = document()->edit(fix.design, fix.text);
            showMessage(status.ok() ? QString() : errorText(status.error()));
        });
    }
    m_fixes->setVisible(!fixes.empty());
}

void TileView::fillMenu(QMenu* menu)
{
    const WeightLayout* weight = selectedWeight(*document());
    if (!weight)
        return;
    const Mesh& mesh = document()->design().mesh;
    menu->setToolTipsVisible(true);
    for (int axis = 0; axis < mesh.axisCount(); ++axis) {
        const QString name = qstr(mesh.axis(axis).name);
        const int now = dimOfAxis(weight->layout, axis);
        const int dims = axis == stageAxis(document()->design()) ? 0 : static_cast<int>(weight->spec.shape.size());
        for (int dim = -1; dim < dims; ++dim) {
            if (dim == now || (dim < 0 && now < 0))
                continue;
            QAction* action = menu->addAction(dim < 0 ? tr("Take %1 off").arg(name) : tr("Cut dim %1 over %2").arg(dim).arg(name));
            const QString refusal = refusalOf(axis, dim);
            action->setEnabled(refusal.isEmpty());
            action->setToolTip(refusal);
            connect(action, &QAction::triggered, this, [this, axis, dim] { putAxis(axis, dim); });
        }
    }
    if (!weight->unknownShape) {
        menu->addSeparator();
        addCopyMenu(menu, weight->layout, mesh);
    }
}

void TileView::contextMenuEvent(QContextMenuEvent* event)
{
    showContextMenu(this, event->globalPos(), [this](QMenu* menu) { fillMenu(menu); });
}

} // namespace shardboard
