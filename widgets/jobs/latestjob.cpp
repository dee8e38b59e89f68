// SPDX-License-Identifier: Apache-2.0
#include "widgets/jobs/latestjob.h"

#include "widgets/jobs/background.h"

#include <QPointer>

#include <utility>

namespace shardboard {

LatestJob::LatestJob(QObject* parent)
    : QObject(parent)
{
    m_pool.setMaxThreadCount(1);
}

LatestJob::~LatestJob()
{
    forget();
    m_pool.waitForDone();
}

void LatestJob::ask(Work work)
{
    askTelling([work = std::move(work)](const std::atomic<bool>& stop, const Tell&) { return work(stop); });
}

void LatestJob::askTelling(TellingWork work)
{
    forget();
    m_run = std::make_shared<Run>();
    m_pool.start([this, work = std::move(work), run = m_run] {
        giveWay();
        if (run->forgotten)
            return; // it waited behind another one
        // Posted to this object, which outlives the pool's work; what is still posted when it dies is dropped.
        const auto tell = [this, run](Answer show) {
            const auto shown = [this, run, show = std::move(show)] {
                if (run == m_run)
                    show();
            };
            QMetaObject::invokeMethod(this, shown, Qt::QueuedConnection);
        };
        const auto end = [this, run, answer = work(run->stop, tell)] {
            if (run != m_run)
                return;
            m_run.reset();
            const QPointer<LatestJob> alive(this);
            if (answer)
                answer();
            if (alive)
                Q_EMIT answered();
        };
        QMetaObject::invokeMethod(this, end, Qt::QueuedConnection);
    });
}

void LatestJob::stop()
{
    if (m_run)
        m_run->stop = true;
}

void LatestJob::forget()
{
    stop();
    if (m_run)
        m_run->forgotten = true;
    m_run.reset();
}

} // namespace shardboard
