// SPDX-License-Identifier: Apache-2.0
#include "widgets/rules/rulesview.h"

#include "model/io/maxtext/rulefile.h"
#include "model/io/maxtext/rulefilewriter.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/theme.h"
#include "widgets/rules/rulemodel.h"
#include "widgets/rules/rulesoffer.h"
#include "widgets/rules/ruletraceview.h"

#include <QFile>
#include <QFileInfo>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QTreeView>

#include <algorithm>

namespace shardboard {

namespace {

/// The mesh that a rule set is written for, on as many devices: sizes that the design has already stay where they make up
/// all of its devices, else they come from the set's own options. An error leaves the sizes to the user.
QString meshFor(const RuleSetup& setup, const Mesh& mesh)
{
    const bool all = std::all_of(mesh.axes().begin(), mesh.axes().end(), [&](const MeshAxis& axis) {
        return axis.size == 1 || std::find(setup.meshAxes.begin(), setup.meshAxes.end(), axis.name) != setup.meshAxes.end();
    });
    if (!all) {
        const auto sized = meshOf(setup, mesh.deviceCount(), 1);
        if (sized.ok())
            return qstr(sized.value().text());
    }
    QStringList parts;
    for (const std::string& name : setup.meshAxes) {
        const int axis = mesh.find(name);
        parts << QStringLiteral("%1=%2").arg(qstr(name)).arg(axis < 0 ? 1 : mesh.axis(axis).size);
    }
    return parts.join(QLatin1Char(','));
}

QStringList linesOf(const std::vector<std::string>& lines)
{
    QStringList out;
    for (const std::string& line : lines)
        out << qstr(line);
    return out;
}

/// The first name of the model's dims that no rule is for; a new rule starts with it.
std::string nameWithoutRule(const Design& design, const Evaluation& evaluation, const WeightLayout* first)
{
    const auto& rules = design.rules.rules;
    const auto missing = [&](const std::string& name) {
        return !name.empty()
            && std::none_of(rules.begin(), rules.end(), [&](const LogicalRule& rule) { return rule.name == name; });
    };
    if (first)
        for (const std::string& name : first->spec.logicalNames)
            if (missing(name))
                return name;
    for (const WeightLayout& weight : evaluation.weights)
        for (const std::string& name : weight.spec.logicalNames)
            if (missing(name))
                return name;
    return "name";
}

} // namespace

RulesView::RulesView(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_model(new RuleModel(this))
    , m_menu(new QMenu(tr("&Rules"), this))
    , m_list(new QTreeView(this))
    , m_trace(new RuleTraceView(this))
    , m_filter(new QLineEdit(this))
    , m_ofWeight(new QToolButton(this))
    , m_add(new QToolButton(this))
    , m_sets(new QToolButton(this))
    , m_summary(new QLabel(this))
    , m_message(new QLabel(this))
    , m_offer(new RulesOffer(this))
    , m_split(new QSplitter(Qt::Horizontal, this))
    , m_pages(new QStackedWidget(this))
{
    nameView("rulesView", tr("Rules"));
    buildMenu();
    buildList();
    buildActions();
    buildLayout();
    connect(m_model, &RuleModel::changeWanted, this,
            [this](int row, const LogicalRule& rule) { apply(changedRule(this->document()->design(), row, rule)); });
    connect(m_model, &RuleModel::moveWanted, this,
            [this](const std::vector<int>& rows, int before) { apply(movedRules(this->document()->design(), rows, before)); });
    connect(m_model, &RuleModel::refused, this, [this](const QString& why) { showMessage(why, true); });
    connect(m_trace, &RuleTraceView::ruleChosen, this, [this](int rule) {
        if (m_list->isRowHidden(rule, {}))
            m_filter->clear();
        selectRows({ rule });
    });
    connect(m_offer, &RulesOffer::meshWanted, this, [this](const QString& mesh) { useMesh(mesh); });
    connect(m_offer, &RulesOffer::closed, this, [this] { showState(); });
    connect(m_offer, &RulesOffer::agreed, this, [this] {
        m_offer->hide();
        Design edited = this->document()->design();
        edited.strategies.clear();
        const Status status = this->document()->edit(edited, tr("Let the rules decide"), Misfits::Replicate);
        if (!status.ok())
            showMessage(errorText(status.error()), true);
    });
    start();
}

RulesView::~RulesView()
{
    m_model->disconnect(this); // an open editor commits when it loses the focus, and then the document may be gone
}

QSize RulesView::sizeHint() const { return { 720, 240 }; }

QString RulesView::message() const { return m_message->text(); }

void RulesView::refresh()
{
    const Theme& theme = Theme::of(this);
    const auto evaluation = document()->evaluation();
    m_model->setDesign(document()->design(), evaluation.get(), { theme.quiet, theme.attention, monoFont(this, -1) });
    m_list->header()->setFont(uiFont(this, -1));
    showState();
    selectionChanged();
}

void RulesView::showState()
{
    const Theme& theme = Theme::of(this);
    for (QLabel* label : { m_summary, m_emptyText })
        setTextColor(label, theme.quiet);
    const bool open = document()->hasDesign();
    const DesignRules& rules = document()->design().rules;
    const int count = static_cast<int>(rules.rules.size());
    int decided = 0;
    int lost = 0;
    for (int row = 0; row < count; ++row) {
        decided += m_model->use(row).decided;
        lost += m_model->use(row).lost;
    }
    QString text = counted(count, tr("rule"), tr("rules"));
    if (!rules.source.empty())
        text += tr(" of %1").arg(qstr(rules.source));
    text += tr(" · decide %1").arg(counted(decided, tr("dim"), tr("dims")));
    if (lost > 0)
        text += tr(" · skipped on %1").arg(lost);
    m_summaryText = count > 0 ? text : QString();
    elideSummary();
    m_emptyText->setText(open ? tr("No rules. Logical axis rules lay out the weights that no strategy names, by the names of "
                                   "their dims (embed, mlp, q_heads). The first rule that fits decides a dim.")
                              : tr("No design is open."));
    m_pages->setCurrentIndex(count > 0 ? 1 : 0);
    for (QWidget* widget : std::initializer_list<QWidget*> { m_summary, m_ofWeight, m_filter, m_add, m_sets })
        widget->setVisible(count > 0);
    m_menu->menuAction()->setEnabled(open);
    for (QAction* action : m_menu->actions())
        action->setEnabled(open);
    for (QAction* action : { m_save, m_clear })
        action->setProperty("whyNot", open ? tr("there are no rules") : tr("no design is open"));
    m_save->setEnabled(count > 0);
    m_clear->setEnabled(count > 0);
    if (count == 0)
        m_offer->hide();
    // Said once for a rule set: rules that decide nothing look broken otherwise.
    if (open && count > 0 && decided == 0 && !document()->design().strategies.empty() && m_hiddenSeen != rules.source
        && m_offer->isHidden()) {
        m_hiddenSeen = rules.source;
        m_offer->ask(tr("Strategies name every weight and win over rules, so these rules decide nothing yet."),
                     tr("Let the Rules Decide"));
    }
}

void RulesView::selectionChanged()
{
    const Design& design = document()->design();
    const WeightLayout* weight = selectedWeight(*document());
    const WeightTrace trace = weight ? traceOf(design, *weight) : WeightTrace {};
    m_model->setTrace(trace);
    if (!weight)
        m_trace->say(tr("Select a weight to see which rules decide its dims."));
    else if (weight->spec.logicalNames.empty())
        m_trace->say(tr("%1 has no logical names, so no rule is for it.").arg(shortName(weight->spec.name)));
    else
        m_trace->show(trace);
    applyFilter();
    if (m_list->hasFocus())
        return;
    for (int row = 0; row < m_model->rowCount(); ++row)
        if (m_model->mark(row) == RuleModel::Mark::Decides && !m_list->isRowHidden(row, {})) {
            m_list->scrollTo(m_model->index(row, 0), QAbstractItemView::PositionAtCenter);
            return;
        }
}

void RulesView::applyFilter()
{
    const QString wanted = m_filter->text().trimmed();
    for (int row = 0; row < m_model->rowCount(); ++row) {
        const bool named = wanted.isEmpty() || qstr(m_model->rule(row).name).contains(wanted, Qt::CaseInsensitive);
        const bool ofWeight = !m_ofWeight->isChecked() || m_model->mark(row) != RuleModel::Mark::None;
        m_list->setRowHidden(row, {}, !named || !ofWeight);
    }
}

void RulesView::resizeEvent(QResizeEvent* event)
{
    DocumentView::resizeEvent(event);
    elideSummary();
}

void RulesView::elideSummary()
{
    // The label gets what the other widgets of the line leave.
    int others = 2 * kPanelMargin;
    for (const QWidget* widget : std::initializer_list<const QWidget*> { m_ofWeight, m_filter, m_add, m_sets })
        others += std::min(widget->sizeHint().width(), widget->maximumWidth()) + 8;
    m_summary->setText(QFontMetrics(m_summary->font()).elidedText(m_summaryText, Qt::ElideRight, std::max(60, width() - others)));
    m_summary->setToolTip(m_summaryText);
}

/// The axes get most of the room; in a narrow list the counts are left to the tool tip and the line below.
void RulesView::fitColumns()
{
    const int digit = fontMetrics().horizontalAdvance(QLatin1Char('0'));
    const int width = m_list->width(); // its viewport follows later
    m_list->setColumnHidden(RuleModel::LostColumn, width < 58 * digit);
    m_list->setColumnHidden(RuleModel::DecidesColumn, width < 48 * digit);
    m_list->setColumnWidth(RuleModel::NumberColumn, 4 * digit + 12);
    m_list->setColumnWidth(RuleModel::NameColumn, std::clamp(width * (width < 58 * digit ? 42 : 30) / 100, 12 * digit, 28 * digit));
    m_list->setColumnWidth(RuleModel::DecidesColumn, 7 * digit + 18);
    m_list->setColumnWidth(RuleModel::LostColumn, 7 * digit + 18);
}

void RulesView::focusFilter() { m_filter->setFocus(Qt::ShortcutFocusReason); }

void RulesView::showRules(const QString& name)
{
    m_filter->clear();
    m_ofWeight->setChecked(false);
    std::vector<int> rows;
    for (int row = 0; row < m_model->rowCount(); ++row)
        if (qstr(m_model->rule(row).name) == name)
            rows.push_back(row);
    selectRows(rows);
}

void RulesView::showMessage(const QString& text, bool error)
{
    m_message->setText(text);
    m_message->setVisible(!text.isEmpty());
    setTextColor(m_message, error ? Theme::of(this).error : Theme::of(this).quiet);
}

std::vector<int> RulesView::selectedRows() const
{
    std::vector<int> rows;
    for (const QModelIndex& index : m_list->selectionModel()->selectedRows())
        if (!m_list->isRowHidden(index.row(), {}))
            rows.push_back(index.row());
    return rows;
}

void RulesView::selectRows(const std::vector<int>& rows)
{
    QItemSelection selection;
    for (const int row : rows)
        selection.select(m_model->index(row, 0), m_model->index(row, RuleModel::ColumnCount - 1));
    if (rows.empty())
        return;
    const int column = std::max<int>(m_list->currentIndex().column(), RuleModel::NameColumn);
    const QModelIndex current = m_model->index(rows.front(), column);
    m_list->selectionModel()->setCurrentIndex(current, QItemSelectionModel::NoUpdate);
    m_list->selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect);
    m_list->scrollTo(current);
}

bool RulesView::apply(const RuleEdit& edit)
{
    const Status status = document()->edit(edit.design, edit.text);
    if (!status.ok()) {
        showMessage(errorText(status.error()), true);
        return false;
    }
    selectRows(edit.rows);
    if (edit.rows.empty())
        showMessage({}, false);
    return true;
}

void RulesView::addRule()
{
    if (!document()->hasDesign())
        return;
    const Design& design = document()->design();
    const auto rows = selectedRows();
    const int before = rows.empty() ? m_model->rowCount() : *std::max_element(rows.begin(), rows.end()) + 1;
    const std::string name = nameWithoutRule(design, *document()->evaluation(), selectedWeight(*document()));
    m_filter->clear();
    m_ofWeight->setChecked(false);
    if (apply(insertedRule(design, before, { name, {}, {} })))
        editCurrent(RuleModel::NameColumn);
}

void RulesView::editCurrent(int column)
{
    const QModelIndex current = m_list->currentIndex();
    if (!current.isValid())
        return;
    m_list->setFocus(Qt::OtherFocusReason);
    m_list->selectionModel()->setCurrentIndex(current.siblingAtColumn(column),
                                              QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    m_list->edit(current.siblingAtColumn(column));
}

Status RulesView::takePreset(const std::string& name)
{
    const auto setup = rulePreset(name, "rules");
    return setup.ok() ? take(setup.value(), "preset " + name) : Status(setup.error());
}

Status RulesView::openFile(const QString& path)
{
    RuleSources sources;
    sources.custom = QFile::encodeName(QFileInfo(path).absoluteFilePath()).toStdString();
    const auto setup = openRules(sources);
    return setup.ok() ? take(setup.value(), QFileInfo(path).fileName().toStdString()) : Status(setup.error());
}

Status RulesView::saveFile(const QString& path) const
{
    return writeRuleFile(QFile::encodeName(path).toStdString(), document()->design().rules.rules, document()->design().mesh);
}

Status RulesView::take(const RuleSetup& setup, const std::string& source)
{
    if (!document()->hasDesign())
        return inputError("rules", "no design is open", "open or make a design first");
    const RuleEdit edit = takenRules(document()->design(), setup, source);
    m_offer->hide();
    m_hiddenSeen.clear();
    const Status status = document()->edit(edit.design, edit.text, Misfits::Replicate); // what does not fit is a finding
    if (!status.ok())
        return status;
    showMessage({}, false);
    offerMesh(setup, source);
    Q_EMIT taken();
    return status;
}

void RulesView::offerMesh(const RuleSetup& setup, const std::string& source)
{
    const Mesh& mesh = document()->design().mesh;
    std::vector<std::string> axes;
    for (const MeshAxis& axis : mesh.axes())
        axes.push_back(axis.name);
    const bool other = !setup.meshAxes.empty() && setup.meshAxes != axes;
    if (!other && setup.warnings.empty())
        return;
    constexpr qsizetype kNamed = 4;
    QStringList lacking;
    for (const std::string& axis : setup.meshAxes)
        if (mesh.find(axis) < 0)
            lacking << qstr(axis);
    if (const qsizetype all = lacking.size(); all > kNamed)
        lacking = lacking.mid(0, kNamed - 1) << tr("%1 more").arg(all - kNamed + 1);
    QString text =
        tr("%1 taken from %2.").arg(counted(static_cast<std::int64_t>(setup.rules.size()), tr("rule"), tr("rules")), qstr(source));
    if (!lacking.isEmpty())
        text = tr("Their mesh also has %1, which cut nothing here.").arg(lacking.join(QStringLiteral(", ")));
    else if (other)
        text = tr("Their mesh has other axes.");
    m_hiddenSeen.clear(); // to be said when this is read
    m_offer->offer(text, other ? meshFor(setup, mesh) : QString(), linesOf(setup.warnings));
}

void RulesView::useMesh(const QString& text)
{
    const auto mesh = Mesh::parse(text.toStdString(), "mesh");
    if (!mesh.ok()) {
        m_offer->refuse(errorText(mesh.error()));
        return;
    }
    Design edited = document()->design();
    edited.mesh = mesh.value();
    const Status status = document()->edit(edited, tr("Use mesh %1").arg(qstr(mesh.value().text())), Misfits::Replicate);
    if (!status.ok())
        m_offer->refuse(errorText(status.error()));
    else
        m_offer->hide();
}

bool RulesView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_list && event->type() == QEvent::Resize)
        fitColumns();
    if (event->type() == QEvent::KeyPress) {
        auto* key = static_cast<QKeyEvent*>(event);
        const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        if (watched == m_list && enter && m_list->currentIndex().isValid()) {
            editCurrent(std::max<int>(m_list->currentIndex().column(), RuleModel::NameColumn) == RuleModel::NameColumn
                            ? RuleModel::NameColumn
                            : RuleModel::AxesColumn);
            return true;
        }
        if (watched == m_list && key->matches(QKeySequence::Find)) {
            focusFilter();
            return true;
        }
        if (watched == m_filter && key->key() == Qt::Key_Escape && !m_filter->text().isEmpty()) {
            m_filter->clear();
            return true;
        }
    }
    return DocumentView::eventFilter(watched, event);
}

} // namespace shardboard
