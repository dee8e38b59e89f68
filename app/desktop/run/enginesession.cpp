// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/run/enginesession.h"

#include "app/desktop/run/engineclient.h"
#include "app/worker/messagefields.h"
#include "model/io/wire/planjson.h"
#include "widgets/look/errortext.h"
#include "widgets/look/plaintext.h"

#include <algorithm>
#include <utility>

namespace shardboard {

using nlohmann::json;

EngineSession::EngineSession(QString command, QObject* parent)
    : QObject(parent)
    , m_command(std::move(command))
{
    connect(&m_pulse, &QTimer::timeout, this, &EngineSession::listen);
}

EngineSession::~EngineSession() = default;

void EngineSession::setState(State state)
{
    if (m_state == state)
        return;
    m_state = state;
    if (state == State::Running) {
        m_heard.start();
        m_pulsed.start();
        m_pulse.start(std::max(20, m_silenceLimit / 4));
    } else {
        m_pulse.stop();
        m_silent = false;
    }
    Q_EMIT stateChanged();
}

void EngineSession::start()
{
    if (m_client != nullptr)
        return;
    m_failure.clear();
    m_failureLog.clear();
    m_running = m_waiting ? commandFor(QString::fromStdString(m_waiting->backend)) : m_command;
    m_client = new EngineClient(m_running.toStdString(), m_limits, this);
    connect(m_client, &EngineClient::happened, this, &EngineSession::take);
    setState(State::Starting);
}

QString EngineSession::log() const { return m_client != nullptr ? m_client->logTail() : m_failureLog; }

qint64 EngineSession::workerId() const { return m_client != nullptr ? m_client->processId() : 0; }

void EngineSession::stop()
{
    m_waiting.reset();
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
    if (m_state == State::Ready && commandFor(QString::fromStdString(options.backend)) != m_running)
        stop(); // this backend has a worker of its own
    m_evaluation = std::move(evaluation);
    m_profile.reset();
    m_calibrates = false;
    m_waiting = options;
    send();
}

void EngineSession::calibrate(const CalibrationOptions& options)
{
    if (m_state == State::Running || m_waiting)
        return;
    if (m_state == State::Ready && commandFor(QString::fromStdString(options.backend)) != m_running)
        stop();
    m_calibrates = true;
    m_calibration = options;
    m_waiting.emplace();
    m_waiting->backend = options.backend;
    send();
}

void EngineSession::send()
{
    if (m_state == State::Ready)
        sendRun();
    else if (m_state == State::Starting)
        Q_EMIT stateChanged(); // it was asked for what there is; now it is to run something
    else
        start();
}

void EngineSession::sendRun()
{
    if (m_calibrates) {
        m_client->request({ { "type", "calibrate" }, { "options", toJson(m_calibration) } });
        m_waiting.reset();
        setState(State::Running);
        return;
    }
    const json plan = planToJson(m_evaluation->graph, m_evaluation->plan);
    m_client->request({ { "type", "run" }, { "plan", plan }, { "options", toJson(*m_waiting) } });
    m_waiting.reset();
    setState(State::Running);
}

void EngineSession::cancel()
{
    if (m_waiting) {
        m_waiting.reset();
        Q_EMIT cancelled();
        Q_EMIT stateChanged();
        return;
    }
    if (m_state == State::Running)
        m_client->cancel();
}

const EngineBackend* EngineSession::backend(const QString& name) const
{
    const auto it =
        std::find_if(m_backends.begin(), m_backends.end(), [&](const EngineBackend& backend) { return backend.name == name; });
    return it == m_backends.end() ? nullptr : &*it;
}

QString EngineSession::commandFor(const QString& backend) const
{
    return m_mpiStartable && backend == QLatin1String("mpi") ? m_mpiCommand : m_command;
}

QString EngineSession::whyNot(const QString& name) const
{
    if (m_backends.empty() || (m_mpiStartable && name == QLatin1String("mpi")))
        return {};
    const EngineBackend* found = backend(name);
    return found ? found->unusable : tr("this engine does not know it");
}

void EngineSession::listen()
{
    const bool late = m_pulsed.restart() > m_pulse.interval() + m_silenceLimit / 2; // this program was busy itself
    if (late)
        m_heard.start();
    m_client->ping();
    setSilent(m_heard.elapsed() > m_silenceLimit);
}

void EngineSession::setSilent(bool silent)
{
    if (m_silent == silent)
        return;
    m_silent = silent;
    Q_EMIT silenceChanged();
}

void EngineSession::fail(const QString& what)
{
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
    EngineClient* old = std::exchange(m_client, nullptr);
    disconnect(old, nullptr, this, nullptr);
    old->leave(m_state != State::Ready && m_state != State::Off);
}

/// Any event is a sign of life.
void EngineSession::take(const WorkerEvent& event)
{
    m_heard.start();
    setSilent(false);
    switch (event.kind) {
    case WorkerEvent::Kind::Queued:
        Q_EMIT queued(shownText(event.text));
        break;
    case WorkerEvent::Kind::Hello:
        takeHello(event.message);
        break;
    case WorkerEvent::Kind::Message:
        takeMessage(event.message);
        break;
    case WorkerEvent::Kind::Other:
        break;
    case WorkerEvent::Kind::Result:
        takeResult(event.message);
        break;
    case WorkerEvent::Kind::Refused: {
        setState(State::Ready);
        Q_EMIT refused(errorText({ event.error.code, event.error.where, event.error.what, {} }));
        break;
    }
    case WorkerEvent::Kind::Cancelled:
        setState(State::Ready);
        Q_EMIT cancelled();
        break;
    case WorkerEvent::Kind::Failed:
        takeFailure(event);
        break;
    }
}

void EngineSession::takeFailure(const WorkerEvent& event)
{
    const QString what = shownText(event.text);
    const QString command = shownText(event.error.where);
    switch (event.failure) {
    case WorkerFailure::NotStarted:
        fail(tr("The engine did not start: %1. Check that its command is right, then “Restart engine”.").arg(what));
        break;
    case WorkerFailure::NoHello:
        fail(tr("The engine did not say hello within %1 s (%2). Check that this is the worker, then “Restart engine”.")
                 .arg(m_limits.helloSeconds)
                 .arg(command));
        break;
    case WorkerFailure::NotUnderstood:
        fail(tr("The engine's messages cannot be understood: %1. Use an engine of this version, then “Restart engine”.").arg(what));
        break;
    case WorkerFailure::NoAnswer:
        fail(tr("The engine did not answer the cancel within %1 s and was ended. “Restart engine” starts another.")
                 .arg(m_limits.cancelSeconds));
        break;
    case WorkerFailure::GaveUp:
        fail(tr("The engine gave up the run although nobody had cancelled it. “Restart engine” starts another."));
        break;
    case WorkerFailure::Ended:
        if (m_state == State::Starting)
            fail(tr("The engine did not start: %1. Check that its command is right, then “Restart engine”.").arg(what));
        else if (m_state == State::Running)
            fail(tr("The engine ended during the run: %1. The design is untouched; “Restart engine” starts another.").arg(what));
        else
            fail(tr("The engine ended: %1. “Restart engine” starts another.").arg(what));
        break;
    }
}

void EngineSession::takeMessage(const json& message)
{
    const std::string type = messageText(message, "type");
    if (type == "announce")
        Q_EMIT announced(messageWhole(message, "bytes"), messageNumber(message, "seconds"));
    else if (type == "progress")
        Q_EMIT progressed(messageWhole(message, "step"), messageWhole(message, "of"), shownText(messageText(message, "what")));
}

void EngineSession::takeHello(const json& message)
{
    m_backends = backendsOf(message);
    m_description = describe(m_backends);
    if (m_running == m_command)
        m_mpiStartable = !m_mpiCommand.isEmpty() && backend(QStringLiteral("mpi"))
            && backend(QStringLiteral("mpi"))->unusable.contains(QLatin1String("mpirun"));
    if (m_waiting && commandFor(QString::fromStdString(m_waiting->backend)) != m_running) {
        dropClient();
        setState(State::Off);
        start();
        return;
    }
    setState(State::Ready);
    if (m_waiting)
        sendRun();
}

void EngineSession::takeResult(const json& message)
{
    if (m_calibrates) {
        const auto calibration = calibrationFromJson(message.value("calibration", json()));
        if (!calibration.ok()) {
            fail(tr("The engine's result cannot be read: %1. Use an engine of this version, then “Restart engine”.")
                     .arg(errorText(calibration.error())));
            return;
        }
        setState(State::Ready);
        Q_EMIT calibrated(calibration.value());
        return;
    }
    const auto run = message.find("run");
    const auto result = run == message.end()
        ? Result<RunResult>(inputError("run", "is missing", "use programs of the same version"))
        : runResultFromJson(*run);
    if (!result.ok()) {
        fail(tr("The engine's result cannot be read: %1. Use an engine of this version, then “Restart engine”.")
                 .arg(errorText(result.error())));
        return;
    }
    // Without it there is no timeline; what was computed is right all the same.
    if (const auto measured = message.find("profile"); measured != message.end())
        if (auto profile = profileFromJson(*measured); profile.ok())
            m_profile = std::move(profile).value();
    setState(State::Ready);
    Q_EMIT finished(result.value());
}

} // namespace shardboard
