// SPDX-License-Identifier: Apache-2.0
#include "widgets/work/latestjob.h"

#include "widgets/work/background.h"

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
    forget();
    m_busy = true;
    m_stop = std::make_shared<std::atomic<bool>>(false);
    m_pool.start([this, request = m_request, work = std::move(work), stop = m_stop] {
        giveWay();
        if (*stop)
            return; // it waited behind another one, and is not wanted any more
        Answer answer = work(*stop);
        // Posted to this object, which outlives the pool's work; what is still posted when it dies is dropped.
        const auto tell = [this, request, answer = std::move(answer)] {
            if (request != m_request)
                return;
            m_busy = false;
            if (answer)
                answer();
        };
        QMetaObject::invokeMethod(this, tell, Qt::QueuedConnection);
    });
}

void LatestJob::forget()
{
    ++m_request;
    m_busy = false;
    if (m_stop)
        m_stop->store(true);
}

} // namespace shardboard
