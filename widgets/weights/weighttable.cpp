// SPDX-License-Identifier: Apache-2.0
#include "widgets/weights/weighttable.h"
#include "widgets/controls/viewheader.h"
#include "widgets/look/errortext.h"

#include "widgets/controls/contextmenu.h"
#include "widgets/document/shownspec.h"
#include "widgets/edits/strategyclip.h"
#include "widgets/edits/weightedits.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"
#include "widgets/tables/tablecopy.h"
#include "widgets/tables/weighthover.h"
#include "widgets/weights/weightdelegate.h"
#include "widgets/weights/weightmodel.h"

#include <QActionGroup>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QCursor>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QSet>
#include <QStyle>
#include <QToolButton>
#include <QTreeView>

#include <algorithm>

namespace shardboard {

namespace {

struct SortChoice {
    const char* title;
    WeightModel::Role role;
    Qt::SortOrder order;
};

constexpr SortChoice kSorts[] = {
    { QT_TRANSLATE_NOOP("WeightPanel", "in model order"), WeightModel::OrderRole, Qt::AscendingOrder },
    { QT_TRANSLATE_NOOP("WeightPanel", "by name"), WeightModel::NameRole, Qt::AscendingOrder },
    { QT_TRANSLATE_NOOP("WeightPanel", "largest first"), WeightModel::BytesRole, Qt::DescendingOrder },
    { QT_TRANSLATE_NOOP("WeightPanel", "most bytes per device first"), WeightModel::BytesPerDeviceRole, Qt::DescendingOrder },
    { QT_TRANSLATE_NOOP("WeightPanel", "by layout"), WeightModel::LayoutRole, Qt::AscendingOrder },
};

} // namespace

WeightPanel::WeightPanel(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_model(new WeightModel(this))
    , m_filter(new WeightFilter(this))
    , m_header(new ViewHeader(tr("Weights"), this))
    , m_filterEdit(new QLineEdit(this))
    , m_sort(new QToolButton(this))
    , m_tree(new QTreeView(this))
    , m_empty(new QLabel(this))
    , m_message(new QLabel(this))
{
    nameView("weightPanel", tr("Weights"));
    m_filter->setSourceModel(m_model);
    m_filter->sort(0);
    m_header->setDetailAtRight();
    buildLayout();
    connect(m_filterEdit, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_following = true;
        m_filter->setText(text);
        m_tree->expandAll();
        m_following = false;
        showCount();
        selectionChanged();
    });
    connect(m_tree->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] { followRows(); });
    connect(m_tree, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        const int x = m_tree->viewport()->mapFromGlobal(QCursor::pos()).x();
        if (m_filter->hasChildren(index) && x < WeightDelegate::kIndent)
            m_tree->setExpanded(index, !m_tree->isExpanded(index));
    });
    connect(m_tree, &QWidget::customContextMenuRequested, this, [this](const QPoint& point) { contextMenu(point); });
    connect(m_tree, &QTreeView::doubleClicked, this, [this](const QModelIndex& index) {
        if (index.data(WeightModel::WeightRole).toInt() >= 0)
            Q_EMIT strategyRequested(false);
    });
    m_filterEdit->installEventFilter(this);
    m_tree->installEventFilter(this);
    new WeightHover(m_tree, selection(), [this](const QModelIndex& index) {
        std::vector<int> out;
        if (const int weight = index.data(WeightModel::WeightRole).toInt(); weight >= 0)
            out.push_back(weight);
        else if (!m_tree->isExpanded(index)) // a folded group stands for what is in it
            for (int row = 0; row < m_filter->rowCount(index); ++row)
                out.push_back(m_filter->index(row, 0, index).data(WeightModel::WeightRole).toInt());
        return out;
    });
    makeCopyable(
        m_tree, [this] { return selectedTable(); },
        [document](QMimeData* copied) {
            if (const WeightLayout* current = selectedWeight(*document)) // to paste onto other weights
                copied->setData(QLatin1String(kStrategyMimeType), strategyData(current->strategy));
        });
    start();
}

