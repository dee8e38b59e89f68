// SPDX-License-Identifier: Apache-2.0
#include "widgets/weighttable.h"

#include "widgets/format.h"
#include "widgets/theme.h"
#include "widgets/weightdelegate.h"
#include "widgets/weightedits.h"
#include "widgets/weightmodel.h"

#include <QActionGroup>
#include <QContextMenuEvent>
#include <QCursor>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSet>
#include <QStyle>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

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
    { QT_TRANSLATE_NOOP("WeightPanel", "most bytes per device first"), WeightModel::BytesPerDeviceRole,
      Qt::DescendingOrder },
    { QT_TRANSLATE_NOOP("WeightPanel", "by layout"), WeightModel::LayoutRole, Qt::AscendingOrder },
};

void setRefused(QLineEdit* edit, bool refused)
{
    if (edit->property("refused").toBool() == refused)
        return;
    edit->setProperty("refused", refused);
    edit->style()->unpolish(edit);
    edit->style()->polish(edit);
}

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
    , m_specRow(new QWidget(this))
    , m_specEdit(new QLineEdit(m_specRow))
{
    setObjectName(QStringLiteral("weightPanel"));
    setAccessibleName(tr("Weights"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    m_filter->setSourceModel(m_model);
    m_filter->sort(0);
    m_header->setDetailAtRight();
    buildLayout();
    connect(m_filterEdit, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_filter->setText(text);
        m_tree->expandAll();
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
    connect(m_specEdit, &QLineEdit::textChanged, this, [this] { checkSpec(); });
    connect(m_specEdit, &QLineEdit::returnPressed, this, [this] { applySpec(); });
    m_filterEdit->installEventFilter(this);
    m_specEdit->installEventFilter(this);
    m_tree->installEventFilter(this);
    start();
}

void WeightPanel::buildLayout()
{
    m_filterEdit->setObjectName(QStringLiteral("weightFilter"));
    m_filterEdit->setAccessibleName(tr("Filter of the weights"));
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
    m_tree->setObjectName(QStringLiteral("weightTree"));
    m_tree->setAccessibleName(tr("Weights"));
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
    m_message->setObjectName(QStringLiteral("weightMessage"));
    for (QLabel* label : { m_empty, m_message }) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        label->setContentsMargins(kPanelMargin, 4, kPanelMargin, 4);
        label->hide();
    }
    m_specEdit->setObjectName(QStringLiteral("specEdit"));
    m_specEdit->setAccessibleName(tr("Spec of the selected weights"));
    m_specEdit->setPlaceholderText(QStringLiteral("P(None, 'model')"));
    auto* specRow = new QHBoxLayout(m_specRow);
    specRow->setContentsMargins(12, 4, 12, 4);
    specRow->addWidget(new QLabel(tr("Spec"), m_specRow));
    specRow->addWidget(m_specEdit, 1);
    m_specRow->hide();
    auto* top = new QHBoxLayout;
    top->setContentsMargins(12, 2, 8, 6);
    top->setSpacing(4);
    top->addWidget(m_filterEdit, 1);
    top->addWidget(m_sort);
    auto* tree = new QHBoxLayout;
    tree->setContentsMargins(8, 0, 0, 0);
    tree->addWidget(m_tree);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_header);
    column->addLayout(top);
    column->addWidget(m_empty);
    column->addLayout(tree, 1);
    column->addWidget(m_specRow);
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
    std::vector<int> selected = selectedWeights();
    const auto old = m_model->evaluation() ? m_model->evaluation()->weights.size() : 0;
    m_following = true;
    m_model->setEvaluation(document()->evaluation(), theme.track, blended(theme.panel, theme.quiet, 0.45));
    for (int row = 0; row < m_filter->rowCount(); ++row)
        if (const QModelIndex top = m_filter->index(row, 0); !collapsed.contains(top.data().toString()))
            m_tree->expand(top);
    // Several selected rows stay selected over an edit of theirs; one follows the shared selection.
    if (selected.size() > 1 && m_model->evaluation() && m_model->evaluation()->weights.size() == old)
        for (const int weight : selected)
            m_tree->selectionModel()->select(m_filter->mapFromSource(m_model->indexOfWeight(weight)),
                                             QItemSelectionModel::Select);
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
    const bool unknown = std::any_of(evaluation->weights.begin(), evaluation->weights.end(),
                                     [](const auto& w) { return w.unknownShape; });
    m_header->setDetail(QStringLiteral("%1 · %2").arg(
        countText(count), unknown ? tr("sizes unknown") : bytesText(evaluation->weightBytes)));
    const bool none = m_filter->rowCount() == 0;
    m_empty->setText(tr("No weight matches “%1”. Press Esc to clear the filter.").arg(m_filterEdit->text()));
    m_empty->setVisible(none);
}

std::vector<int> WeightPanel::selectedWeights() const
{
    std::vector<int> out;
    const auto add = [&out](const QModelIndex& index) {
        const int weight = index.data(WeightModel::WeightRole).toInt();
        if (weight >= 0 && std::find(out.begin(), out.end(), weight) == out.end())
            out.push_back(weight);
    };
    for (const QModelIndex& index : m_tree->selectionModel()->selectedIndexes()) {
        add(index);
        for (int row = 0; row < m_filter->rowCount(index); ++row)
            add(m_filter->index(row, 0, index));
    }
    std::sort(out.begin(), out.end());
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
    if (m_tree->currentIndex().isValid() && current >= 0
        && m_tree->selectionModel()->isSelected(m_tree->currentIndex()))
        selection()->setWeight(current);
    else if (!selected.empty())
        selection()->setWeight(selected.front());
    m_following = false;
}

void WeightPanel::selectionChanged()
{
    if (m_following)
        return;
    m_following = true;
    const QModelIndex index = m_filter->mapFromSource(m_model->indexOfWeight(selection()->weight()));
    if (!index.isValid()) {
        m_tree->selectionModel()->clear();
    } else if (!m_tree->selectionModel()->isSelected(index)) {
        m_tree->setCurrentIndex(index);
        m_tree->scrollTo(index);
    }
    m_following = false;
}

void WeightPanel::apply(const Design& design, const QString& text)
{
    const Status status = document()->edit(design, text);
    m_message->setText(status.ok() ? QString() : qstr(status.error().text()));
    m_message->setVisible(!status.ok());
}

void WeightPanel::addAction(QMenu* menu, const QString& text, const Design& design, const QString& undoText)
{
    QAction* action = menu->addAction(text);
    const Status status = document()->check(design);
    action->setEnabled(status.ok() && !(design == document()->design()));
    if (!status.ok())
        action->setToolTip(qstr(status.error().text()));
    connect(action, &QAction::triggered, this, [this, design, undoText] { apply(design, undoText); });
}

void WeightPanel::fillMenu(QMenu* menu)
{
    const auto weights = selectedWeights();
    if (weights.empty() || !document()->hasDesign())
        return;
    menu->setToolTipsVisible(true);
    const Mesh& mesh = document()->design().mesh;
    const QString what = weightsText(*document(), weights);
    const auto strategy = [&](const QString& title, const Strategy& wanted) {
        const WeightEdit edit
            = strategyEdit(*document(), weights, wanted, QStringLiteral("%1: %2").arg(what, qstr(wanted.text())));
        addAction(menu, title, edit.design, edit.text);
    };
    strategy(tr("Replicate"), Strategy {});
    for (const MeshAxis& axis : mesh.axes()) {
        const QString name = qstr(axis.name);
        menu->addSeparator();
        strategy(tr("Only dim 0 over %1 (column-parallel, MAX rowwise)").arg(name),
                 { StrategyKind::Rowwise, { axis.name }, 0, {} });
        strategy(tr("Only dim 1 over %1 (row-parallel, MAX columnwise)").arg(name),
                 { StrategyKind::Columnwise, { axis.name }, 0, {} });
        const int index = mesh.find(axis.name);
        for (const int dim : { 0, 1, -1 }) {
            const WeightEdit edit = axisEdit(*document(), weights, index, dim);
            addAction(menu, dim < 0 ? tr("Take %1 off").arg(name) : tr("Add %1 to dim %2").arg(name).arg(dim),
                      edit.design, edit.text);
        }
    }
    menu->addSeparator();
    connect(menu->addAction(tr("Spec …")), &QAction::triggered, this, [this] { startSpec(); });
}

void WeightPanel::contextMenu(const QPoint& point)
{
    QMenu menu(this);
    fillMenu(&menu);
    if (!menu.isEmpty())
        menu.exec(m_tree->viewport()->mapToGlobal(point));
}

void WeightPanel::startSpec()
{
    m_specWeights = selectedWeights();
    if (m_specWeights.empty())
        return;
    const auto& weight = document()->evaluation()->weights[static_cast<std::size_t>(m_specWeights.front())];
    m_specRow->show();
    m_specEdit->setText(qstr(specText(weight.layout, document()->design().mesh)));
    m_specEdit->setFocus(Qt::OtherFocusReason);
    m_specEdit->selectAll();
    checkSpec();
}

void WeightPanel::checkSpec()
{
    if (!m_specRow->isVisibleTo(this) || m_specWeights.empty())
        return;
    Strategy strategy;
    strategy.kind = StrategyKind::Spec;
    strategy.spec = m_specEdit->text().toStdString();
    const Status status = document()->check(strategyEdit(*document(), m_specWeights, strategy, {}).design);
    setRefused(m_specEdit, !status.ok());
    m_message->setText(status.ok() ? QString() : qstr(status.error().text()));
    m_message->setVisible(!status.ok());
}

void WeightPanel::applySpec()
{
    Strategy strategy;
    strategy.kind = StrategyKind::Spec;
    strategy.spec = m_specEdit->text().toStdString();
    const QString text = QStringLiteral("%1: %2").arg(weightsText(*document(), m_specWeights), m_specEdit->text());
    const Design design = strategyEdit(*document(), m_specWeights, strategy, text).design;
    if (!document()->check(design).ok())
        return; // the message already says why
    m_specRow->hide();
    apply(design, text);
    m_tree->setFocus(Qt::OtherFocusReason);
}

bool WeightPanel::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Escape && watched == m_filterEdit) {
            m_filterEdit->clear();
            m_tree->setFocus(Qt::OtherFocusReason);
            return true;
        }
        if (key == Qt::Key_Escape && watched == m_specEdit) {
            m_specRow->hide();
            m_message->hide();
            m_tree->setFocus(Qt::OtherFocusReason);
            return true;
        }
        if ((key == Qt::Key_F2 || key == Qt::Key_Return) && watched == m_tree && !selectedWeights().empty()) {
            startSpec();
            return true;
        }
    }
    return DocumentView::eventFilter(watched, event);
}

} // namespace shardboard
