// SPDX-License-Identifier: Apache-2.0
#include "widgets/rules/ruletraceview.h"

#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/tables/notedelegate.h"
#include "widgets/tables/tablecopy.h"

#include <QHeaderView>

namespace shardboard {

namespace {

constexpr int kRuleRole = Qt::UserRole;
constexpr int kIndent = 12;

} // namespace

RuleTraceView::RuleTraceView(QWidget* parent)
    : QTreeWidget(parent)
{
    nameWidget(this, "ruleTrace", tr("Why the weight is cut as it is"));
    setHeaderHidden(true);
    setRootIsDecorated(false);
    setIndentation(0);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setItemDelegate(new NoteDelegate(this));
    header()->setSectionResizeMode(QHeaderView::Stretch);
    header()->setMinimumSectionSize(60);
    makeCopyable(this);
    const auto choose = [this](QTreeWidgetItem* item) {
        if (const int rule = item->data(0, kRuleRole).toInt(); rule >= 0)
            Q_EMIT ruleChosen(rule);
    };
    connect(this, &QTreeWidget::itemClicked, this, choose);
    connect(this, &QTreeWidget::itemActivated, this, choose);
}

QTreeWidgetItem* RuleTraceView::add(const QString& title, const QString& text, int rule)
{
    auto* item = new QTreeWidgetItem(this);
    item->setData(0, NoteDelegate::TitleRole, title);
    item->setData(0, NoteDelegate::TextRole, text);
    item->setData(0, kRuleRole, rule);
    item->setData(0, Qt::AccessibleTextRole, title.isEmpty() ? text : text.isEmpty() ? title : title + QStringLiteral(": ") + text);
    return item;
}

void RuleTraceView::show(const WeightTrace& trace)
{
    const Theme& theme = Theme::of(this);
    clear();
    if (!trace.hidden.isEmpty())
        add({}, trace.hidden, -1);
    if (!trace.problem.isEmpty())
        add({}, trace.problem, -1)->setData(0, NoteDelegate::TextColorRole, theme.error);
    for (const TraceDim& dim : trace.dims) {
        auto* head = add(dim.title + QStringLiteral(" → ") + dim.verdict, {}, dim.decidedBy);
        if (dim.lost)
            head->setData(0, NoteDelegate::TitleColorRole, theme.attention);
        for (const TraceRule& rule : dim.rules) {
            auto* item = add({}, rule.text, rule.rule);
            item->setData(0, NoteDelegate::IndentRole, kIndent);
            if (rule.outcome == RuleOutcome::AxisTaken)
                item->setData(0, NoteDelegate::TextColorRole, theme.attention);
            else if (rule.outcome == RuleOutcome::Decided)
                item->setData(0, NoteDelegate::TextColorRole, theme.text);
        }
    }
}

void RuleTraceView::say(const QString& text)
{
    clear();
    add({}, text, -1);
}

QStringList RuleTraceView::lines() const
{
    QStringList out;
    for (int row = 0; row < topLevelItemCount(); ++row)
        out << topLevelItem(row)->data(0, Qt::AccessibleTextRole).toString();
    return out;
}

} // namespace shardboard
