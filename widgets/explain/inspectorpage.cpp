// SPDX-License-Identifier: Apache-2.0
#include "widgets/explain/inspectorpage.h"

#include "widgets/controls/wrappedlabel.h"
#include "widgets/document/speclabel.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include <cstddef>
#include <utility>

namespace shardboard {

namespace {

QLabel* coloured(QLabel* label, const QColor& color)
{
    setTextColor(label, color);
    label->setTextFormat(Qt::PlainText);
    return label;
}

/// Qt lays out all that is around a widget when it is shown; a page that is being described is laid out at its end, once.
class LayoutLater {
public:
    explicit LayoutLater(QLayout* layout)
        : m_layout(layout)
    {
        m_layout->setEnabled(false);
    }
    ~LayoutLater() { m_layout->setEnabled(true); }
    LayoutLater(const LayoutLater&) = delete;
    LayoutLater& operator=(const LayoutLater&) = delete;

private:
    QLayout* m_layout;
};

} // namespace

InspectorPage::InspectorPage(QWidget* parent)
    : QWidget(parent)
    , m_column(new QVBoxLayout(this))
{
    m_column->setContentsMargins(kPanelMargin, 8, kPanelMargin, kPanelMargin);
    m_column->setSpacing(6);
}

/// The next part of this kind in the section, or the section of this title; what stands before it goes. Null if there is none.
InspectorPage::Part* InspectorPage::old(Part::Kind kind, const QString& title)
{
    const bool section = kind == Part::Kind::Section;
    for (std::size_t i = m_at; i < m_parts.size(); ++i) {
        const Part& part = m_parts[i];
        if (part.kind == Part::Kind::Section && !section)
            break;
        if (part.kind != kind || (section && (part.title != title || (part.line == nullptr) != (m_at == 0))))
            continue;
        for (std::size_t k = m_at; k < i; ++k)
            removePart(m_at);
        Part& found = m_parts[m_at++];
        m_item += found.items;
        return &found;
    }
    return nullptr;
}

/// Notes a part whose items were put into the column at `m_item`.
InspectorPage::Part& InspectorPage::put(Part part)
{
    m_disordered = m_disordered || m_at < m_parts.size();
    m_item += part.items;
    const LayoutLater later(m_column);
    if (m_finished) // a layout shows what is new to it only later
        for (QWidget* widget : { part.line, part.widget })
            if (widget)
                widget->show();
    return *m_parts.insert(m_parts.begin() + static_cast<std::ptrdiff_t>(m_at++), std::move(part));
}

/// A part that stands at `m_item`.
void InspectorPage::removePart(std::size_t index)
{
    Part& part = m_parts[index];
    trimRows(part, 0);
    for (int i = 0; i < part.items; ++i)
        delete m_column->takeAt(m_item); // the grid too
    constexpr std::size_t kMostSpare = 16;
    if (part.kind == Part::Kind::Card && m_spareCards.size() < kMostSpare) {
        auto* card = static_cast<Card*>(part.widget);
        card->renew(QString(), QString(), QString(), Card::Look::Plain);
        card->settled();
        card->hide();
        m_spareCards.push_back(card);
    } else {
        delete part.widget;
    }
    delete part.line;
    m_parts.erase(m_parts.begin() + static_cast<std::ptrdiff_t>(index));
}

void InspectorPage::trimRows(Part& part, std::size_t count)
{
    while (part.rows.size() > count) {
        const Row& row = part.rows.back();
        delete row.label;
        delete row.text;
        delete row.spec;
        part.rows.pop_back();
    }
}

void InspectorPage::leaveFacts()
{
    if (m_inFacts)
        trimRows(m_parts[m_at - 1], m_parts[m_at - 1].used);
    m_inFacts = false;
}

void InspectorPage::section(const QString& title) { addSection(title, false); }

QToolButton* InspectorPage::foldingSection(const QString& title, bool open)
{
    auto* out = static_cast<QToolButton*>(addSection(title, true));
    disconnect(out, &QToolButton::clicked, nullptr, nullptr);
    out->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
    out->setAccessibleName(open ? tr("%1, unfolded").arg(title) : tr("%1, folded").arg(title));
    out->setToolTip(open ? tr("Fold") : tr("Unfold"));
    return out;
}

QWidget* InspectorPage::addSection(const QString& title, bool folds)
{
    leaveFacts();
    if (const Part* part = old(Part::Kind::Section, title))
        return part->widget;
    const Theme& theme = Theme::of(parentWidget());
    Part part;
    part.title = title;
    int item = m_item;
    if (m_at > 0) {
        part.line = new QWidget(this);
        part.line->setFixedHeight(1);
        part.line->setAutoFillBackground(true);
        part.line->setBackgroundRole(QPalette::Window);
        QPalette palette = part.line->palette();
        palette.setColor(QPalette::Window, theme.line);
        part.line->setPalette(palette);
        m_column->insertSpacing(item++, 6);
        m_column->insertWidget(item++, part.line);
        m_column->insertSpacing(item++, 2);
    }
    QWidget* heading = nullptr;
    if (folds) {
        auto* button = new QToolButton(this);
        nameWidget(button, "inspectorFold", {});
        button->setText(title.toUpper());
        button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        button->setProperty("heading", true);
        button->setFocusPolicy(Qt::StrongFocus);
        heading = button;
    } else {
        heading = coloured(new QLabel(title.toUpper(), this), theme.quiet);
    }
    heading->setFont(uiFont(parentWidget(), -1.5, true));
    m_column->insertWidget(item++, heading, 0, folds ? Qt::AlignLeft : Qt::Alignment());
    part.widget = heading;
    part.items = item - m_item;
    put(std::move(part));
    return heading;
}

/// The next row of facts, with its name.
InspectorPage::Row& InspectorPage::factRow(const QString& name, bool spec)
{
    if (!m_inFacts) {
        Part* part = old(Part::Kind::Facts);
        if (!part) {
            Part made;
            made.kind = Part::Kind::Facts;
            made.grid = new QGridLayout;
            made.grid->setContentsMargins(0, 0, 0, 0);
            made.grid->setHorizontalSpacing(12);
            made.grid->setVerticalSpacing(5);
            made.grid->setColumnStretch(1, 1);
            m_column->insertLayout(m_item, made.grid);
            part = &put(std::move(made));
        }
        part->used = 0;
        m_inFacts = true;
    }
    Part& part = m_parts[m_at - 1];
    const std::size_t index = part.used++;
    if (index < part.rows.size() && (part.rows[index].spec != nullptr) != spec)
        trimRows(part, index);
    const bool made = index == part.rows.size();
    const int gridRow = static_cast<int>(index) + 1;
    if (made) {
        Row row;
        row.label = coloured(new QLabel(this), Theme::of(parentWidget()).quiet);
        row.label->setFont(uiFont(parentWidget(), -0.5));
        part.grid->addWidget(row.label, gridRow, 0, Qt::AlignTop);
        if (spec) {
            row.spec = new SpecLabel(this);
            setTextColor(row.spec, Theme::of(parentWidget()).text);
            row.spec->setTextFont(monoFont(parentWidget(), -1));
            row.spec->setAlignment(Qt::AlignRight);
            part.grid->addWidget(row.spec, gridRow, 1);
        } else {
            row.text = new WrappedLabel(QString(), this);
            setTextColor(row.text, Theme::of(parentWidget()).text);
            row.text->setFont(monoFont(parentWidget(), -1));
            row.text->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
            row.text->setTextInteractionFlags(Qt::TextSelectableByMouse);
            part.grid->addWidget(row.text, gridRow, 1);
        }
        if (m_finished) {
            const LayoutLater later(m_column);
            row.label->show();
            (spec ? static_cast<QWidget*>(row.spec) : row.text)->show();
        }
        part.rows.push_back(row);
    }
    Row& row = part.rows[index];
    if (!made && row.name == name)
        return row;
    row.name = name;
    row.label->setText(name);
    row.label->setToolTip(QString());
    constexpr int kWidestName = 124; // a third of the panel; names of tensors can be long
    if (row.label->sizeHint().width() > kWidestName) {
        row.label->setToolTip(name);
        row.label->setText(row.label->fontMetrics().elidedText(name, Qt::ElideMiddle, kWidestName));
    }
    return row;
}

void InspectorPage::fact(const QString& name, const QString& value, const QString& toolTip)
{
    WrappedLabel* label = factRow(name, false).text;
    label->setFullText(value);
    label->setToolTip(toolTip);
}

void InspectorPage::fact(const QString& name, const ShownSpec& spec, const Layout& layout, const Mesh& mesh)
{
    factRow(name, true).spec->setSpec(spec, layout, mesh);
}

void InspectorPage::sentence(const QString& text)
{
    leaveFacts();
    if (const Part* part = old(Part::Kind::Sentence)) {
        static_cast<WrappedLabel*>(part->widget)->setFullText(text);
        return;
    }
    Part part;
    part.kind = Part::Kind::Sentence;
    auto* label = coloured(new WrappedLabel(text, this), Theme::of(parentWidget()).text);
    label->setFont(uiFont(parentWidget(), -0.5));
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_column->insertWidget(m_item, label);
    part.widget = label;
    put(std::move(part));
}

QPushButton* InspectorPage::button(const QString& text, const QString& toolTip)
{
    leaveFacts();
    if (const Part* part = old(Part::Kind::Button)) {
        auto* out = static_cast<QPushButton*>(part->widget);
        disconnect(out, &QPushButton::clicked, nullptr, nullptr);
        out->setText(text);
        out->setToolTip(toolTip);
        return out;
    }
    Part part;
    part.kind = Part::Kind::Button;
    auto* out = new QPushButton(text, this);
    out->setToolTip(toolTip);
    m_column->insertWidget(m_item, out, 0, Qt::AlignLeft);
    part.widget = out;
    put(std::move(part));
    return out;
}

Card* InspectorPage::card(const QString& title, const QString& value, const QString& detail, Card::Look look)
{
    leaveFacts();
    if (const Part* part = old(Part::Kind::Card)) {
        auto* out = static_cast<Card*>(part->widget);
        const LayoutLater later(m_column);
        out->renew(title, value, detail, look);
        return out;
    }
    Part part;
    part.kind = Part::Kind::Card;
    Card* out = nullptr;
    if (m_spareCards.empty()) {
        out = new Card(title, value, detail, look, this);
    } else {
        out = m_spareCards.back();
        m_spareCards.pop_back();
        const LayoutLater later(m_column);
        out->renew(title, value, detail, look);
    }
    m_column->insertWidget(m_item, out);
    part.widget = out;
    put(std::move(part));
    return out;
}

void InspectorPage::restart()
{
    m_at = 0;
    m_item = 0;
    m_inFacts = false;
}

void InspectorPage::finish()
{
    leaveFacts();
    while (m_at < m_parts.size())
        removePart(m_at);
    for (const Part& part : m_parts)
        if (part.kind == Part::Kind::Card)
            static_cast<Card*>(part.widget)->settled();
    if (!m_finished)
        m_column->addStretch(1);
    m_finished = true;
    orderTabs();
}

void InspectorPage::orderTabs()
{
    if (!m_disordered)
        return;
    QWidget* before = nullptr;
    const auto follow = [&before](QWidget* widget) {
        if (!widget || !(widget->focusPolicy() & Qt::TabFocus))
            return;
        if (before)
            setTabOrder(before, widget);
        before = widget;
    };
    for (const Part& part : m_parts) {
        follow(part.widget);
        if (part.kind == Part::Kind::Card)
            follow(static_cast<Card*>(part.widget)->button());
    }
}

/// The scroll area makes the page as wide as its view, never wider, so that nothing is cut off at its right; and as high as that
/// width needs, so that other heights need not be worked out.
QSize InspectorPage::minimumSizeHint() const { return { 120, 60 }; }
QSize InspectorPage::sizeHint() const { return { 300, 60 }; }

} // namespace shardboard
