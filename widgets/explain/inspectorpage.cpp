// SPDX-License-Identifier: Apache-2.0
#include "widgets/explain/inspectorpage.h"

#include "widgets/controls/wrappedlabel.h"
#include "widgets/document/speclabel.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QSpacerItem>
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

} // namespace

Card::Card(const QString& title, const QString& value, const QString& detail, Look look, QWidget* parent)
    : QWidget(parent)
    , m_column(new QVBoxLayout(this))
    , m_titleLabel(new WrappedLabel(QString(), this))
    , m_look(look)
{
    m_column->setContentsMargins(10, 7, 10, 7);
    m_column->setSpacing(2);
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    m_titleLabel->setFont(uiFont(parent, -0.5, true));
    line->addWidget(m_titleLabel, 1);
    if (!value.isEmpty()) {
        m_valueLabel = new QLabel(this);
        m_valueLabel->setTextFormat(Qt::PlainText);
        m_valueLabel->setFont(monoFont(parent, -0.5));
        line->addWidget(m_valueLabel, 0, Qt::AlignTop);
    }
    m_column->addLayout(line);
    if (!detail.isEmpty()) {
        m_detailLabel = new WrappedLabel(QString(), this);
        m_detailLabel->setFont(uiFont(parent, -1));
        m_column->addWidget(m_detailLabel);
    }
    setLook(look);
    setTexts(title, value, detail);
}

void Card::setLook(Look look)
{
    const Theme& theme = Theme::of(parentWidget());
    setTextColor(m_titleLabel, look == Look::Attention ? theme.attention : look == Look::Error ? theme.error : theme.text);
    if (m_detailLabel)
        setTextColor(m_detailLabel, look == Look::Attention || look == Look::Error ? theme.text : theme.quiet);
    if (look != m_look)
        update();
    m_look = look;
}

void Card::setTexts(const QString& title, const QString& value, const QString& detail)
{
    m_title = title;
    m_value = value;
    m_titleLabel->setFullText(title);
    if (m_valueLabel) {
        m_valueLabel->setText(value);
        setTextColor(m_valueLabel, value == tr("refused") ? Theme::of(this).error : Theme::of(this).text);
    }
    if (m_detailLabel)
        m_detailLabel->setFullText(detail);
    setAccessibleName(title);
    setAccessibleDescription(value + QLatin1Char(' ') + detail);
}

void Card::renew(const QString& title, const QString& value, const QString& detail, Look look)
{
    disconnect(this, &Card::activated, nullptr, nullptr);
    setObjectName(QString());
    if (hasFocus() && title != m_title)
        clearFocus(); // it was on something else
    if (!value.isEmpty() && !m_valueLabel) {
        m_valueLabel = new QLabel(this);
        m_valueLabel->setTextFormat(Qt::PlainText);
        m_valueLabel->setFont(monoFont(parentWidget(), -0.5));
        static_cast<QHBoxLayout*>(m_column->itemAt(0)->layout())->addWidget(m_valueLabel, 0, Qt::AlignTop);
    }
    if (!detail.isEmpty() && !m_detailLabel) {
        m_detailLabel = new WrappedLabel(QString(), this);
        m_detailLabel->setFont(uiFont(parentWidget(), -1));
        m_column->insertWidget(1, m_detailLabel);
    }
    setLook(look);
    setTexts(title, value, detail);
    if (m_valueLabel)
        m_valueLabel->setVisible(!value.isEmpty());
    if (m_detailLabel)
        m_detailLabel->setVisible(!detail.isEmpty());
    m_actionable = false;
    m_buttonAsked = false;
    show(); // it may have been hidden
}

void Card::settled()
{
    if (!m_actionable && focusPolicy() != Qt::NoFocus) {
        clearFocus();
        setFocusPolicy(Qt::NoFocus);
        unsetCursor();
        setToolTip(QString());
    }
    if (!m_button || m_buttonAsked)
        return;
    m_column->removeItem(m_buttonSpace);
    delete m_buttonSpace;
    m_buttonSpace = nullptr;
    delete std::exchange(m_button, nullptr);
    delete std::exchange(m_beside, nullptr);
}

void Card::setActionable(const QString& toolTip)
{
    m_actionable = true;
    if (focusPolicy() != Qt::StrongFocus) {
        setFocusPolicy(Qt::StrongFocus);
        setCursor(Qt::PointingHandCursor);
    }
    setToolTip(toolTip);
}

QPushButton* Card::addButton(const QString& text, const QString& beside)
{
    m_buttonAsked = true;
    if (m_button) {
        disconnect(m_button, &QPushButton::clicked, nullptr, nullptr);
        if (m_button->hasFocus() && m_button->accessibleName() != text)
            m_button->clearFocus();
    } else {
        m_button = new QPushButton(this);
        m_buttonSpace = new QSpacerItem(0, 4, QSizePolicy::Minimum, QSizePolicy::Fixed);
        m_column->addSpacerItem(m_buttonSpace);
        m_column->addWidget(m_button, 0, Qt::AlignLeft);
        m_button->setVisible(true);
    }
    m_button->setProperty("primary", true);
    m_button->setAccessibleName(text);
    m_button->setToolTip(text);
    m_button->setFont(uiFont(this, -0.5, true));
    constexpr int kMost = 272; // the narrowest inspector less its margins
    constexpr int kPadding = 28;
    m_button->setText(menuText(QFontMetrics(m_button->font()).elidedText(text, Qt::ElideMiddle, kMost - kPadding)));
    m_button->update();
    if (beside.isEmpty()) {
        delete std::exchange(m_beside, nullptr);
    } else if (m_beside) {
        m_beside->setFullText(beside);
    } else {
        m_beside = new WrappedLabel(beside, this);
        setTextColor(m_beside, Theme::of(this).attention);
        m_beside->setFont(uiFont(this, -1, true));
        m_column->addWidget(m_beside);
        m_beside->setVisible(true);
    }
    return m_button;
}

void Card::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor border = theme.line;
    QColor fill = theme.panel;
    if (m_look == Look::Chosen) {
        border = theme.accent;
        fill = theme.selection;
    } else if (m_look == Look::Attention) {
        border = theme.attention;
        fill = theme.attentionFill;
    } else if (m_look == Look::Error) {
        border = theme.error;
        fill = blended(theme.panel, theme.error, 0.1);
    }
    painter.setPen(QPen(hasFocus() ? theme.accent : border, hasFocus() ? 2 : 1));
    painter.setBrush(fill);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kCornerRadius, kCornerRadius);
}

void Card::mouseReleaseEvent(QMouseEvent* event)
{
    if (m_actionable && event->button() == Qt::LeftButton && rect().contains(event->pos()))
        Q_EMIT activated();
}

void Card::keyPressEvent(QKeyEvent* event)
{
    if (m_actionable && (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space))
        Q_EMIT activated();
    else
        QWidget::keyPressEvent(event);
}

void Card::focusInEvent(QFocusEvent*) { update(); }
void Card::focusOutEvent(QFocusEvent*) { update(); }

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

void InspectorPage::section(const QString& title)
{
    leaveFacts();
    if (old(Part::Kind::Section, title))
        return;
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
    auto* label = coloured(new QLabel(title.toUpper(), this), theme.quiet);
    label->setFont(uiFont(parentWidget(), -1.5, true));
    m_column->insertWidget(item++, label);
    part.widget = label;
    part.items = item - m_item;
    put(std::move(part));
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