void WeightPanel::buildLayout()
{
    nameWidget(m_filterEdit, "weightFilter", tr("Filter of the weights"));
    m_filterEdit->setPlaceholderText(tr("Filter, e.g. *.mlp.* or dim 0 = model"));
    m_filterEdit->setToolTip(tr("Part of a name, a pattern with *, dim 0 = model, or replicated"));
    m_filterEdit->setClearButtonEnabled(true);
    m_sort->setObjectName(QStringLiteral("weightSort"));
    m_sort->setText(QStringLiteral("↑↓"));
    m_sort->setAccessibleName(tr("Order of the weights"));
    m_sort->setToolTip(tr("Order of the weights"));
    m_sort->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(m_sort);
    auto* group = new QActionGroup(m_sort);
    for (const SortChoice& choice : kSorts) {
        QAction* action = group->addAction(menu->addAction(tr(choice.title)));
        action->setCheckable(true);
        action->setChecked(menu->actions().size() == 1);
        connect(action, &QAction::triggered, this, [this, choice] {
            m_filter->setSortRole(choice.role);
            m_filter->sort(0, choice.order);
        });
    }
    m_sort->setMenu(menu);
    nameWidget(m_tree, "weightTree", tr("Weights"));
    m_tree->setModel(m_filter);
    m_tree->setItemDelegate(new WeightDelegate(m_tree));
    m_tree->setHeaderHidden(true);
    m_tree->setIndentation(0); // the delegate indents, so that the selection is one shape
    m_tree->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_tree->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_tree->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_tree->setContextMenuPolicy(Qt::CustomContextMenu);
    m_tree->setMouseTracking(true);
    m_tree->header()->setSectionResizeMode(QHeaderView::Stretch);
    m_tree->header()->setMinimumSectionSize(60);
    m_empty->setObjectName(QStringLiteral("weightEmpty"));
    m_empty->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    connect(m_empty, &QLabel::linkActivated, m_filterEdit, &QLineEdit::clear);
    m_message->setObjectName(QStringLiteral("weightMessage"));
    for (QLabel* label : { m_empty, m_message }) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        label->setContentsMargins(kPanelMargin, 4, kPanelMargin, 4);
        label->hide();
    }
    m_empty->setTextFormat(Qt::RichText); // it has a link
    auto* top = boxLayout<QHBoxLayout>({ 12, 2, 8, 6 }, 4);
    top->addWidget(m_filterEdit, 1);
    top->addWidget(m_sort);
    auto* tree = new QHBoxLayout;
    tree->setContentsMargins(8, 0, 0, 0);
    tree->addWidget(m_tree);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addWidget(m_header);
    column->addLayout(top);
    column->addWidget(m_empty);
    column->addLayout(tree, 1);
    column->addWidget(m_message);
}

QSize WeightPanel::sizeHint() const { return { 310, 560 }; }

void WeightPanel::focusFilter()
{
    m_filterEdit->setFocus(Qt::ShortcutFocusReason);
    m_filterEdit->selectAll();
}

void WeightPanel::refresh()
{
    const Theme& theme = Theme::of(this);
    QSet<QString> collapsed;
    for (int row = 0; row < m_filter->rowCount(); ++row)
        if (const QModelIndex top = m_filter->index(row, 0); m_filter->hasChildren(top) && !m_tree->isExpanded(top))
            collapsed.insert(top.data().toString());
    m_following = true;
    m_model->setEvaluation(document()->evaluation(), theme.track, blended(theme.panel, theme.quiet, 0.45), document()->notation());
    for (int row = 0; row < m_filter->rowCount(); ++row)
        if (const QModelIndex top = m_filter->index(row, 0); !collapsed.contains(top.data().toString()))
            m_tree->expand(top);
    m_following = false;
    setTextColor(m_message, theme.error);
    setTextColor(m_empty, theme.quiet);
    m_message->hide();
    showCount();
    selectionChanged();
}

