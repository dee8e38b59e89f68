// SPDX-License-Identifier: Apache-2.0
#include "widgets/memory/fitlist.h"

#include "widgets/controls/wrappedlabel.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/errortext.h"
#include "widgets/look/format.h"
#include "widgets/look/naming.h"
#include "widgets/look/theme.h"
#include "widgets/memory/fitadvisor.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>

#include <algorithm>

namespace shardboard {

namespace {

/// `61.2 GiB · +4.1 % step time`, with the devices where there are more.
QString priceText(const FitOption& option, const FitAdvice& advice)
{
    QStringList parts { bytesText(option.peakBytes) };
    if (const QString step = stepDeltaText(advice.seconds, option.seconds); !step.isEmpty())
        parts << step;
    if (option.devices != advice.devices)
        parts << counted(option.devices, QObject::tr("device"), QObject::tr("devices"));
    return parts.join(QStringLiteral(" · "));
}

} // namespace

FitList::FitList(Document* document, QWidget* parent)
    : DocumentView(document, parent)
    , m_advisor(new FitAdvisor(this))
    , m_title(new QLabel(this))
    , m_progress(new QProgressBar(this))
    , m_cancel(new QPushButton(tr("Cancel"), this))
    , m_rows(new QWidget(this))
    , m_column(new QVBoxLayout(m_rows))
{
    nameWidget(this, "fitList", tr("What would make it fit"));
    m_title->setObjectName(QStringLiteral("fitTitle"));
    m_title->setWordWrap(true);
    m_title->setTextFormat(Qt::PlainText);
    m_progress->setObjectName(QStringLiteral("fitProgress"));
    m_progress->setRange(0, 0);
    m_progress->setTextVisible(false);
    m_progress->setFixedHeight(6);
    nameWidget(m_cancel, "fitCancel", {}, tr("Stops the search; what was found so far stays"));
    m_column->setContentsMargins(0, 0, 0, 0);
    m_column->setSpacing(2);
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    line->addWidget(m_title, 1);
    line->addWidget(m_cancel);
    auto* column = boxLayout<QVBoxLayout>({ 0, 0, 0, 0 }, 4, this);
    column->addLayout(line);
    column->addWidget(m_progress);
    column->addWidget(m_rows);
    connect(m_advisor, &FitAdvisor::progressed, this, [this] { showProgress(); });
    connect(m_advisor, &FitAdvisor::answered, this, [this] { showAnswer(); });
    connect(m_cancel, &QPushButton::clicked, m_advisor, &FitAdvisor::stop);
    start();
}

void FitList::refresh()
{
    setTextColor(m_title, Theme::of(this).quiet);
    m_title->setFont(uiFont(this, -0.5));
    m_advisor->forget();
    m_stale = true;
    if (isVisible() && !isAsleep())
        look();
}

void FitList::showEvent(QShowEvent* event)
{
    DocumentView::showEvent(event);
    if (m_stale && !isAsleep())
        look();
}

void FitList::look()
{
    m_stale = false;
    clearRows();
    if (!document()->hasDesign())
        return;
    m_advisor->ask(document()->design());
    showProgress();
}

void FitList::showProgress()
{
    const bool busy = m_advisor->isBusy();
    m_progress->setVisible(busy);
    m_cancel->setVisible(busy);
    if (busy)
        m_title->setText(m_advisor->tried() > 1
                             ? tr("Looking for what would make it fit: %1 designs planned").arg(m_advisor->tried())
                             : tr("Looking for what would make it fit …"));
}

void FitList::showAnswer()
{
    clearRows();
    showProgress();
    const FitAdvice* advice = m_advisor->advice();
    if (!advice) {
        m_title->setText(tr("This design cannot be planned."));
        return;
    }
    constexpr std::size_t kMost = 6;
    const auto& options = advice->fixes.empty() ? advice->nearest : advice->fixes;
    if (!advice->fixes.empty())
        m_title->setText(tr("What would make it fit, of %1 designs planned").arg(advice->tried));
    else if (!options.empty())
        m_title->setText(tr("None of %1 designs fits. Nearest:").arg(advice->tried));
    else
        m_title->setText(tr("Nothing was found in %1 designs.").arg(advice->tried));
    for (std::size_t i = 0; i < options.size() && i < kMost; ++i)
        addOption(options[i]);
}

void FitList::addOption(const FitOption& option)
{
    auto* row = new QWidget(m_rows);
    auto* line = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 8, row);
    auto* take = new QPushButton(tr("Apply"), row);
    take->setObjectName(QStringLiteral("fitApply"));
    const QString what = qstr(option.what);
    const QString price = priceText(option, *m_advisor->advice());
    take->setAccessibleName(tr("Apply: %1, %2").arg(what, price));
    take->setToolTip(tr("%1\n%2, %3 a step\nOne edit; undo takes it back")
                         .arg(what, exactBytesText(option.peakBytes), secondsText(option.seconds)));
    auto* name = new WrappedLabel(what, row);
    name->setObjectName(QStringLiteral("fitWhat"));
    name->setFont(uiFont(this, 0, option.fits));
    auto* detail = new WrappedLabel(price, row);
    detail->setFont(uiFont(this, -1));
    setTextColor(detail, Theme::of(this).quiet);
    auto* texts = new QVBoxLayout;
    texts->setSpacing(0);
    texts->addWidget(name);
    texts->addWidget(detail);
    line->addLayout(texts, 1);
    line->addWidget(take);
    m_column->addWidget(row);
    connect(take, &QPushButton::clicked, this, [this, design = option.design, what] {
        // The button goes with the rows when the views follow the edit.
        const auto apply = [this, design, what] {
            const Status status = document()->edit(design, what.left(1).toUpper() + what.mid(1), Misfits::Replicate);
            if (!status.ok())
                Q_EMIT refused(errorText(status.error()));
        };
        QMetaObject::invokeMethod(this, apply, Qt::QueuedConnection);
    });
}

void FitList::clearRows()
{
    while (QLayoutItem* item = m_column->takeAt(0)) {
        delete item->widget();
        delete item;
    }
}

} // namespace shardboard
