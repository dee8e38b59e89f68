// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/enginesession.h"

#include "model/plan/planjson.h"
#include "widgets/format.h"

#include <QCoreApplication>
#include <QDir>

namespace shardboard {

namespace {

using nlohmann::json;

QString text(const json& object, const char* key)
{
    const auto it = object.find(key);
    return it != object.end() && it->is_string() ? QString::fromStdString(it->get<std::string>()) : QString();
}

double number(const json& object, const char* key)
{
    const auto it = object.find(key);
    return it != object.end() && it->is_number() ? it->get<double>() : 0.0;
}

qint64 whole(const json& object, const char* key)
{
    const auto it = object.find(key);
    return it != object.end() && it->is_number_integer() ? it->get<qint64>() : 0;
}

/// `cpu · 8 threads · 23.4 GiB` of the first backend that has a device.
QString describe(const json& hello)
{
    const auto backends = hello.find("backends");
    if (backends == hello.end() || !backends->is_array())
        return {};
    for (const json& backend : *backends) {
        if (!backend.is_object())
            continue;
        QString line = text(backend, "name");
        const auto devices = backend.find("devices");
        if (devices != backend.end() && devices->is_array() && !devices->empty() && devices->front().is_object()) {
            const json& device = devices->front();
            if (whole(device, "threads") > 0)
                line += (whole(device, "threads") == 1 ? EngineSession::tr(" · %1 thread") : EngineSession::tr(" · %1 threads"))
                            .arg(whole(device, "threads"));
            if (whole(device, "memory_bytes") > 0)
                line += QStringLiteral(" · ") + bytesText(whole(device, "memory_bytes"));
        }
        return line;
    }
    return {};
}

} // namespace

QStringList engineCommand(const QString& setting)
{
    const QString variable = qEnvironmentVariable("SHARDBOARD_ENGINE");
    const QStringList chosen = QProcess::splitCommand(variable.isEmpty() ? setting : variable);
    if (!chosen.isEmpty())
        return chosen;
    return { QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("shardboard-engine")) };
}

EngineSession::EngineSession(QStringList command, QObject* parent)
    : QObject(parent)
    , m_command(std::move(command))
{
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &EngineSession::onTimeout);
}

EngineSession::~EngineSession() = default;

void EngineSession::setState(State state)
{
    if (m_state == state)
        return;
    m_state = state;
    Q_EMIT stateChanged();
}

void EngineSession::start()
{
    if (m_client != nullptr)
        return;
    m_failure.clear();
    m_failureLog.clear();
    m_client = new EngineClient(this);
    connect(m_client, &EngineClient::received, this, &EngineSession::receive);
    connect(m_client, &EngineClient::garbled, this, [this](const QString& problem) {
        fail(tr("The engine cannot be understood: %1.").arg(problem));
    });
    connect(m_client, &EngineClient::ended, this, [this](const QString& how) {
        if (m_state == State::Starting)
            fail(tr("The engine did not start: %1.").arg(how));
        else if (m_state == State::Running)
            fail(tr("The engine ended during the run: %1. The design is untouched.").arg(how));
        else
            fail(tr("The engine ended: %1.").arg(how));
    });
    setState(State::Starting);
    m_timer.start(m_startTimeout);
    m_client->start(m_command);
}

void EngineSession::stop()
{
    m_waiting.reset();
    m_timer.stop();
    dropClient();
    setState(State::Off);
}

void EngineSession::restart()
{
    stop();
    start();
}

void EngineSession::run(std::shared_ptr<const Evaluation> evaluation, const RunOptions& options)
{
    if (m_state == State::Running || m_waiting || !evaluation)
        return;
    m_evaluation = std::move(evaluation);
    m_waiting = options;
    if (m_state == State::Ready)
        sendRun();
    else
        start();
}

