// SPDX-License-Identifier: Apache-2.0
#include "widgets/cuts/cutsview.h"

#include "model/core/checked.h"

#include "widgets/controls/axispicker.h"
#include "widgets/controls/choicebox.h"
#include "widgets/controls/numberedit.h"
#include "widgets/cuts/cutsmodel.h"
#include "widgets/edits/strategydraft.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/devicecolors.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QTableView>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kRoomy = 860; ///< from this width on the rules tell who cuts by them
constexpr int kLeastRow = 20;
constexpr int kNarrow = 560; ///< below this width the sizes are left to the bar and its tool tip

/// Colour of each part: that of the first device that holds it.
std::vector<std::int64_t> colorsOf(const std::vector<AxisRef>& axes, const Mesh& mesh, const DeviceColors& colors,
                                   std::int64_t parts)
{
    std::vector<std::int64_t> out(static_cast<std::size_t>(parts), -1);
    for (std::int64_t position = 0; position < mesh.deviceCount(); ++position) {
        auto& color = out[static_cast<std::size_t>(partIndexOf(axes, mesh, position))];
        if (color < 0)
            color = colors.indexAt(position);
    }
    return out;
}

} // namespace

CutsView::CutsView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_model(new CutsModel(this))
    , m_dim(new ChoiceBox(false, this))
    , m_axes(new AxisPicker(this))
    , m_grain(new NumberEdit(this))
    , m_note(new QLabel(this))
    , m_grainName(new QLabel(tr("unit"), this))
    , m_empty(new QLabel(this))
    , m_message(new QLabel(this))
    , m_top(new QWidget(this))
    , m_table(new QTableView(this))
{
    nameView("cutsView", tr("Cuts"));
    buildLayout();
    connect(m_dim, &QComboBox::activated, this, [this] { showDim(); });
    connect(m_axes, &AxisPicker::axesChanged, this, [this] { compare(); });
    connect(m_grain, &QLineEdit::textEdited, this, [this] { compare(); });
    connect(m_table, &QTableView::doubleClicked, this, [this](const QModelIndex& index) { useRule(index.row()); });
    start();
}

void CutsView::buildLayout()
{
    nameWidget(m_dim, "cutsDim", tr("Tensor dim"));
    m_axes->setObjectName(QStringLiteral("cutsAxes"));
    nameWidget(m_grain, "cutsGrain", tr("Elements that stay together"),
               tr("Elements that the grain-balanced rule keeps together, such as a head or a quantization block"));
    m_grain->setOptional(true);
    m_note->setObjectName(QStringLiteral("cutsNote"));
    m_empty->setObjectName(QStringLiteral("cutsEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_message->setObjectName(QStringLiteral("cutsMessage"));
    m_message->setWordWrap(true);
    m_message->setContentsMargins(kPanelMargin, 2, kPanelMargin, 4);
    m_message->hide();
    nameWidget(m_table, "cutsTable", tr("Cut rules"));
    m_table->setModel(m_model);
    m_table->setItemDelegateForColumn(CutsModel::BarColumn, new CutBarDelegate(m_model, m_table));
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->setTabKeyNavigation(false);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
    m_table->verticalHeader()->setMinimumSectionSize(20);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setMinimumSectionSize(40);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    m_table->horizontalHeader()->setSectionResizeMode(CutsModel::BarColumn, QHeaderView::Stretch);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->installEventFilter(this);
    makeCopyable(m_table);
    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 4 }, 12, m_top);
    top->addWidget(m_dim);
    top->addWidget(m_axes, 1);
    top->addWidget(m_note);
    top->addWidget(m_grainName);
    top->addWidget(m_grain);
    auto* table = new QHBoxLayout;
    table->setContentsMargins(8, 0, 8, 0);
    table->addWidget(m_table);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_top);
    column->addLayout(table, 1);
    column->addWidget(m_message);
    column->addWidget(m_empty, 1);
}

QSize CutsView::sizeHint() const { return { 720, 240 }; }

