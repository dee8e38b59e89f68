// SPDX-License-Identifier: Apache-2.0
#include "widgets/work/designjudge.h"

#include "model/design/evaluate/evaluate.h"
#include "widgets/work/background.h"

#include <memory>
#include <utility>

namespace shardboard {

DesignJudge::DesignJudge(QObject* parent)
    : QObject(parent)
{
    m_pool.setMaxThreadCount(1);
}

DesignJudge::~DesignJudge() { m_pool.waitForDone(); }

void DesignJudge::ask(const Design& design)
{
    ++m_request;
    m_answer.reset();
    m_waiting = design;
    if (!m_running)
        start();
}

void DesignJudge::forget()
{
    ++m_request;
    m_answer.reset();
    m_waiting.reset();
}

void DesignJudge::start()
{
    m_running = true;
    const int request = m_request;
    auto design = std::make_shared<const Design>(std::move(*m_waiting));
    m_waiting.reset();
    m_pool.start([this, request, design] {
        giveWay();
        auto answer = evaluate(*design);
        // Posted to this object, which outlives the pool's work; what is still posted when it dies is dropped.
        QMetaObject::invokeMethod(
            this, [this, request, answer = std::move(answer)] { finish(request, answer); }, Qt::QueuedConnection);
    });
}

void DesignJudge::finish(int request, Result<std::shared_ptr<const Evaluation>> answer)
{
    m_running = false;
    if (m_waiting) {
        start();
        return;
    }
    if (request != m_request)
        return;
    m_answer = std::move(answer);
    Q_EMIT answered();
}

} // namespace shardboard
