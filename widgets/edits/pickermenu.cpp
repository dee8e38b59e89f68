// SPDX-License-Identifier: Apache-2.0
#include "widgets/edits/pickermenu.h"

#include "model/picker/profilemode.h"
#include "model/session/document.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QActionGroup>
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QSignalBlocker>
#include <QWidgetAction>

#include <algorithm>
#include <cmath>

namespace shardboard {

namespace {

constexpr double kMib = 1024.0 * 1024.0;
constexpr double kMostMib = 1e9; // beyond any device

/// A quiet heading; it is no choice.
void addTitle(QMenu* menu, const QString& text)
{
    auto* label = new QLabel(text, menu);
    label->setFont(uiFont(menu, -1, true));
    label->setContentsMargins(12, 6, 12, 2);
    label->setEnabled(false);
    auto* action = new QWidgetAction(menu);
    action->setText(text);
    action->setDefaultWidget(label);
    menu->addAction(action);
}

} // namespace

QString pickerText(const PickerOptions& options)
{
    const PickerOptions usual;
    QStringList parts { qstr(pickerName(options.picker)), qstr(profileName(options.profile)) };
    if (options.allowPartialToSharded)
        parts << QObject::tr("partial → shards");
    if (options.allowedTransitions != usual.allowedTransitions)
        parts << (options.allowedTransitions == TransitionSet::all() ? QObject::tr("all transitions")
                                                                     : QObject::tr("own transitions"));
    if (options.budgetBytesPerDevice)
        parts << QObject::tr("≤ %1").arg(bytesText(options.budgetBytes()));
    if (options.onReshard != usual.onReshard)
        parts << qstr(onReshardName(options.onReshard));
    return parts.join(QStringLiteral(" · "));
}

PickerMenu::PickerMenu(Document* document, QMenu* menu)
    : QObject(menu)
    , m_document(document)
    , m_menu(menu)
{
    menu->setToolTipsVisible(true);
    m_pickers = addChoices(
        tr("Picker"),
        { { QStringLiteral("greedy"), tr("Each operation takes the row whose reshards are cheapest") },
          { QStringLiteral("partials-only"), tr("Only partial values are reduced to whole ones, nothing else moves") },
          { QStringLiteral("none"), tr("Nothing may move: an operation that would need it is a finding") } },
        [](PickerOptions& options, const QString& name) {
            options.picker = pickerFromName(name.toStdString()).value_or(PickerKind::Greedy);
        },
        tr("Picker %1"));
    m_profiles = addChoices(
        tr("Rows and prices of"),
        { { QStringLiteral("shardboard"),
            tr("Sound rows, with vocabulary-parallel embedding and attention by heads or batch; supports pins") },
          { QStringLiteral("max-26.6"), tr("MAX 26.6 as it is released: its greedy picker") },
          { QStringLiteral("max-26.7"),
            tr("MAX 26.7 as it is released: automatic resharding, which refuses what moves unless it is told") },
          { QStringLiteral("G1"), tr("MAX's documented greedy picker: gathers a table that is cut by vocabulary") },
          { QStringLiteral("G0"), tr("MAX's first greedy picker, which can be given a memory budget") },
          { QStringLiteral("G2"), tr("MAX's automatic resharding: mesh axes in turn, only transitions that are allowed") },
          { QStringLiteral("G3"), tr("MAX's automatic resharding with slices that cost a little") } },
        [](PickerOptions& options, const QString& name) {
            chooseProfile(options, profileFromName(name.toStdString()).value_or(PickerProfile::Shardboard));
        },
        tr("Picker %1"));
    m_modes = addChoices(
        tr("When something moves"),
        { { QStringLiteral("silent"), tr("The collectives are in their table, nothing else is reported") },
          { QStringLiteral("warn"), tr("A note among the findings for each activation that is moved") },
          { QStringLiteral("raise"), tr("An error among the findings for each, because MAX would refuse the model") } },
        [](PickerOptions& options, const QString& name) {
            options.onReshard = onReshardFromName(name.toStdString()).value_or(OnReshard::Silent);
        },
        tr("When something moves: %1"));
    addTitle(menu, tr("Policy"));
    m_reduceScatter = addSwitch(
        tr("Partial values may become shards"), QStringLiteral("picker.reduceScatter"),
        tr("Reduce-scatter instead of all-reduce where it is cheaper; for greedy in shardboard, G0, G1 and max-26.6"),
        [](PickerOptions& options, bool on) { options.allowPartialToSharded = on; }, tr("Allow partial values to become shards"),
        tr("Keep partial values whole"));
    m_allTransitions = addSwitch(
        tr("All transitions"), QStringLiteral("picker.allTransitions"),
        tr("All instead of all but partial → shards; for greedy in G2, G3 and max-26.7"),
        [](PickerOptions& options, bool on) { options.allowedTransitions = on ? TransitionSet::all() : TransitionSet::defaults(); },
        tr("Allow all transitions"), tr("Allow the default transitions"));
    addBudget();
    connect(menu, &QMenu::aboutToShow, this, [this] { showState(); });
    connect(document, &Document::evaluated, this, [this] { showState(); });
    showState();
}

QActionGroup* PickerMenu::addChoices(const QString& title, const QList<QPair<QString, QString>>& choices,
                                     const std::function<void(PickerOptions&, const QString&)>& change, const QString& editText)
{
    addTitle(m_menu, title);
    auto* group = new QActionGroup(this);
    for (const auto& [name, toolTip] : choices) {
        QAction* action = m_menu->addAction(name);
        action->setObjectName(QStringLiteral("choose.") + name);
        action->setData(name);
        action->setToolTip(toolTip);
        action->setCheckable(true);
        group->addAction(action);
    }
    connect(group, &QActionGroup::triggered, this, [this, change, editText](QAction* action) {
        PickerOptions options = m_document->design().picker;
        change(options, action->data().toString());
        edit(options, editText.arg(action->data().toString()));
    });
    return group;
}

QAction* PickerMenu::addSwitch(const QString& text, const QString& name, const QString& toolTip,
                               const std::function<void(PickerOptions&, bool)>& change, const QString& on, const QString& off)
{
    QAction* action = m_menu->addAction(text);
    action->setObjectName(name);
    action->setCheckable(true);
    action->setToolTip(toolTip);
    connect(action, &QAction::triggered, this, [this, change, on, off](bool checked) {
        PickerOptions options = m_document->design().picker;
        change(options, checked);
        edit(options, checked ? on : off);
    });
    return action;
}

void PickerMenu::addBudget()
{
    auto* row = new QWidget(m_menu);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(24, 4, 12, 4);
    m_budget = new QDoubleSpinBox(row);
    nameWidget(m_budget, "picker.budget", tr("Memory budget in MiB"));
    m_budget->setRange(0, kMostMib);
    m_budget->setDecimals(3);
    m_budget->setSuffix(tr(" MiB"));
    m_budget->setSpecialValueText(tr("no limit"));
    m_budget->setKeyboardTracking(false); // one edit for a number, not one for each digit
    const QString toolTip = tr("The most that a device may hold of an operation's operands; for greedy in G0. 0: no limit");
    row->setToolTip(toolTip);
    auto* label = new QLabel(tr("Memory budget"), row);
    label->setBuddy(m_budget);
    layout->addWidget(label, 1);
    layout->addWidget(m_budget);
    auto* action = new QWidgetAction(m_menu);
    action->setObjectName(QStringLiteral("picker.budgetAction"));
    action->setText(tr("Memory budget"));
    action->setToolTip(toolTip);
    action->setDefaultWidget(row);
    m_menu->addAction(action);
    connect(m_budget, &QDoubleSpinBox::valueChanged, this, [this](double mib) {
        if (!m_document->hasDesign())
            return;
        PickerOptions options = m_document->design().picker;
        options.setBudgetBytes(std::llround(mib * kMib));
        edit(options,
             !options.budgetBytesPerDevice ? tr("No memory budget") : tr("Memory budget %1").arg(bytesText(options.budgetBytes())));
    });
}

void PickerMenu::edit(const PickerOptions& options, const QString& text)
{
    if (m_document->hasDesign() && !(options == m_document->design().picker)) {
        Design edited = m_document->design();
        edited.picker = options;
        const Status status = m_document->edit(edited, text);
        if (!status.ok())
            Q_EMIT refused(errorText(status.error()));
    }
    showState(); // also after a refusal: the menu shows what is, not what was tried
}

void PickerMenu::showState()
{
    const bool open = m_document->hasDesign();
    for (QActionGroup* group : { m_pickers, m_profiles, m_modes })
        group->setEnabled(open);
    for (QAction* action : { m_reduceScatter, m_allTransitions })
        action->setEnabled(open);
    m_budget->setEnabled(open);
    if (!open)
        return;
    const PickerOptions& options = m_document->design().picker;
    const auto check = [](const QActionGroup* group, const std::string& name) {
        for (QAction* action : group->actions())
            action->setChecked(action->data().toString() == qstr(name));
    };
    check(m_pickers, pickerName(options.picker));
    check(m_profiles, profileName(options.profile));
    check(m_modes, onReshardName(options.onReshard));
    // What a picker does not look at is not offered, unless it is set: then it can be taken back.
    const bool greedy = options.picker == PickerKind::Greedy;
    m_reduceScatter->setChecked(options.allowPartialToSharded);
    m_reduceScatter->setProperty("whyNot", tr("only greedy with rows of shardboard, G0, G1 or max-26.6 uses it"));
    m_allTransitions->setProperty("whyNot", tr("only greedy with rows of G2, G3 or max-26.7 uses it"));
    m_reduceScatter->setEnabled((greedy && !hasRegions(options.profile)) || options.allowPartialToSharded);
    m_allTransitions->setChecked(options.allowedTransitions == TransitionSet::all());
    m_allTransitions->setEnabled((greedy && hasRegions(options.profile))
                                 || options.allowedTransitions != TransitionSet::defaults());
    const QSignalBlocker blocker(m_budget);
    m_budget->setValue(options.budgetBytesPerDevice.value_or(0) / kMib);
    m_budget->setEnabled((greedy && options.profile == PickerProfile::G0) || options.budgetBytesPerDevice.has_value());
}

PickerButton::PickerButton(Document* document, QWidget* parent)
    : QToolButton(parent)
    , m_document(document)
{
    setObjectName(QStringLiteral("pickerButton"));
    setPopupMode(QToolButton::InstantPopup);
    setToolButtonStyle(Qt::ToolButtonTextOnly);
    setProperty("outlined", true);
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    auto* menu = new QMenu(this);
    menu->setObjectName(QStringLiteral("pickerButtonMenu"));
    auto* choices = new PickerMenu(document, menu);
    connect(choices, &PickerMenu::refused, this, &PickerButton::refused);
    setMenu(menu);
    connect(document, &Document::evaluated, this, [this] { showState(); });
    showState();
}

void PickerButton::showState()
{
    const bool planned = m_document->hasDesign() && m_document->design().model.hasGraph();
    setVisible(planned || !m_document->hasDesign());
    setEnabled(planned);
    const QString text = planned ? pickerText(m_document->design().picker) : QString();
    m_full = tr("Picker: %1").arg(text) + QStringLiteral(" ▾");
    setText(m_full);
    fitText(); // not seen, too: when it comes into sight it may be as wide
    setAccessibleName(tr("Picker: %1").arg(text));
    setToolTip(
        tr("How the collectives are chosen: picker, profile, what happens when data moves, and the policies of some profiles"));
}

int PickerButton::widthBesideText() const
{
    return QToolButton::sizeHint().width() - fontMetrics().size(Qt::TextShowMnemonic, text()).width();
}

void PickerButton::fitText()
{
    const QString shown = fontMetrics().elidedText(m_full, Qt::ElideMiddle, width() - widthBesideText());
    if (shown != text())
        setText(shown);
}

QSize PickerButton::sizeHint() const
{
    return { widthBesideText() + fontMetrics().size(Qt::TextShowMnemonic, m_full).width(), QToolButton::sizeHint().height() };
}

QSize PickerButton::minimumSizeHint() const
{
    constexpr int kLeast = 110;
    const QSize all = sizeHint();
    return { std::min(all.width(), static_cast<int>(kLeast * textScale(this))), all.height() };
}

void PickerButton::resizeEvent(QResizeEvent* event)
{
    QToolButton::resizeEvent(event);
    fitText();
}

} // namespace shardboard
