// SPDX-License-Identifier: Apache-2.0
#include "widgets/jobs/longwork.h"

#include "widgets/controls/elidedlabel.h"
#include "widgets/jobs/latestjob.h"
#include "widgets/look/boxlayout.h"
#include "widgets/look/naming.h"
#include "widgets/look/plaintext.h"

#include <QProgressBar>
#include <QPushButton>

#include <utility>

namespace shardboard {

namespace {

constexpr int kTurnMs = 100;
constexpr int kWhatMs = 200; ///< after which it is told what is done
constexpr int kProgressMs = 1000; ///< and how far it is

} // namespace

LongWork::LongWork(QWidget* parent)
    : QWidget(parent)
    , m_job(new LatestJob(this))
    , m_what(new ElidedLabel(this))
    , m_progress(new QProgressBar(this))
    , m_cancel(new QPushButton(tr("Cancel"), this))
{
    setObjectName(QStringLiteral("longWork"));
    m_what->setObjectName(QStringLiteral("longWork.what"));
    nameWidget(m_progress, "longWork.progress", tr("Progress"));
    m_progress->setFixedWidth(140);
    nameWidget(m_cancel, "longWork.cancel", tr("Cancel"), tr("Stop it"));
    auto* row = boxLayout<QHBoxLayout>({ 0, 0, 0, 0 }, 8, this);
    row->addWidget(m_what, 1);
    row->addWidget(m_progress);
    row->addWidget(m_cancel);
    m_timer.setInterval(kTurnMs);
    connect(&m_timer, &QTimer::timeout, this, &LongWork::follow);
    connect(m_cancel, &QPushButton::clicked, this, &LongWork::cancel);
    hide();
}

LongWork::~LongWork() { stop(); }

bool LongWork::isBusy() const { return m_job->isBusy(); }

void LongWork::start(const QString& what, Work work)
{
    cancel();
    m_what->setText(shownText(what));
    m_control = std::make_shared<Control>();
    m_since.start();
    m_timer.start();
    m_job->ask([this, work = std::move(work), control = m_control](const std::atomic<bool>&) -> LatestJob::Answer {
        return [this, answer = work(*control)] {
            stop();
            if (answer)
                answer();
            Q_EMIT ended();
        };
    });
}

void LongWork::cancel()
{
    if (!isBusy())
        return;
    stop();
    Q_EMIT cancelled();
    Q_EMIT ended();
}

void LongWork::stop()
{
    m_job->forget();
    if (m_control)
        m_control->m_stop = true;
    m_control.reset();
    m_timer.stop();
    hide();
}

void LongWork::follow()
{
    const qint64 elapsed = m_since.elapsed();
    m_progress->setRange(0, m_control->m_of);
    m_progress->setValue(m_control->m_done);
    m_progress->setVisible(elapsed >= kProgressMs);
    setVisible(elapsed >= kWhatMs);
}

} // namespace shardboard
