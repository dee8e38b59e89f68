// SPDX-License-Identifier: Apache-2.0
// What the rules view is made of; what it does is in rulesview.cpp.
#include "widgets/document/documentview.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/rules/ruledelegate.h"
#include "widgets/rules/rulemodel.h"
#include "widgets/rules/rulesoffer.h"
#include "widgets/rules/rulesview.h"
#include "widgets/rules/ruletraceview.h"
#include "widgets/tables/tablecopy.h"
#include "widgets/tables/weighthover.h"

#include <QAction>
#include <QEvent>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QTreeView>

#include <algorithm>

namespace shardboard {

namespace {

/// What stands where there are no rules. The way that is in the menu of the first one, too, goes where there is no room for all.
class RulesPage : public QWidget {
public:
    using QWidget::QWidget;
    void setWays(QWidget* first, QWidget* spare, QWidget* last)
    {
        m_first = first;
        m_spare = spare;
        m_last = last;
    }
    void setWanted(bool wanted)
    {
        m_wanted = wanted;
        for (QWidget* way : { m_first, m_last })
            way->setVisible(wanted);
        share();
    }
    QSize minimumSizeHint() const override { return { needed(false), QWidget::minimumSizeHint().height() }; }

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        QWidget::resizeEvent(event);
        share();
    }
    void changeEvent(QEvent* event) override
    {
        QWidget::changeEvent(event);
        if (event->type() == QEvent::FontChange && m_spare)
            QMetaObject::invokeMethod(
                this, [this] { share(); }, Qt::QueuedConnection); // when the buttons have it
    }

private:
    static constexpr int kBetween = 8;
    int needed(bool all) const
    {
        if (m_first == nullptr)
            return 0;
        const int two = 2 * kPanelMargin + m_first->sizeHint().width() + kBetween + m_last->sizeHint().width();
        return all ? two + kBetween + m_spare->sizeHint().width() : two;
    }
    void share()
    {
        if (m_spare)
            m_spare->setVisible(m_wanted && width() >= needed(true));
    }

    QWidget* m_first = nullptr;
    QWidget* m_spare = nullptr;
    QWidget* m_last = nullptr;
    bool m_wanted = false;
};

} // namespace

void RulesView::buildMenu()
{
    m_menu->setObjectName(QStringLiteral("rulesMenu"));
    m_menu->setToolTipsVisible(true);
    for (const std::string& name : rulePresetNames()) {
        QAction* action = m_menu->addAction(tr("Take %1").arg(qstr(name)));
        action->setObjectName(QStringLiteral("rules.take.") + qstr(name));
        action->setToolTip(qstr(rulePresetSummary(name)));
        connect(action, &QAction::triggered, this, [this, name] {
            const Status status = takePreset(name);
            if (!status.ok())
                Q_EMIT failed(errorText(status.error()));
        });
    }
    m_menu->addSeparator();
    const auto add = [this](const QString& text, const char* name) {
        QAction* action = m_menu->addAction(text);
        action->setObjectName(QString::fromLatin1(name));
        return action;
    };
    connect(add(tr("&Open Rules …"), "rules.open"), &QAction::triggered, this, &RulesView::openRequested);
    m_save = add(tr("&Save Rules …"), "rules.save");
    m_clear = add(tr("&Remove All Rules"), "rules.clear");
    connect(m_save, &QAction::triggered, this, &RulesView::saveRequested);
    connect(m_clear, &QAction::triggered, this, [this] {
        m_offer->hide();
        apply(withoutRules(document()->design()));
    });
}