void CutsView::refresh()
{
    const Theme& theme = Theme::of(this);
    for (QLabel* label : { m_note, m_grainName, m_empty })
        setTextColor(label, theme.quiet);
    setTextColor(m_message, theme.error);
    m_note->setFont(uiFont(this, -0.5));
    m_grainName->setFont(uiFont(this, -0.5));
    m_message->setFont(uiFont(this, -0.5));
    m_grain->setFont(monoFont(this, -0.5));
    m_dim->setFixedWidth(static_cast<int>(150 * textScale(this)));
    m_grain->setFixedWidth(static_cast<int>(72 * textScale(this)));
    m_table->horizontalHeader()->setFont(uiFont(this, -1));
    m_shown.clear();
    showWeight();
}

void CutsView::selectionChanged()
{
    const WeightLayout* weight = selectedWeight(*document());
    if ((weight ? weight->spec.name : std::string()) != m_shown)
        showWeight();
}

void CutsView::showWeight()
{
    const WeightLayout* weight = selectedWeight(*document());
    m_message->hide();
    const bool some = weight && !weight->unknownShape && !weight->spec.shape.empty();
    m_empty->setVisible(!some);
    m_table->setVisible(some);
    m_top->setVisible(some);
    m_shown = weight ? weight->spec.name : std::string();
    if (!some) {
        m_model->clear();
        m_empty->setText(!document()->hasDesign() ? tr("No design is open.")
                             : weight             ? tr("The shape of this weight is not known.")
                                                  : tr("Select a weight to compare the cut rules on it."));
        return;
    }
    int cut = 0;
    m_dim->clear();
    for (int dim = static_cast<int>(weight->spec.shape.size()); dim-- > 0;)
        cut = weight->layout.dims[static_cast<std::size_t>(dim)].empty() ? cut : dim;
    for (std::size_t dim = 0; dim < weight->spec.shape.size(); ++dim)
        m_dim->addChoice(tr("dim %1 · %2").arg(dim).arg(weight->spec.shape[dim]),
                         dim < weight->spec.dimLabels.size() ? qstr(weight->spec.dimLabels[dim]) : QString(),
                         static_cast<int>(dim));
    m_dim->choose(cut);
    m_axes->setMesh(document()->design().mesh);
    showDim();
}

/// Over the axes that cut the dim, else over those that cut another one or could.
void CutsView::showDim()
{
    const WeightLayout* weight = selectedWeight(*document());
    if (!weight || m_dim->currentIndex() < 0)
        return;
    const Mesh& mesh = document()->design().mesh;
    const auto dim = static_cast<std::size_t>(m_dim->currentData().toInt());
    std::vector<std::string> names;
    for (const AxisRef& ref : weight->layout.dims[dim])
        if (ref.whole())
            names.push_back(mesh.axis(ref.axis).name);
    m_axes->setAxes(names.empty() ? asKind({}, StrategyKind::Axiswise, *document(), selection()->weight()).strategy.axes : names);
    m_grain->setValue(dim < weight->spec.grains.size() && weight->spec.grains[dim] > 1 ? weight->spec.grains[dim] : 0);
    compare();
}

std::vector<AxisRef> CutsView::axes() const
{
    std::vector<AxisRef> out;
    for (const std::string& name : m_axes->axes())
        if (const int axis = document()->design().mesh.find(name); axis >= 0)
            out.push_back({ axis, 1, 0 });
    return out;
}

/// Whether the weight is cut on this dim over these axes, as a whole.
bool CutsView::isActual() const
{
    const WeightLayout* weight = selectedWeight(*document());
    const auto dim = static_cast<std::size_t>(m_dim->currentData().toInt());
    return weight && dim < weight->layout.dims.size() && weight->layout.dims[dim] == axes() && !axes().empty()
        && weight->shards.cuts()[dim].segments().size() <= 1;
}

