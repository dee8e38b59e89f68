// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/run/engineclient.h"

#include "model/io/json/jsonwriter.h"
#include "model/io/wire/greeting.h"
#include "model/io/wire/jsonline.h"
#include "model/io/wire/messages.h"
#include "widgets/look/plaintext.h"

#include <QElapsedTimer>

#include <utility>

namespace shardboard {

namespace {
constexpr int kLeaveMs = 2000;
constexpr int kTerminateMs = 500;
constexpr qsizetype kLogBytes = 64 * 1024;
constexpr qsizetype kTailLines = 6;
constexpr qint64 kReadMs = 8; ///< of messages at a time, so that a flood of them leaves the window its frames

QString beginningOf(std::string_view line)
{
    return shownText(QString::fromUtf8(line.data(), static_cast<qsizetype>(qMin(line.size(), std::size_t { 60 }))).simplified());
}
}

EngineClient::EngineClient(QObject* parent)
    : QObject(parent)
{
    m_stopTimer.setSingleShot(true);
    connect(&m_process, &QProcess::readyReadStandardOutput, this, [this] { readLines(); });
    connect(&m_process, &QProcess::readyReadStandardError, this, &EngineClient::readLog);
    connect(&m_process, &QProcess::finished, this, &EngineClient::onFinished);
    connect(&m_process, &QProcess::errorOccurred, this, &EngineClient::onError);
    connect(&m_stopTimer, &QTimer::timeout, this, [this] {
        if (m_terminated) {
            m_process.kill();
            return;
        }
        m_terminated = true;
        m_process.terminate();
        m_stopTimer.start(kTerminateMs);
    });
}

EngineClient::~EngineClient()
{
    disconnect(&m_process, nullptr, this, nullptr);
    if (!isRunning())
        return;
    m_process.closeWriteChannel();
    if (m_process.waitForFinished(kLeaveMs))
        return;
    m_process.terminate();
    if (m_process.waitForFinished(kTerminateMs))
        return;
    m_process.kill();
    m_process.waitForFinished(kTerminateMs);
}

void EngineClient::start(const QStringList& command)
{
    if (isRunning() || command.isEmpty())
        return;
    m_input.clear();
    m_read = 0;
    m_greeted = false;
    m_log.clear();
    m_terminated = false;
    m_stopTimer.stop();
    m_process.start(command.first(), command.mid(1));
}

void EngineClient::send(const nlohmann::json& message)
{
    const std::string line = jsonText(message) + '\n';
    m_process.write(line.data(), static_cast<qint64>(line.size()));
}

void EngineClient::stop()
{
    if (!isRunning() || m_stopTimer.isActive())
        return;
    m_process.closeWriteChannel();
    m_stopTimer.start(kLeaveMs);
}

void EngineClient::kill() { m_process.kill(); }

QString EngineClient::logTail() const
{
    const auto lines = m_log.trimmed().split('\n');
    return shownLines(QString::fromUtf8(lines.mid(qMax(qsizetype { 0 }, lines.size() - kTailLines)).join('\n')).trimmed());
}

void EngineClient::readLines(bool all)
{
    m_input += m_process.readAllStandardOutput();
    QElapsedTimer timer;
    timer.start();
    for (qsizetype end = m_input.indexOf('\n', m_read); end >= 0; end = m_input.indexOf('\n', m_read)) {
        if (!all && timer.elapsed() >= kReadMs) {
            if (!std::exchange(m_later, true)) {
                const auto go = [this] {
                    m_later = false;
                    readLines();
                };
                QMetaObject::invokeMethod(this, go, Qt::QueuedConnection);
            }
            break;
        }
        const std::string_view line(m_input.constData() + m_read, static_cast<std::size_t>(end - m_read));
        m_read = end + 1;
        if (const QString problem = take(line); !problem.isEmpty()) {
            m_input.clear();
            m_read = 0;
            Q_EMIT garbled(problem);
            return;
        }
    }
    if (m_later && m_read < m_input.size() / 2)
        return; // moved to the front now and then, not at every turn
    m_input.remove(0, m_read);
    m_read = 0;
    if (m_input.size() > static_cast<qsizetype>(kMaxLine) && m_input.indexOf('\n') < 0) {
        m_input.clear();
        Q_EMIT garbled(tr("it wrote a line of more than %1 MiB").arg(kMaxLine >> 20));
    }
}

/// Hands the message of a line on; answers what is wrong with one that has none. What comes before the hello is skipped.
QString EngineClient::take(std::string_view line)
{
    if (!m_greeted) {
        const Greeting greeting = greetingOf(line);
        m_greeted = greeting.kind == Greeting::Kind::Hello;
        if (m_greeted)
            Q_EMIT received(greeting.message);
        return greeting.kind == Greeting::Kind::Stranger ? tr("it did not say hello, but “%1”").arg(beginningOf(line)) : QString();
    }
    const auto message = parseJsonLine(line, "engine");
    if (!message.ok() || !message.value().is_object() || !message.value().contains("type") || !message.value()["type"].is_string())
        return tr("it wrote a line that is no message: “%1”").arg(beginningOf(line));
    Q_EMIT received(message.value());
    return {};
}

void EngineClient::readLog()
{
    m_log += m_process.readAllStandardError();
    if (m_log.size() > kLogBytes)
        m_log = m_log.right(kLogBytes);
}

void EngineClient::onFinished(int code, QProcess::ExitStatus status)
{
    m_stopTimer.stop();
    readLog();
    readLines(true);
    // For a crash QProcess reports the signal as the code.
    Q_EMIT ended(status == QProcess::CrashExit ? tr("killed by signal %1").arg(code) : tr("exit status %1").arg(code));
}

void EngineClient::onError(QProcess::ProcessError error)
{
    if (error == QProcess::FailedToStart)
        Q_EMIT ended(tr("“%1” cannot be started: %2").arg(m_process.program(), m_process.errorString()));
}

} // namespace shardboard
