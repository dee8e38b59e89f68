// SPDX-License-Identifier: Apache-2.0
#include "widgets/workload/settingsection.h"

#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/theme.h"
#include "widgets/workload/settingrow.h"

#include <QLabel>
#include <QToolButton>

#include <algorithm>
#include <utility>

namespace shardboard {

namespace {

bool sameFields(const SettingGroup& a, const SettingGroup& b)
{
    return std::ranges::equal(a.settings, b.settings, [](const Setting& one, const Setting& other) {
        return one.id == other.id && std::ranges::equal(one.options, other.options, [](const auto& x, const auto& y) {
                   return x.value == y.value && x.text == y.text && x.detail == y.detail;
               });
    });
}

/// Why nothing in it applies; empty where something does, or each for a reason of its own.
QString whyNone(const SettingGroup& group, const Design& design)
{
    QString out;
    for (const Setting& setting : group.settings) {
        const QString why = setting.whyNot ? setting.whyNot(design) : QString();
        if (why.isEmpty() || (!out.isEmpty() && why != out))
            return {};
        out = why;
    }
    return out;
}

} // namespace

SettingSection::SettingSection(SettingGroup group, QWidget* parent)
    : QWidget(parent)
    , m_group(std::move(group))
    , m_heading(new QToolButton(this))
    , m_summary(new WrappedLabel({}, this))
    , m_body(new QWidget(this))
{
    setObjectName(QStringLiteral("section.") + m_group.id);
    m_heading->setObjectName(QStringLiteral("fold.") + m_group.id);
    m_heading->setText(m_group.title.toUpper());
    m_heading->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_heading->setProperty("heading", true);
    m_heading->setFocusPolicy(Qt::StrongFocus);
    m_summary->setFocusPolicy(Qt::NoFocus); // the heading says it too
    m_summary->setObjectName(QStringLiteral("summary.") + m_group.id);
    m_column = boxLayout<QVBoxLayout>({ 0, 2, 0, 4 }, 6, m_body);
    m_body->hide();
    auto* all = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 0, this);
    all->addWidget(m_heading, 0, Qt::AlignLeft);
    all->addWidget(m_summary);
    all->addWidget(m_body);
    connect(m_heading, &QToolButton::clicked, this, [this] {
        setOpen(!m_open);
        Q_EMIT folded(m_open);
    });
    updateLook();
    showHeading();
}

SettingRow* SettingSection::reveal(const QString& id)
{
    if (std::ranges::none_of(m_group.settings, [&](const Setting& setting) { return setting.id == id; }))
        return nullptr;
    if (!m_open) {
        setOpen(true);
        Q_EMIT folded(true);
    }
    const auto row = std::ranges::find_if(m_rows, [&](const SettingRow* one) { return one->setting().id == id; });
    return row == m_rows.end() ? nullptr : *row;
}

void SettingSection::setOpen(bool open)
{
    m_open = open;
    if (open && m_rows.empty() && m_design)
        makeRows();
    m_body->setVisible(open);
    showHeading();
}

void SettingSection::showDesign(SettingGroup group, const std::shared_ptr<const Design>& design)
{
    const bool same = sameFields(m_group, group);
    m_group = std::move(group);
    m_design = design;
    if (!same && !m_rows.empty())
        makeRows();
    else if (m_open && m_rows.empty())
        makeRows();
    else
        for (SettingRow* row : m_rows)
            row->showDesign(design);
    showHeading();
}

void SettingSection::makeRows()
{
    QString focused;
    std::vector<std::pair<QString, QString>> waiting; // what is being typed stays
    for (SettingRow* row : std::exchange(m_rows, {})) {
        if (row->field()->hasFocus())
            focused = row->setting().id;
        if (const auto text = row->pending())
            waiting.emplace_back(row->setting().id, *text);
        row->disconnect();
        row->hide();
        m_column->removeWidget(row);
        row->deleteLater(); // its field may be what the edit came from
    }
    for (const Setting& setting : m_group.settings) {
        auto* row = new SettingRow(setting, m_body);
        m_column->insertWidget(static_cast<int>(m_rows.size()), row);
        m_rows.push_back(row);
        row->showDesign(m_design);
        for (const auto& [id, text] : waiting)
            if (id == setting.id)
                row->unsettled(m_design, text);
        Q_EMIT rowMade(row);
        if (setting.id == focused)
            row->field()->setFocus(Qt::ShortcutFocusReason);
    }
}

void SettingSection::setFooter(QWidget* footer) { m_column->addWidget(footer, 0, Qt::AlignRight); }

void SettingSection::showHeading()
{
    QString told;
    if (!m_open && m_design) {
        told = whyNone(m_group, *m_design);
        if (told.isEmpty())
            told = m_group.summary(*m_design);
    }
    m_heading->setArrowType(m_open ? Qt::DownArrow : Qt::RightArrow);
    m_heading->setToolTip(m_open ? tr("Fold") : tr("Unfold"));
    m_heading->setAccessibleName((m_open ? tr("%1, unfolded") : tr("%1, folded")).arg(m_group.title));
    m_heading->setAccessibleDescription(told);
    m_summary->setFullText(told);
    m_summary->setVisible(!told.isEmpty());
}

void SettingSection::updateLook()
{
    m_heading->setFont(uiFont(this, -1.5, true));
    m_summary->setFont(uiFont(this, -1));
    setTextColor(m_summary, Theme::of(this).quiet);
    for (SettingRow* row : m_rows)
        row->updateLook();
}

} // namespace shardboard