void CutsView::compare()
{
    const WeightLayout* weight = selectedWeight(*document());
    if (!weight || m_dim->currentIndex() < 0)
        return;
    const Mesh& mesh = document()->design().mesh;
    const auto dim = static_cast<std::size_t>(m_dim->currentData().toInt());
    const std::int64_t size = weight->spec.shape[dim];
    const auto refs = axes();
    const std::int64_t grain = m_grain->value();
    const auto comparison =
        compareCuts(size, refs, mesh, grain > 0 ? std::optional<std::int64_t>(grain) : std::nullopt, "dim " + std::to_string(dim));
    const std::int64_t others = size > 0 ? elementCount(weight->spec.shape).value_or(0) / size : 0;
    const Theme& theme = Theme::of(this);
    CutsModel::Look look { theme.quiet, theme.error, monoFont(this, -0.5), uiFont(this, 0, true) };
    const DeviceColors colors(mesh, isActual() ? &weight->shards : nullptr);
    m_model->setComparison(comparison, mesh, colorsOf(refs, mesh, colors, comparison.parts), colors.parts(),
                           bytesOf(others, weight->spec.dtype), isActual() ? std::optional(weight->cut) : std::nullopt, look);
    m_table->clearSpans();
    for (int row = 0; row < m_model->rowCount(); ++row)
        if (m_model->row(row).refused)
            m_table->setSpan(row, CutsModel::BarColumn, 1, CutsModel::ColumnCount - CutsModel::BarColumn);
    const bool fused = weight->shards.cuts()[dim].segments().size() > 1;
    m_note->setText(counted(comparison.parts, tr("part"), tr("parts"))
                    + (isActual()         ? QString()
                           : fused        ? tr(" · its fused parts are cut on their own")
                           : refs.empty() ? QString()
                                          : tr(" · not how it is cut")));
    fitSizes();
}

/// The bar gets what the texts leave; all five rows are seen wherever there is room for them.
void CutsView::fitSizes()
{
    m_model->setUsersShown(width() >= kRoomy * textScale(this));
    m_table->setColumnHidden(CutsModel::SizesColumn, width() < kNarrow * textScale(this));
    const QFontMetrics heading(uiFont(this, -1));
    const QAbstractItemView* cells = m_table;
    const auto wanted = [&](int column) {
        const QString title = m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        return std::max(cells->sizeHintForColumn(column), heading.horizontalAdvance(title) + 20);
    };
    int others = 0;
    for (const int column : { CutsModel::SizesColumn, CutsModel::DiffersColumn, CutsModel::PaddingColumn }) {
        m_table->setColumnWidth(column, std::min(wanted(column), width() / 4));
        others += m_table->isColumnHidden(column) ? 0 : m_table->columnWidth(column);
    }
    // The rule's name before a bar that is wider than its numbers need.
    const int rule = std::max(width() / 4, width() * 3 / 4 - others);
    m_table->setColumnWidth(CutsModel::RuleColumn, std::min(wanted(CutsModel::RuleColumn), rule));
    const int room = m_table->height() - m_table->horizontalHeader()->height();
    const int rows = std::max(m_model->rowCount(), 1);
    m_table->verticalHeader()->setDefaultSectionSize(
        std::clamp(room / rows, std::max(kLeastRow, m_table->fontMetrics().height() + 4), rowHeight(m_table)));
}

bool CutsView::event(QEvent* event)
{
    const bool out = DocumentView::event(event);
    if (event->type() == QEvent::LayoutRequest)
        fitSizes();
    return out;
}

void CutsView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    layout()->activate();
    fitSizes();
}

void CutsView::useRule(int row)
{
    const WeightLayout* weight = selectedWeight(*document());
    if (!weight || row < 0 || row >= m_model->rowCount())
        return;
    const CutRow& cut = m_model->row(row);
    QString refusal;
    if (cut.refused) {
        refusal = qstr(cut.refused->text());
    } else if (!isActual()) {
        refusal = tr("%1 is not cut on this dim over these mesh axes; write its strategy to change that.")
                      .arg(shortName(weight->spec.name));
    } else {
        StrategyDraft draft = draftOf(*document(), selection()->weight());
        draft.cut = cut.rule == draft.strategy.defaultCut() ? std::optional<CutRule>() : cut.rule;
        const auto edit = draftEdit(*document(), { selection()->weight() }, draft, DraftScope::Row, 0);
        const QString text = tr("Cut %1 by the %2 rule").arg(shortName(weight->spec.name), qstr(cutRuleName(cut.rule)));
        const Status status = edit.ok() ? document()->edit(edit.value().design, text) : Status(edit.error());
        refusal = status.ok() ? QString() : errorText(status.error());
    }
    m_message->setText(refusal);
    m_message->setVisible(!refusal.isEmpty());
}

bool CutsView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_table && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if ((key == Qt::Key_Return || key == Qt::Key_Enter) && m_table->currentIndex().isValid()) {
            useRule(m_table->currentIndex().row());
            return true;
        }
    }
    return DocumentView::eventFilter(watched, event);
}

} // namespace shardboard