void WeightPanel::showCount()
{
    const auto evaluation = document()->evaluation();
    if (!evaluation) {
        m_header->setDetail(QString());
        m_empty->setText(tr("No design is open."));
        m_empty->show();
        return;
    }
    std::int64_t count = 0;
    for (const WeightLayout& weight : evaluation->weights)
        count += weight.spec.role == TensorRole::Weight ? weight.copies : 0;
    const bool unknown =
        std::any_of(evaluation->weights.begin(), evaluation->weights.end(), [](const auto& w) { return w.unknownShape; });
    m_header->setDetail(
        QStringLiteral("%1 · %2").arg(countText(count), unknown ? tr("sizes unknown") : bytesText(evaluation->weightBytes)));
    const bool none = m_filter->rowCount() == 0;
    m_empty->setText(
        tr("No weight matches “%1”. <a href=\"clear\">Clear filter</a> (Esc)").arg(m_filterEdit->text().toHtmlEscaped()));
    m_empty->setVisible(none);
}

std::vector<int> WeightPanel::selectedWeights() const
{
    std::vector<int> out;
    const auto add = [&out](const QModelIndex& index) {
        const int weight = index.data(WeightModel::WeightRole).toInt();
        if (weight >= 0)
            out.push_back(weight);
    };
    for (const QModelIndex& index : m_tree->selectionModel()->selectedIndexes()) {
        add(index);
        for (int row = 0; row < m_filter->rowCount(index); ++row)
            add(m_filter->index(row, 0, index));
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end()); // of a group and one of its rows
    return out;
}

void WeightPanel::followRows()
{
    if (m_following)
        return;
    m_message->hide();
    m_following = true;
    const int current = m_tree->currentIndex().data(WeightModel::WeightRole).toInt();
    const auto selected = selectedWeights();
    if (m_tree->currentIndex().isValid() && current >= 0 && m_tree->selectionModel()->isSelected(m_tree->currentIndex()))
        selection()->setWeights(selected, current);
    else if (!selected.empty())
        selection()->setWeights(selected, selected.front());
    m_following = false;
}

void WeightPanel::selectionChanged()
{
    if (m_following)
        return;
    if (selectedWeights() == selection()->weights())
        return;
    m_following = true;
    const QModelIndex index = m_filter->mapFromSource(m_model->indexOfWeight(selection()->weight()));
    m_tree->selectionModel()->clear();
    if (index.isValid()) {
        // Not the view's own way, which minds keys that are held.
        m_tree->selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect);
        m_tree->scrollTo(index);
        for (const int weight : selection()->weights())
            m_tree->selectionModel()->select(m_filter->mapFromSource(m_model->indexOfWeight(weight)), QItemSelectionModel::Select);
    }
    m_following = false;
}

void WeightPanel::apply(const Design& design, const QString& text)
{
    const Status status = document()->edit(design, text);
    m_message->setText(status.ok() ? QString() : errorText(status.error()));
    m_message->setVisible(!status.ok());
}

void WeightPanel::addAction(QMenu* menu, const QString& text, const Design& design, const QString& undoText)
{
    QAction* action = menu->addAction(text);
    const Status status = document()->check(design);
    action->setEnabled(status.ok() && !(design == document()->design()));
    if (!status.ok())
        action->setToolTip(errorText(status.error()));
    connect(action, &QAction::triggered, this, [this, design, undoText] { apply(design, undoText); });
}

