// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/run/engineclient.h"

#include "widgets/look/plaintext.h"

#include <QElapsedTimer>
#include <QSocketNotifier>

#include <cmath>
#include <utility>

namespace shardboard {

namespace {
constexpr qsizetype kTailLines = 6;
constexpr qint64 kTurnMs = 8; ///< of events at a time, so that a flood of them leaves the window its frames
constexpr int kLookMs = 20; ///< how often one that leaves is looked at
}

EngineClient::EngineClient(const std::string& command, const WorkerLimits& limits, QObject* parent)
    : QObject(parent)
    , m_client(command, limits)
{
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &EngineClient::advance);
    watch();
}

EngineClient::~EngineClient() = default;

void EngineClient::request(nlohmann::json message)
{
    m_client.request(std::move(message));
    watch();
}

void EngineClient::cancel()
{
    m_client.cancel();
    watch();
}

void EngineClient::ping()
{
    m_client.ping();
    watch();
}

void EngineClient::leave(bool atOnce)
{
    m_leaving = true;
    if (atOnce)
        m_client.kill();
    m_client.leave();
    watch();
}

QString EngineClient::logTail() const
{
    const auto lines = QByteArray::fromStdString(m_client.errors()).trimmed().split('\n');
    return shownLines(QString::fromUtf8(lines.mid(qMax(qsizetype { 0 }, lines.size() - kTailLines)).join('\n')).trimmed());
}

void EngineClient::advance()
{
    if (m_leaving && m_client.hasLeft()) {
        deleteLater();
        return;
    }
    QElapsedTimer turn;
    turn.start();
    bool more = true;
    while (more && !m_leaving && turn.elapsed() < kTurnMs) {
        const auto event = m_client.next();
        more = event.has_value();
        if (more)
            Q_EMIT happened(*event);
    }
    watch();
    if (more && !m_leaving)
        m_timer.start(0); // the rest when the event loop comes round
}

/// Lets the event loop wait for what the client waits for.
void EngineClient::watch()
{
    const WorkerDescriptors wanted = m_client.descriptors();
    const std::array<int, 4> before { m_watched.output, m_watched.errors, m_watched.end, m_watched.input };
    const std::array<int, 4> now { wanted.output, wanted.errors, wanted.end, wanted.input };
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (before[i] == now[i])
            continue;
        if (m_notifiers[i] != nullptr) {
            m_notifiers[i]->setEnabled(false);
            m_notifiers[i]->deleteLater(); // it may be the one that called us
        }
        const auto type = i + 1 == now.size() ? QSocketNotifier::Write : QSocketNotifier::Read;
        m_notifiers[i] = now[i] < 0 ? nullptr : new QSocketNotifier(now[i], type, this);
        if (m_notifiers[i] != nullptr)
            connect(m_notifiers[i], &QSocketNotifier::activated, this, &EngineClient::advance);
    }
    m_watched = wanted;
    const auto seconds = m_leaving ? std::optional(kLookMs / 1000.0) : m_client.patience();
    if (seconds)
        m_timer.start(static_cast<int>(std::ceil(*seconds * 1000)));
    else
        m_timer.stop();
}

} // namespace shardboard
