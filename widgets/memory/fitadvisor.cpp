// SPDX-License-Identifier: Apache-2.0
#include "widgets/memory/fitadvisor.h"

#include "widgets/work/background.h"

#include <utility>

namespace shardboard {

FitAdvisor::FitAdvisor(QObject* parent)
    : QObject(parent)
{
    m_pool.setMaxThreadCount(1);
}

FitAdvisor::~FitAdvisor()
{
    forget();
    m_pool.waitForDone();
}

void FitAdvisor::ask(const Design& design)
{
    forget();
    m_busy = true;
    m_stop = std::make_shared<std::atomic<bool>>(false);
    const int request = m_request;
    m_pool.start([this, request, stop = m_stop, wanted = std::make_shared<const Design>(design)] {
        giveWay();
        int tried = 0;
        const auto asked = [&] {
            ++tried;
            // Posted to this object, which outlives the pool's work; what is still posted when it dies is dropped.
            QMetaObject::invokeMethod(
                this,
                [this, request, tried] {
                    if (request == m_request) {
                        m_tried = tried;
                        Q_EMIT progressed(tried);
                    }
                },
                Qt::QueuedConnection);
            return stop->load();
        };
        auto answer = std::make_shared<const Result<FitAdvice>>(fitAdvice(*wanted, asked));
        QMetaObject::invokeMethod(
            this, [this, request, answer] { finish(request, *answer); }, Qt::QueuedConnection);
    });
}

void FitAdvisor::stop()
{
    if (m_stop)
        m_stop->store(true);
}

void FitAdvisor::forget()
{
    stop();
    ++m_request;
    m_tried = 0;
    m_busy = false;
    m_advice.reset();
}

void FitAdvisor::finish(int request, const Result<FitAdvice>& answer)
{
    if (request != m_request)
        return;
    m_busy = false;
    if (answer.ok())
        m_advice = answer.value();
    Q_EMIT answered();
}

} // namespace shardboard