void WeightPanel::fillMenu(QMenu* menu)
{
    const auto weights = selectedWeights();
    if (weights.empty() || !document()->hasDesign())
        return;
    menu->setToolTipsVisible(true);
    const Mesh& mesh = document()->design().mesh;
    const auto strategy = [&](const QString& title, const Strategy& wanted) {
        const WeightEdit edit = pasteEdit(weights, wanted);
        addAction(menu, title, edit.design, edit.text);
    };
    strategy(tr("Replicate"), Strategy {});
    for (const MeshAxis& axis : mesh.axes()) {
        const QString name = qstr(axis.name);
        const int index = mesh.find(axis.name);
        const bool stages = index == stageAxis(document()->design()); // nothing is cut over them
        const auto cutSomewhere = [&] {
            return std::ranges::any_of(weights, [&](int weight) {
                return dimOfAxis(document()->evaluation()->weights[static_cast<std::size_t>(weight)].layout, index) >= 0;
            });
        };
        if (stages && !cutSomewhere())
            continue;
        menu->addSeparator();
        const auto take = [&](int dim) {
            const WeightEdit edit = axisEdit(*document(), weights, index, dim);
            addAction(menu, dim < 0 ? tr("Take %1 off").arg(name) : tr("Add %1 to dim %2").arg(name).arg(dim), edit.design,
                      edit.text);
        };
        if (stages) {
            take(-1);
            continue;
        }
        strategy(tr("Only dim 0 over %1 (column-parallel, MAX rowwise)").arg(name),
                 { StrategyKind::Rowwise, { axis.name }, 0, {} });
        strategy(tr("Only dim 1 over %1 (row-parallel, MAX columnwise)").arg(name),
                 { StrategyKind::Columnwise, { axis.name }, 0, {} });
        for (const int dim : { 0, 1, -1 })
            take(dim);
    }
    menu->addSeparator();
    connect(menu->addAction(tr("Edit strategy …")), &QAction::triggered, this, [this] { Q_EMIT strategyRequested(false); });
    const WeightLayout* current = selectedWeight(*document());
    connect(menu->addAction(tr("Write a spec …")), &QAction::triggered, this, [this] { Q_EMIT strategyRequested(true); });
    menu->addSeparator();
    if (current)
        connect(menu->addAction(tr("Copy strategy")), &QAction::triggered, this, [this, strategy = current->strategy] {
            QGuiApplication::clipboard()->setMimeData(strategyMimeData(strategy, verbatim(strategy.text())));
        });
    if (const auto copied = strategyFromMimeData(QGuiApplication::clipboard()->mimeData()))
        strategy(tr("Paste strategy: %1").arg(menuText(shortened(qstr(copied->text()), kLongestName))), *copied);
    if (current && !current->unknownShape)
        addCopyMenu(menu, current->layout, mesh);
}

void WeightPanel::contextMenu(const QPoint& point)
{
    showContextMenu(this, m_tree->viewport()->mapToGlobal(point), [this](QMenu* menu) {
        fillMenu(menu);
        addCopyActions(menu, m_tree);
    });
}

TableText WeightPanel::selectedTable() const
{
    TableText out { { tr("weight"), tr("type"), tr("shape"), tr("layers"), tr("layout"), tr("bytes per device") }, {} };
    for (const int weight : selectedWeights()) {
        const WeightLayout& at = document()->evaluation()->weights[static_cast<std::size_t>(weight)];
        out.rows << QStringList { qstr(at.spec.name),
                                  qstr(dtypeName(at.spec.dtype)),
                                  at.unknownShape ? QString() : shapeLabel(at.spec.shape),
                                  QString::number(at.copies),
                                  shownSpec(*document(), at.layout).marked(),
                                  at.unknownShape ? QString() : QString::number(at.bytesPerDevice) };
    }
    return out;
}

void WeightPanel::paste()
{
    const auto weights = selectedWeights();
    const auto strategy = strategyFromMimeData(QGuiApplication::clipboard()->mimeData());
    if (weights.empty() || !document()->hasDesign())
        return;
    if (!strategy) {
        m_message->setText(tr("The clipboard has no strategy: copy one from a weight, or a text such as P(None, 'model')."));
        m_message->show();
        return;
    }
    const WeightEdit edit = pasteEdit(weights, *strategy);
    apply(edit.design, edit.text);
}

WeightEdit WeightPanel::pasteEdit(const std::vector<int>& weights, const Strategy& strategy) const
{
    return strategyEdit(*document(), weights, strategy,
                        QStringLiteral("%1: %2").arg(weightsText(*document(), weights), qstr(strategy.text())));
}

bool WeightPanel::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Escape && watched == m_filterEdit) {
            const bool filtered = !m_filterEdit->text().isEmpty();
            m_filterEdit->clear();
            m_tree->setFocus(Qt::OtherFocusReason);
            return filtered;
        }
        if (watched == m_tree && static_cast<QKeyEvent*>(event)->matches(QKeySequence::Paste)) {
            paste();
            return true;
        }
        if ((key == Qt::Key_F2 || key == Qt::Key_Return) && watched == m_tree && !selectedWeights().empty()) {
            Q_EMIT strategyRequested(false);
            return true;
        }
    }
    return DocumentView::eventFilter(watched, event);
}

} // namespace shardboard
