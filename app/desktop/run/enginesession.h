// SPDX-License-Identifier: Apache-2.0
// A worker and at most one run on it, as states that a view can show. The worker is started by the first run (or start()),
// checked by its hello, and stays for later runs. Whatever it does, the window lives on: failed() says what happened and
// restart() tries again.
#pragma once

#include "app/desktop/run/engineclient.h"
#include "model/design/evaluation.h"
#include "model/io/wire/messages.h"

#include <QElapsedTimer>
#include <QObject>
#include <QPointer>
#include <QTimer>

#include <memory>
#include <optional>
#include <vector>

namespace shardboard {

/// Something that a worker may run on, as its hello tells it.
struct EngineBackend {
    QString name; ///< one of kBackendNames
    QString description; ///< `8 threads · 23.4 GiB`; may be empty
    QString unusable; ///< why it cannot be used and what to do about it; empty: it can
    bool usable() const { return unusable.isEmpty(); }
};

class EngineSession : public QObject {
    Q_OBJECT
public:
    enum class State { Off, Starting, Ready, Running, Failed };
    Q_ENUM(State)

    /// `command` is the program and its arguments (engineCommand()).
    explicit EngineSession(QStringList command, QObject* parent = nullptr);
    ~EngineSession() override;

    State state() const { return m_state; }
    void setCommand(const QStringList& command) { m_command = command; }
    QStringList command() const { return m_command; }
    /// `cpu · 8 threads · 23.4 GiB`, once the worker has said it.
    QString description() const { return m_description; }
    /// What the worker can run on, in the order of its hello; empty before.
    const std::vector<EngineBackend>& backends() const { return m_backends; }
    const EngineBackend* backend(const QString& name) const;
    /// Why a run on that backend would be refused; empty: it would not, as far as is known.
    QString whyNot(const QString& backend) const;
    /// How to start a worker for the backend mpi, where the worker that is started alone says that mpirun is all it lacks.
    void setMpiCommand(const QStringList& command) { m_mpiCommand = command; }
    QString failure() const { return m_failure; } ///< why the state is Failed: a sentence or two
    QString failureLog() const { return m_failureLog; } ///< the last lines of the worker's log, may be empty
    bool isBusy() const { return m_state == State::Running || m_waiting.has_value(); } ///< with a run
    /// A run is under way and the worker answers nothing, not even a ping: it hangs, or its machine is overloaded.
    bool isSilent() const { return m_silent; }
    QString log() const { return m_client ? m_client->logTail() : m_failureLog; } ///< the last lines of the living worker's log
    qint64 workerId() const { return m_client ? m_client->processId() : 0; }

    void start();
    void restart();
    void stop();
    /// Runs the plan of this evaluation; starts the worker if need be. Does nothing while a run is under way.
    void run(std::shared_ptr<const Evaluation> evaluation, const RunOptions& options);
    /// Asks the worker to stop the run; a worker that does not answer in 5 seconds is killed.
    void cancel();
    /// What the last or current run works on.
    std::shared_ptr<const Evaluation> evaluation() const { return m_evaluation; }

    void setStartTimeout(int milliseconds) { m_startTimeout = milliseconds; }
    void setCancelTimeout(int milliseconds) { m_cancelTimeout = milliseconds; }
    /// How long a worker may be silent during a run (ms).
    void setSilenceLimit(int milliseconds) { m_silenceLimit = milliseconds; }
    int silenceLimit() const { return m_silenceLimit; }

Q_SIGNALS:
    void stateChanged();
    void silenceChanged();
    void announced(qint64 bytes, double seconds); ///< before the worker touches anything large
    void progressed(qint64 step, qint64 of, const QString& what);
    void finished(const RunResult& result);
    void refused(const QString& message); ///< the run ended with an error of its own; the worker lives
    void cancelled();

private:
    void setState(State state);
    void fail(const QString& what);
    void dropClient();
    void receive(const nlohmann::json& message);
    void receiveHello(const nlohmann::json& message);
    void receiveError(const nlohmann::json& message);
    void receiveResult(const nlohmann::json& message);
    void sendRun();
    void onTimeout();
    void listen();
    void setSilent(bool silent);
    QStringList commandFor(const QString& backend) const;

    QStringList m_command;
    State m_state = State::Off;
    EngineClient* m_client = nullptr;
    QTimer m_timer; ///< waits for the hello, or for the answer to a cancel
    QTimer m_pulse; ///< asks for a sign of life while a run is under way
    QElapsedTimer m_heard; ///< since the last message
    QElapsedTimer m_pulsed; ///< since the last beat of m_pulse
    bool m_silent = false;
    QString m_description;
    std::vector<EngineBackend> m_backends;
    QStringList m_mpiCommand;
    bool m_mpiStartable = false; ///< the worker that was started alone says so
    QStringList m_running; ///< the command of the living worker
    QString m_failure;
    QString m_failureLog;
    std::shared_ptr<const Evaluation> m_evaluation;
    std::optional<RunOptions> m_waiting; ///< a run to send when the worker is ready
    std::int64_t m_runId = 0;
    bool m_cancelling = false;
    int m_startTimeout = 10000;
    int m_cancelTimeout = 5000;
    int m_silenceLimit = 5000;
};

/// The worker `engine` as several processes of this host, for the backend mpi; empty where there is no mpirun.
QStringList mpiCommand(const QString& engine, int processes);

/// Where the worker is: $SHARDBOARD_ENGINE, else the setting, else `shardboard-engine` beside this program. The first two
/// are commands with arguments, so that `ssh HOST shardboard-engine` works.
QStringList engineCommand(const QString& setting);

} // namespace shardboard