void EngineSession::sendRun()
{
    m_cancelling = false;
    ++m_runId;
    const json plan = planToJson(m_evaluation->graph, m_evaluation->plan);
    m_client->send({ { "type", "run" }, { "id", m_runId }, { "plan", plan }, { "options", toJson(*m_waiting) } });
    m_waiting.reset();
    setState(State::Running);
}

void EngineSession::cancel()
{
    if (m_waiting) {
        m_waiting.reset();
        Q_EMIT cancelled();
        return;
    }
    if (m_state != State::Running || m_cancelling)
        return;
    m_cancelling = true;
    m_client->send({ { "type", "cancel" }, { "id", m_runId } });
    m_timer.start(m_cancelTimeout);
}

void EngineSession::onTimeout()
{
    if (m_state == State::Starting) {
        fail(tr("The engine did not say hello within %1 s (%2).")
                 .arg(m_startTimeout / 1000.0)
                 .arg(m_command.join(QLatin1Char(' '))));
    } else if (m_state == State::Running) {
        fail(tr("The engine did not answer the cancel within %1 s and was ended.").arg(m_cancelTimeout / 1000.0));
    }
}

void EngineSession::fail(const QString& what)
{
    m_timer.stop();
    m_waiting.reset();
    m_failure = what;
    m_failureLog = m_client ? m_client->logTail() : QString();
    dropClient();
    setState(State::Failed);
}

/// The old worker leaves in its own time, unheard; a new one can be started at once.
void EngineSession::dropClient()
{
    if (m_client == nullptr)
        return;
    EngineClient* old = m_client;
    m_client = nullptr;
    disconnect(old, nullptr, this, nullptr);
    if (!old->isRunning()) {
        old->deleteLater();
        return;
    }
    connect(old, &EngineClient::ended, old, &QObject::deleteLater);
    if (m_state == State::Ready || m_state == State::Off)
        old->stop();
    else
        old->kill();
}

void EngineSession::receive(const json& message)
{
    const QString type = text(message, "type");
    if (type == QLatin1String("hello")) {
        receiveHello(message);
        return;
    }
    if (m_state != State::Running || whole(message, "id") != m_runId)
        return; // of a run that is over
    if (type == QLatin1String("announce"))
        Q_EMIT announced(whole(message, "bytes"), number(message, "seconds"));
    else if (type == QLatin1String("progress"))
        Q_EMIT progressed(whole(message, "step"), whole(message, "of"), text(message, "what"));
    else if (type == QLatin1String("result"))
        receiveResult(message);
    else if (type == QLatin1String("error"))
        receiveError(message);
}

void EngineSession::receiveHello(const json& message)
{
    if (m_state != State::Starting)
        return;
    const qint64 protocol = whole(message, "protocol");
    if (protocol != kProtocolVersion) {
        fail(tr("The engine speaks protocol %1, this program speaks %2; use an engine of the same version (%3).")
                 .arg(protocol)
                 .arg(kProtocolVersion)
                 .arg(m_command.first()));
        return;
    }
    m_timer.stop();
    m_description = describe(message);
    setState(State::Ready);
    if (m_waiting)
        sendRun();
}

void EngineSession::receiveResult(const json& message)
{
    m_timer.stop();
    const auto run = message.find("run");
    const auto result = run == message.end() ? Result<RunResult>(inputError("run", "is missing")) : runResultFromJson(*run);
    if (!result.ok()) {
        fail(tr("The engine's result cannot be read: %1.").arg(QString::fromStdString(result.error().text())));
        return;
    }
    setState(State::Ready);
    Q_EMIT finished(result.value());
}

void EngineSession::receiveError(const json& message)
{
    m_timer.stop();
    setState(State::Ready);
    if (text(message, "code") == QLatin1String("cancelled")) {
        Q_EMIT cancelled();
        return;
    }
    const QString where = text(message, "where");
    Q_EMIT refused(where.isEmpty() ? text(message, "message") : where + QStringLiteral(": ") + text(message, "message"));
}

} // namespace shardboard
