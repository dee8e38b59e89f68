// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/window/welcome.h"

#include "app/desktop/base/actions.h"
#include "app/desktop/files/recentfiles.h"
#include "app/desktop/files/sample.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"
#include "widgets/look/theme.h"

#include <QAction>
#include <QDir>
#include <QEvent>
#include <QFileInfo>
#include <QGridLayout>
#include <QIcon>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>

namespace shardboard {

namespace {

constexpr int kColumnWidth = 560;
constexpr int kIconSize = 72;
constexpr char kLarger[] = "larger"; ///< points that a line has more than the text

QLabel* line(const QString& text, double larger, bool bold, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    label->setFont(uiFont(label, larger, bold));
    label->setProperty(kLarger, larger);
    label->setWordWrap(true);
    return label;
}

/// A way on: its button, and beside it what it leads to.
QWidget* way(QAction* action, const QString& text, const QString& name, bool primary, QWidget* parent)
{
    auto* row = new QWidget(parent);
    auto* button = new QPushButton(action->text().remove(QLatin1Char('&')).remove(QStringLiteral(" …")), row);
    button->setObjectName(name);
    button->setProperty("primary", primary);
    button->setMinimumWidth(150);
    button->setAutoDefault(true); // Enter presses the one with the focus
    QObject::connect(button, &QPushButton::clicked, action, &QAction::trigger);
    auto* label = new QLabel(text, row);
    label->setForegroundRole(QPalette::PlaceholderText);
    label->setWordWrap(true);
    auto* layout = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 16, row);
    layout->addWidget(button);
    layout->addWidget(label, 1);
    return row;
}

} // namespace

Welcome::Welcome(const Actions& actions, RecentFiles* recent, QWidget* parent)
    : QWidget(parent)
    , m_recent(recent)
    , m_recentBox(new QWidget(this))
    , m_list(new QListWidget(m_recentBox))
{
    setObjectName(QStringLiteral("welcome"));
    auto* icon = new QLabel(this);
    icon->setPixmap(QIcon(QStringLiteral(":/icons/shardboard.png")).pixmap(kIconSize));
    icon->setFixedSize(kIconSize, kIconSize);
    auto* column = new QVBoxLayout;
    column->setSpacing(12);
    column->addWidget(icon);
    column->addWidget(line(tr("Shardboard"), 12, true, this));
    column->addWidget(line(tr("Lay a neural network out over a device mesh: cut its weights, see the collectives that this "
                              "costs, run it, export it."),
                           1, false, this));
    column->addSpacing(12);
    column->addWidget(way(actions.get(QStringLiteral("file.sample")),
                          tr("Llama 3 8B over 8 devices, the quickest way to look around"), QStringLiteral("welcome.sample"), true,
                          this));
    column->addWidget(way(actions.get(QStringLiteral("file.new")), tr("From a built-in model or a checkpoint of your own"),
                          QStringLiteral("welcome.new"), false, this));
    column->addWidget(way(actions.get(QStringLiteral("file.open")), tr("A *.shardboard file; it can be dropped here too"),
                          QStringLiteral("welcome.open"), false, this));
    column->addSpacing(12);

    nameWidget(m_list, "welcome.recent", tr("Recent designs"));
    column->addWidget(line(tr("More samples"), 0, true, this));
    column->addWidget(sampleRows(actions));
    column->addSpacing(12);
    auto* recentLayout = new QVBoxLayout(m_recentBox);
    recentLayout->setContentsMargins(0, 0, 0, 0);
    recentLayout->addWidget(line(tr("Recent"), 0, true, m_recentBox));
    recentLayout->addWidget(m_list);
    column->addWidget(m_recentBox);

    auto* frame = new QWidget(this);
    m_frame = frame;
    fitText();
    frame->setLayout(column);
    column->setContentsMargins(0, 0, 0, 0);
    auto* row = new QHBoxLayout; // stretches, because an alignment would ignore the height of wrapped lines
    row->addStretch(1);
    row->addWidget(frame);
    row->addStretch(1);
    auto* layout = new QVBoxLayout(this);
    layout->addStretch(2);
    layout->addLayout(row);
    layout->addStretch(3);
    connect(m_list, &QListWidget::itemActivated, this,
            [this](const QListWidgetItem* item) { Q_EMIT m_recent->chosen(item->data(Qt::UserRole).toString()); });
    connect(recent, &RecentFiles::changed, this, &Welcome::fillRecent);
    fillRecent();
}

QWidget* Welcome::sampleRows(const Actions& actions)
{
    auto* rows = new QWidget(this);
    auto* grid = new QGridLayout(rows);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(16);
    grid->setVerticalSpacing(4);
    grid->setColumnStretch(1, 1);
    for (std::size_t i = 1; i < samples().size(); ++i) {
        const Sample& sample = samples()[i];
        auto* button = new QPushButton(sample.title, rows);
        button->setObjectName(QStringLiteral("welcome.sample.") + sample.id);
        button->setAccessibleDescription(sample.text);
        button->setFlat(true);
        button->setProperty("link", true);
        button->setAutoDefault(true);
        connect(button, &QPushButton::clicked, actions.get(QStringLiteral("file.sample.") + sample.id), &QAction::trigger);
        auto* label = new QLabel(sample.text, rows);
        label->setForegroundRole(QPalette::PlaceholderText);
        label->setWordWrap(true);
        grid->addWidget(button, static_cast<int>(i), 0);
        grid->addWidget(label, static_cast<int>(i), 1);
    }
    return rows;
}

void Welcome::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange && m_frame != nullptr)
        fitText();
}

/// Headings are larger than the window's text by so many points, whatever size that has.
void Welcome::fitText()
{
    m_frame->setFixedWidth(static_cast<int>(kColumnWidth * textScale(this)));
    for (QLabel* label : findChildren<QLabel*>())
        if (const QVariant larger = label->property(kLarger); larger.isValid())
            label->setFont(uiFont(this, larger.toDouble(), label->font().bold()));
}

void Welcome::fillRecent()
{
    m_list->clear();
    for (const QString& path : m_recent->files()) {
        const QFileInfo info(path);
        auto* item = new QListWidgetItem(
            shownText(info.fileName()) + QStringLiteral("   ") + shownText(QDir::toNativeSeparators(info.path())), m_list);
        item->setData(Qt::UserRole, path);
        item->setToolTip(info.isFile() ? shownText(path) : tr("%1 no longer exists").arg(shownText(path)));
        if (!info.isFile())
            item->setFlags(Qt::NoItemFlags);
    }
    const int rows = qMin(m_list->count(), 5);
    m_list->setFixedHeight(qMax(1, rows) * qMax(kRowHeight, m_list->sizeHintForRow(0)));
    m_recentBox->setVisible(m_list->count() > 0);
}

} // namespace shardboard