void RulesView::buildList()
{
    nameWidget(m_list, "rulesList", tr("Rules, tried from top to bottom"));
    m_list->setModel(m_model);
    m_list->setItemDelegate(new RuleDelegate(m_list));
    m_list->setRootIsDecorated(false);
    m_list->setIndentation(0);
    m_list->setUniformRowHeights(true);
    m_list->setMouseTracking(true);
    m_list->setAllColumnsShowFocus(false);
    m_list->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_list->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_list->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
    m_list->setDragDropMode(QAbstractItemView::DragDrop);
    m_list->setDefaultDropAction(Qt::MoveAction);
    m_list->setDropIndicatorShown(true);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setContextMenuPolicy(Qt::ActionsContextMenu);
    makeCopyable(m_list);
    // A rule is about all weights with its name: it is shown for the one that is hovered elsewhere.
    auto* hover = new WeightHover(m_list, selection(), [this](const QModelIndex& index) {
        const auto evaluation = document()->evaluation();
        const int hovered = selection()->hoveredWeight();
        if (!evaluation || hovered < 0 || hovered >= static_cast<int>(evaluation->weights.size())
            || index.row() >= m_model->rowCount())
            return std::vector<int>();
        const auto& names = evaluation->weights[static_cast<std::size_t>(hovered)].spec.logicalNames;
        const bool asked = std::find(names.begin(), names.end(), m_model->rule(index.row()).name) != names.end();
        return asked ? std::vector<int> { hovered } : std::vector<int>();
    });
    hover->setSilent();
    m_list->installEventFilter(this);
    QHeaderView* header = m_list->header();
    header->setMinimumSectionSize(32);
    header->setStretchLastSection(false);
    header->setSectionsMovable(false);
    header->setSectionResizeMode(RuleModel::AxesColumn, QHeaderView::Stretch);
    connect(m_list->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& current) {
        showMessage(current.isValid() ? tr("Rule %1 %2").arg(current.row() + 1).arg(m_model->use(current.row()).story) : QString(),
                    false);
    });
}

void RulesView::buildActions()
{
    const auto add = [this](const char* name, const QString& text, const QKeySequence& keys, auto&& slot) {
        auto* action = new QAction(text, m_list);
        action->setObjectName(QString::fromLatin1(name));
        action->setShortcut(keys);
        action->setShortcutContext(Qt::WidgetShortcut);
        m_list->addAction(action);
        connect(action, &QAction::triggered, this, [this, slot] {
            wakeViewsAround(this);
            slot();
        });
    };
    add("rule.axes", tr("Edit Mesh Axes"), QKeySequence(Qt::Key_F2), [this] { editCurrent(RuleModel::AxesColumn); });
    add("rule.name", tr("Rename"), QKeySequence(Qt::SHIFT | Qt::Key_F2), [this] { editCurrent(RuleModel::NameColumn); });
    add("rule.up", tr("Move Up"), QKeySequence(Qt::ALT | Qt::Key_Up),
        [this] { apply(shiftedRules(document()->design(), selectedRows(), -1)); });
    add("rule.down", tr("Move Down"), QKeySequence(Qt::ALT | Qt::Key_Down),
        [this] { apply(shiftedRules(document()->design(), selectedRows(), 1)); });
    add("rule.add", tr("Add Rule"), QKeySequence(Qt::Key_Insert), [this] { addRule(); });
    add("rule.duplicate", tr("Duplicate"), QKeySequence(Qt::CTRL | Qt::Key_D),
        [this] { apply(duplicatedRules(document()->design(), selectedRows())); });
    add("rule.remove", tr("Remove"), QKeySequence(Qt::Key_Delete),
        [this] { apply(removedRules(document()->design(), selectedRows())); });
}

QWidget* RulesView::emptyPage()
{
    auto* page = new RulesPage(m_pages);
    m_emptyText = new QLabel(page);
    m_emptyText->setObjectName(QStringLiteral("rulesEmpty"));
    m_emptyText->setAlignment(Qt::AlignCenter);
    m_emptyText->setWordWrap(true);
    auto* take = new QPushButton(tr("Use a Rule Set"), page);
    take->setMenu(m_menu);
    auto* open = new QPushButton(tr("Open Rules …"), page);
    auto* add = new QPushButton(tr("Add a Rule"), page);
    add->setObjectName(QStringLiteral("rulesAddFirst"));
    connect(open, &QPushButton::clicked, this, &RulesView::openRequested);
    connect(add, &QPushButton::clicked, this, [this] { addRule(); });
    page->setWays(take, open, add);
    connect(document(), &Document::evaluated, page, [page, this] { page->setWanted(document()->hasDesign()); });
    page->setWanted(document()->hasDesign());
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addStretch(1);
    for (QWidget* button : std::initializer_list<QWidget*> { take, open, add })
        buttons->addWidget(button);
    buttons->addStretch(1);
    auto* column = boxLayout<QVBoxLayout>({ kPanelMargin, 0, kPanelMargin, 0 }, 12, page);
    auto* text = new QScrollArea(page); // large text in a low panel
    text->setFrameShape(QFrame::NoFrame);
    text->setWidgetResizable(true);
    text->setWidget(m_emptyText);
    text->viewport()->setAutoFillBackground(false);
    m_emptyText->setAutoFillBackground(false);
    column->addWidget(text, 1);
    column->addLayout(buttons);
    column->addSpacing(kPanelMargin);
    return page;
}

