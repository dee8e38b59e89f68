// SPDX-License-Identifier: Apache-2.0
#include "widgets/document/planplayer.h"

#include <algorithm>
#include <utility>

namespace shardboard {

PlanPlayer::PlanPlayer(QObject* parent)
    : QObject(parent)
{
    connect(&m_timer, &QTimer::timeout, this, &PlanPlayer::tick);
}

void PlanPlayer::setSteps(std::vector<PlanStep> steps)
{
    m_timer.stop();
    m_steps = std::move(steps);
    m_index = -1;
    m_progress = 1;
    m_shown = false;
    setPlaying(false);
    Q_EMIT stepChanged();
}

void PlanPlayer::setReducedMotion(bool reduced)
{
    m_reduced = reduced;
    m_progress = 1;
    Q_EMIT progressed();
}

void PlanPlayer::adopt(int index)
{
    const bool shown = m_shown;
    if (index == m_index && !shown)
        return;
    m_timer.stop();
    m_index = std::clamp(index, -1, count() - 1);
    m_progress = 1;
    m_shown = false;
    setPlaying(false);
    Q_EMIT stepChanged();
}

int PlanPlayer::duration() const { return current().collective.valid() ? kCollectiveMilliseconds : kOperationMilliseconds; }

void PlanPlayer::show(int index)
{
    m_index = std::clamp(index, 0, count() - 1);
    m_shown = true;
    const bool moves = current().collective.valid() && !m_reduced;
    m_progress = moves ? 0 : 1;
    m_clock.start();
    if (moves)
        m_timer.start(kFrameMilliseconds);
    else if (m_playing)
        m_timer.start(duration());
    else
        m_timer.stop();
    Q_EMIT stepChanged();
}

void PlanPlayer::goTo(int index)
{
    if (m_steps.empty())
        return;
    setPlaying(false);
    show(index);
}

void PlanPlayer::toCollective(int by)
{
    int index = m_index < 0 && by < 0 ? count() : m_index;
    do
        index += by;
    while (index >= 0 && index < count() && !m_steps[static_cast<std::size_t>(index)].collective.valid());
    if (index >= 0 && index < count())
        goTo(index);
}

void PlanPlayer::play()
{
    if (m_steps.empty())
        return;
    setPlaying(true);
    show(m_index < 0 || (m_shown && m_index + 1 >= count()) ? 0 : m_shown ? m_index + 1 : m_index);
}

void PlanPlayer::pause()
{
    if (m_progress >= 1)
        m_timer.stop(); // a motion that has begun comes to its end
    setPlaying(false);
}

void PlanPlayer::stop()
{
    m_timer.stop();
    m_progress = 1;
    setPlaying(false);
    if (std::exchange(m_shown, false))
        Q_EMIT stepChanged();
}

void PlanPlayer::tick()
{
    if (m_progress < 1) {
        m_progress = std::min(1.0, static_cast<double>(m_clock.elapsed()) / duration());
        Q_EMIT progressed();
        if (m_progress < 1)
            return;
    }
    if (!m_playing) {
        m_timer.stop();
        return;
    }
    if (m_index + 1 < count()) {
        show(m_index + 1);
        return;
    }
    m_timer.stop();
    setPlaying(false);
}

void PlanPlayer::setPlaying(bool playing)
{
    if (playing == m_playing)
        return;
    m_playing = playing;
    Q_EMIT playingChanged();
}

} // namespace shardboard
