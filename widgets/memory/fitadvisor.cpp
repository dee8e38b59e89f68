// SPDX-License-Identifier: Apache-2.0
#include "widgets/memory/fitadvisor.h"

#include <memory>

namespace shardboard {

FitAdvisor::FitAdvisor(QObject* parent)
    : QObject(parent)
    , m_job(this)
{
    connect(&m_job, &LatestJob::answered, this, &FitAdvisor::answered);
}

void FitAdvisor::ask(const Design& design)
{
    forget();
    m_job.askTelling([this, wanted = std::make_shared<const Design>(design)](const std::atomic<bool>& stop,
                                                                             const LatestJob::Tell& tell) -> LatestJob::Answer {
        int tried = 0;
        const auto asked = [&] {
            tell([this, tried = ++tried] {
                m_tried = tried;
                Q_EMIT progressed(tried);
            });
            return stop.load();
        };
        return [this, answer = std::make_shared<const Result<FitAdvice>>(fitAdvice(*wanted, asked))] {
            if (answer->ok())
                m_advice = answer->value();
        };
    });
}

void FitAdvisor::forget()
{
    m_job.forget();
    m_tried = 0;
    m_advice.reset();
}

} // namespace shardboard