void RulesView::buildLayout()
{
    nameWidget(m_filter, "rulesFilter", tr("Filter of the rules"));
    m_filter->setPlaceholderText(tr("Filter by name"));
    m_filter->setClearButtonEnabled(true);
    m_filter->setMaximumWidth(160);
    m_filter->installEventFilter(this);
    m_ofWeight->setObjectName(QStringLiteral("rulesOfWeight"));
    m_ofWeight->setText(tr("This Weight"));
    m_ofWeight->setToolTip(tr("Only the rules that name a dim of the selected weight"));
    m_ofWeight->setCheckable(true);
    m_add->setObjectName(QStringLiteral("rulesAdd"));
    m_add->setText(QStringLiteral("+"));
    m_add->setAccessibleName(tr("Add a rule"));
    m_add->setToolTip(tr("Add a rule below the current one (Ins)"));
    m_sets->setObjectName(QStringLiteral("rulesSets"));
    m_sets->setText(tr("Rule Sets ▾"));
    m_sets->setToolTip(tr("Use a built-in rule set, open or save a rules file"));
    m_sets->setPopupMode(QToolButton::InstantPopup);
    m_sets->setMenu(m_menu);
    m_summary->setObjectName(QStringLiteral("rulesSummary"));
    m_summary->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_message->setObjectName(QStringLiteral("rulesMessage"));
    m_message->setWordWrap(true);
    m_message->setTextFormat(Qt::PlainText);
    connect(m_filter, &QLineEdit::textChanged, this, [this] { applyFilter(); });
    connect(m_ofWeight, &QToolButton::toggled, this, [this] { applyFilter(); });
    connect(m_add, &QToolButton::clicked, this, [this] { addRule(); });

    auto* top = boxLayout<QHBoxLayout>({ kPanelMargin, 6, kPanelMargin, 6 }, 8);
    top->addWidget(m_summary, 1);
    top->addWidget(m_ofWeight);
    top->addWidget(m_filter);
    top->addWidget(m_add);
    top->addWidget(m_sets);
    auto* left = new QWidget(m_split);
    auto* leftColumn = boxLayout<QVBoxLayout>({ 8, 0, 8, 0 }, 0, left);
    leftColumn->addWidget(m_list, 1);
    m_message->setContentsMargins(8, 4, 8, 6);
    leftColumn->addWidget(m_message);
    auto* right = new QWidget(m_split);
    auto* rightColumn = new QVBoxLayout(right);
    rightColumn->setContentsMargins(8, 0, 8, 0);
    rightColumn->addWidget(m_trace, 1);
    m_split->setObjectName(QStringLiteral("rulesSplitter"));
    m_split->setChildrenCollapsible(false);
    m_split->setHandleWidth(1);
    m_split->addWidget(left);
    m_split->addWidget(right);
    m_split->setStretchFactor(0, 3);
    m_split->setStretchFactor(1, 2);
    m_split->setSizes({ 540, 400 });
    m_pages->addWidget(emptyPage());
    m_pages->addWidget(m_split);
    auto* offer = new QHBoxLayout;
    offer->setContentsMargins(kPanelMargin, 0, kPanelMargin, 0);
    offer->addWidget(m_offer);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    column->addLayout(top);
    column->addLayout(offer);
    column->addWidget(m_pages, 1);
}

} // namespace shardboard
