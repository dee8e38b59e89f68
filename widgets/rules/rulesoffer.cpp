// SPDX-License-Identifier: Apache-2.0
#include "widgets/rules/rulesoffer.h"

#include "widgets/look/naming.h"
#include "widgets/look/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace shardboard {

namespace {

constexpr int kMostLines = 3; ///< of warnings that are seen without scrolling

QLabel* wrapping(QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

} // namespace

RulesOffer::RulesOffer(QWidget* parent)
    : QWidget(parent)
    , m_text(wrapping(this))
    , m_meshRow(new QWidget(this))
    , m_mesh(new QLineEdit(m_meshRow))
    , m_agree(new QPushButton(this))
    , m_problem(wrapping(this))
    , m_warnings(new QPlainTextEdit(this))
{
    setObjectName(QStringLiteral("rulesOffer"));
    m_text->setObjectName(QStringLiteral("rulesOfferText"));
    nameWidget(m_mesh, "rulesOfferMesh", tr("Mesh to use"),
               tr("Mesh axes in order, the first slowest: NAME=SIZE,NAME=SIZE. Sizes may be changed first."));
    m_agree->setObjectName(QStringLiteral("rulesOfferAgree"));
    m_problem->setObjectName(QStringLiteral("rulesOfferProblem"));
    nameWidget(m_warnings, "rulesOfferWarnings", tr("Warnings of the rules file"));
    m_warnings->setReadOnly(true);
    m_warnings->setTabChangesFocus(true);
    m_warnings->setFrameShape(QFrame::NoFrame);
    m_warnings->viewport()->setAutoFillBackground(false);
    auto* use = new QPushButton(tr("Use This Mesh"), m_meshRow);
    use->setObjectName(QStringLiteral("rulesOfferUse"));
    auto* close = new QToolButton(this);
    close->setObjectName(QStringLiteral("rulesOfferClose"));
    close->setText(QStringLiteral("×"));
    close->setAccessibleName(tr("Close"));
    close->setToolTip(tr("Leave it as it is"));
    auto* meshLayout = new QHBoxLayout(m_meshRow);
    meshLayout->setContentsMargins(0, 0, 0, 0);
    meshLayout->addWidget(m_mesh, 1);
    meshLayout->addWidget(use);
    auto* words = new QVBoxLayout;
    words->setSpacing(4);
    words->addWidget(m_text);
    words->addWidget(m_meshRow);
    words->addWidget(m_problem);
    words->addWidget(m_warnings);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 6, 6, 6);
    row->addLayout(words, 1);
    row->addWidget(m_agree, 0, Qt::AlignVCenter);
    row->addWidget(close, 0, Qt::AlignTop);
    connect(use, &QPushButton::clicked, this, [this] { Q_EMIT meshWanted(m_mesh->text()); });
    connect(m_mesh, &QLineEdit::returnPressed, this, [this] { Q_EMIT meshWanted(m_mesh->text()); });
    connect(m_mesh, &QLineEdit::textEdited, this, [this] { refuse({}); });
    connect(m_agree, &QPushButton::clicked, this, &RulesOffer::agreed);
    connect(close, &QToolButton::clicked, this, [this] {
        hide();
        Q_EMIT closed();
    });
    hide();
}

void RulesOffer::offer(const QString& text, const QString& mesh, const QStringList& warnings)
{
    m_text->setText(text);
    m_mesh->setText(mesh);
    m_mesh->setCursorPosition(0);
    m_meshRow->setVisible(!mesh.isEmpty());
    m_agree->hide();
    refuse({});
    m_warnings->setPlainText(warnings.join(QLatin1Char('\n')));
    m_warnings->setVisible(!warnings.isEmpty());
    const int line = QFontMetrics(m_warnings->font()).lineSpacing();
    m_warnings->setFixedHeight(static_cast<int>(std::min<qsizetype>(kMostLines, warnings.size())) * line + 10);
    show();
}

void RulesOffer::ask(const QString& text, const QString& button)
{
    offer(text, {}, {});
    m_agree->setText(button);
    m_agree->show();
}

void RulesOffer::refuse(const QString& why)
{
    m_problem->setText(why);
    m_problem->setVisible(!why.isEmpty());
    setTextColor(m_problem, Theme::of(this).error);
    m_mesh->setProperty("refused", !why.isEmpty());
    m_mesh->style()->unpolish(m_mesh);
    m_mesh->style()->polish(m_mesh);
}

void RulesOffer::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::of(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.line, 1));
    painter.setBrush(theme.selection);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCornerRadius, kCornerRadius);
}

} // namespace shardboard
