// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/export/namesview.h"

#include "model/io/names/namechange.h"
#include "widgets/controls/choicebox.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/columnfit.h"
#include "widgets/tables/elidingheader.h"
#include "widgets/tables/rowdelegate.h"
#include "widgets/tables/tablecopy.h"

#include <QHeaderView>
#include <QLabel>
#include <QTreeWidget>

#include <algorithm>

namespace shardboard {

namespace {

enum Column { WeightColumn, ParameterColumn, ChangeColumn, ColumnCount };
constexpr int kNameRole = Qt::UserRole; ///< the weight, as the design has it

} // namespace

NamesView::NamesView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_scheme(new ChoiceBox(false, this))
    , m_total(new QLabel(this))
    , m_list(new QTreeWidget(this))
    , m_empty(new QLabel(this))
{
    nameView("namesView", tr("Names"));
    nameWidget(m_scheme, "namesScheme", tr("Framework"), tr("Whose names are shown"));
    for (const NameScheme scheme : kNameSchemes)
        m_scheme->addChoice(qstr(nameSchemeTitle(scheme)), {}, static_cast<int>(scheme));
    nameWidget(m_list, "namesList", tr("Names of weights"));
    m_list->setHeader(new ElidingHeader(Qt::Horizontal, m_list));
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setItemDelegate(new RowDelegate(m_list));
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setHeaderLabels({ tr("weight of the design"), tr("parameter there"), tr("change") });
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionsMovable(false);
    m_list->header()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    makeCopyable(m_list);
    m_total->setObjectName(QStringLiteral("namesTotal"));
    m_empty->setObjectName(QStringLiteral("namesEmpty"));
    m_empty->setAlignment(Qt::AlignCenter);
    m_empty->setWordWrap(true);
    m_empty->setMinimumWidth(1);
    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 8, kPanelMargin, 4 }, 12);
    top->addWidget(m_scheme);
    top->addWidget(m_total, 1);
    auto* list = boxLayout<QHBoxLayout>({ 8, 0, 8, 4 }, 0);
    list->addWidget(m_list);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addLayout(top);
    column->addLayout(list, 1);
    column->addWidget(m_empty, 1);
    connect(m_scheme, &QComboBox::activated, this, &NamesView::refresh);
    connect(m_list, &QTreeWidget::currentItemChanged, this, [this](const QTreeWidgetItem* item) {
        if (item == nullptr || m_following)
            return;
        const std::string name = item->data(WeightColumn, kNameRole).toString().toStdString();
        const auto& weights = this->document()->evaluation()->weights;
        const auto found = std::ranges::find_if(weights, [&](const WeightLayout& weight) { return weight.spec.name == name; });
        if (found != weights.end())
            selection()->setWeight(static_cast<int>(found - weights.begin()));
    });
    start();
}

void NamesView::refresh()
{
    m_following = true;
    m_list->clear();
    m_following = false;
    for (QLabel* label : { m_total, m_empty })
        setTextColor(label, Theme::of(this).quiet);
    m_total->setFont(uiFont(this, -0.5));
    m_list->header()->setFont(uiFont(this, -1));
    m_scheme->setMinimumWidth(m_scheme->widestEntry());
    const bool open = document()->hasDesign();
    const auto names = open ? namesOf(document()->design().model, static_cast<NameScheme>(m_scheme->currentData().toInt()))
                            : Result<ParameterNames>(inputError({}, tr("No design is open.").toStdString()));
    m_list->setVisible(names.ok());
    m_empty->setVisible(!names.ok());
    m_total->clear();
    if (!names.ok()) {
        m_empty->setText(errorText(names.error()));
        return;
    }
    const auto add = [this](const std::string& weight, const QString& parameter, const QString& change, const QString& tip) {
        auto* item = new QTreeWidgetItem(m_list, { qstr(weight), parameter, change });
        item->setData(WeightColumn, kNameRole, verbatim(weight));
        item->setFont(WeightColumn, monoFont(this, -1));
        item->setFont(ParameterColumn, monoFont(this, -1));
        for (int column = 0; column < ColumnCount; ++column)
            item->setToolTip(column, tip);
    };
    for (const NamedParameter& parameter : names.value().parameters) {
        const QString name = qstr(parameter.name);
        const QString change = qstr(nameChangeText(parameter));
        QString how = parameter.view.empty() ? tr("as it is") : qstr(parameter.view);
        if (!parameter.order.empty())
            how += QLatin1Char('\n') + qstr(parameter.order);
        for (const std::string& source : parameter.sources)
            add(source, name, change, qstr(source) + QStringLiteral("\n→ ") + name + QLatin1Char('\n') + how);
    }
    for (const UnnamedWeight& weight : names.value().missing)
        add(weight.weight, QStringLiteral("–"), qstr(weight.reason), qstr(weight.weight + ": " + weight.reason));
    m_total->setText(counted(static_cast<std::int64_t>(names.value().parameters.size()), tr("parameter"), tr("parameters")));
    selectionChanged();
    fitColumns();
}

void NamesView::selectionChanged()
{
    const WeightLayout* weight = selectedWeight(*document());
    const QString name = weight != nullptr ? verbatim(weight->spec.name) : QString();
    m_following = true;
    for (int row = 0; row < m_list->topLevelItemCount(); ++row)
        if (m_list->topLevelItem(row)->data(WeightColumn, kNameRole).toString() == name)
            m_list->setCurrentItem(m_list->topLevelItem(row));
    m_following = false;
}

/// Names are elided in the middle where there is no room for all three.
void NamesView::fitColumns()
{
    if (m_list->topLevelItemCount() == 0)
        return;
    constexpr int kLeast = 80;
    std::vector<ColumnWish> wishes(ColumnCount);
    const QAbstractItemView* cells = m_list;
    bool changes = false;
    for (int row = 0; row < m_list->topLevelItemCount() && !changes; ++row)
        changes = !m_list->topLevelItem(row)->text(ChangeColumn).isEmpty();
    m_list->setColumnHidden(ChangeColumn, !changes); // its room is for names
    const int last = changes ? ChangeColumn : ParameterColumn;
    for (int column = 0; column <= last; ++column) {
        ColumnWish& wish = wishes[static_cast<std::size_t>(column)];
        wish.natural = std::max(cells->sizeHintForColumn(column), m_list->header()->sectionSizeHint(column)) + 12;
        wish.least = kLeast;
        wish.rank = column == ChangeColumn ? 0 : column == ParameterColumn ? 1 : 2;
    }
    const int room = m_list->viewport()->width();
    const std::vector<int> widths = shardboard::fitColumns(wishes, room);
    int left = room;
    for (int column = 0; column <= last; ++column) {
        const int width = widths[static_cast<std::size_t>(column)];
        m_list->setColumnWidth(column, column == last ? std::max(width, left) : width);
        left -= width;
    }
}

void NamesView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    fitColumns();
}

void NamesView::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    fitColumns(); // a hidden tab has no width
}

} // namespace shardboard
