// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/run/enginesession.h"

#include "model/io/wire/planjson.h"
#include "widgets/look/format.h"
#include "widgets/look/plaintext.h"

#include <QCoreApplication>
#include <QDir>
#include <QStandardPaths>

#include <algorithm>
#include <unistd.h>

namespace shardboard {

namespace {

using nlohmann::json;

QString text(const json& object, const char* key)
{
    const auto it = object.find(key);
    return it != object.end() && it->is_string() ? shownText(it->get<std::string>()) : QString();
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

/// `8 threads · 23.4 GiB` of the first device of a backend.
QString deviceText(const json& backend)
{
    QString line;
    const auto devices = backend.find("devices");
    if (devices == backend.end() || !devices->is_array() || devices->empty() || !devices->front().is_object())
        return line;
    const json& device = devices->front();
    if (whole(device, "threads") > 0)
        line += (whole(device, "threads") == 1 ? EngineSession::tr(" · %1 thread") : EngineSession::tr(" · %1 threads"))
                    .arg(whole(device, "threads"));
    if (whole(device, "memory_bytes") > 0)
        line += QStringLiteral(" · ") + bytesText(whole(device, "memory_bytes"));
    return line.mid(3);
}

/// A worker that says nothing of `usable` has no backend that it cannot use.
std::vector<EngineBackend> backendsOf(const json& hello)
{
    std::vector<EngineBackend> out;
    const auto backends = hello.find("backends");
    if (backends == hello.end() || !backends->is_array())
        return out;
    for (const json& backend : *backends) {
        if (!backend.is_object())
            continue;
        const auto usable = backend.find("usable");
        const bool can = usable == backend.end() || !usable->is_boolean() || usable->get<bool>();
        const QString reason = text(backend, "reason");
        out.push_back({ text(backend, "name"), deviceText(backend),
                        can                    ? QString()
                            : reason.isEmpty() ? EngineSession::tr("the engine does not say why")
                                               : reason });
    }
    return out;
}

/// `cpu · 8 threads · 23.4 GiB` of the first backend that can be used.
QString describe(const std::vector<EngineBackend>& backends)
{
    for (const EngineBackend& backend : backends)
        if (backend.usable())
            return backend.description.isEmpty() ? backend.name : backend.name + QStringLiteral(" · ") + backend.description;
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

QStringList mpiCommand(const QString& engine, int processes)
{
    const QString mpirun = QStandardPaths::findExecutable(QStringLiteral("mpirun"));
    if (mpirun.isEmpty())
        return {};
    QStringList out { QStringLiteral("env") };
    if (::geteuid() == 0) // the user is asked whether that is wise by whoever made this machine, not by us
        out << QStringLiteral("OMPI_ALLOW_RUN_AS_ROOT=1") << QStringLiteral("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
    // More processes than cores are fine: who waits sleeps.
    return out
        << mpirun << QStringLiteral("-n") << QString::number(processes)
        << QStringLiteral("--oversubscribe --bind-to none --mca btl self,vader --mca mpi_yield_when_idle 1").split(QLatin1Char(' '))
        << engine;
}

EngineSession::EngineSession(QStringList command, QObject* parent)
    : QObject(parent)
    , m_command(std::move(command))
{
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &EngineSession::onTimeout);
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
    m_client = new EngineClient(this);
    connect(m_client, &EngineClient::received, this, &EngineSession::receive);
    connect(m_client, &EngineClient::garbled, this, [this](const QString& problem) {
        fail(tr("The engine cannot be understood: %1. Use an engine of this version, then “Restart engine”.").arg(problem));
    });
    connect(m_client, &EngineClient::ended, this, [this](const QString& how) {
        if (m_state == State::Starting)
            fail(tr("The engine did not start: %1. See that its command is right, then “Restart engine”.").arg(how));
        else if (m_state == State::Running)
            fail(tr("The engine ended during the run: %1. The design is untouched; “Restart engine” starts another.").arg(how));
        else
            fail(tr("The engine ended: %1. “Restart engine” starts another.").arg(how));
    });
    setState(State::Starting);
    m_timer.start(m_startTimeout);
    m_running = m_waiting ? commandFor(QString::fromStdString(m_waiting->backend)) : m_command;
    m_client->start(m_running);
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
    if (m_state == State::Ready && commandFor(QString::fromStdString(options.backend)) != m_running)
        stop(); // this backend has a worker of its own
    m_evaluation = std::move(evaluation);
    m_waiting = options;
    if (m_state == State::Ready)
        sendRun();
    else if (m_state == State::Starting)
        Q_EMIT stateChanged(); // it was asked for what there is; now it is to run something
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
        Q_EMIT stateChanged();
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
        fail(tr("The engine did not say hello within %1 s (%2). See that this is the worker, then “Restart engine”.")
                 .arg(m_startTimeout / 1000.0)
                 .arg(m_running.join(QLatin1Char(' '))));
    } else if (m_state == State::Running && !m_cancelling) {
        fail(tr("The engine gave up the run though nobody had cancelled it. “Restart engine” starts another."));
    } else if (m_state == State::Running) {
        fail(tr("The engine did not answer the cancel within %1 s and was ended. “Restart engine” starts another.")
                 .arg(m_cancelTimeout / 1000.0));
    }
}

const EngineBackend* EngineSession::backend(const QString& name) const
{
    const auto it =
        std::find_if(m_backends.begin(), m_backends.end(), [&](const EngineBackend& backend) { return backend.name == name; });
    return it == m_backends.end() ? nullptr : &*it;
}

QStringList EngineSession::commandFor(const QString& backend) const
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

/// A worker answers what it does not know, too, so that any message asks for a sign of life.
void EngineSession::listen()
{
    const bool late = m_pulsed.restart() > m_pulse.interval() + m_silenceLimit / 2; // this program was busy itself
    if (late)
        m_heard.start();
    m_client->send({ { "type", "ping" }, { "id", 0 } });
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
    m_heard.start();
    setSilent(false);
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
                 .arg(m_running.first()));
        return;
    }
    m_timer.stop();
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

void EngineSession::receiveResult(const json& message)
{
    m_timer.stop();
    const auto run = message.find("run");
    const auto result = run == message.end()
        ? Result<RunResult>(inputError("run", "is missing", "use programs of the same version"))
        : runResultFromJson(*run);
    if (!result.ok()) {
        fail(tr("The engine's result cannot be read: %1. Use an engine of this version, then “Restart engine”.")
                 .arg(QString::fromStdString(result.error().text())));
        return;
    }
    setState(State::Ready);
    Q_EMIT finished(result.value());
}

void EngineSession::receiveError(const json& message)
{
    const bool isCancel = text(message, "code") == QLatin1String("cancelled");
    if (isCancel && !m_cancelling && m_state == State::Running) {
        // Nobody has asked: a launcher has lost a process and ends the others. Its end says why.
        m_timer.start(m_cancelTimeout);
        return;
    }
    m_timer.stop();
    setState(State::Ready);
    if (isCancel) {
        Q_EMIT cancelled();
        return;
    }
    const QString where = text(message, "where");
    Q_EMIT refused(where.isEmpty() ? text(message, "message") : where + QStringLiteral(": ") + text(message, "message"));
}

} // namespace shardboard
