// SPDX-License-Identifier: Apache-2.0
// A worker and at most one run on it, as states that a view can show. The worker is started by the first run (or start()),
// checked by its hello, and stays for later runs. Whatever it does, the window lives on: failure() says what happened and
// restart() tries again.
#pragma once

#include "app/desktop/run/enginebackend.h"
#include "app/worker/workerclient.h"
#include "model/design/evaluation.h"
#include "model/io/wire/calibration.h"
#include "model/io/wire/messages.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <memory>
#include <optional>
#include <vector>

namespace shardboard {

class EngineClient;

class EngineSession : public QObject {
    Q_OBJECT
public:
    enum class State { Off, Starting, Ready, Running, Failed };
    Q_ENUM(State)

    /// `command` is a line for the shell (app/worker/workercommand.h); empty: the engine beside this program.
    explicit EngineSession(QString command, QObject* parent = nullptr);
    ~EngineSession() override;

    State state() const { return m_state; }
    void setCommand(const QString& command) { m_command = command; }
    QString command() const { return m_command; }
    /// `cpu · 8 threads · 23.4 GiB`, once the worker has said it.
    QString description() const { return m_description; }
    /// What the worker can run on, in the order of its hello; empty before.
    const std::vector<EngineBackend>& backends() const { return m_backends; }
    const EngineBackend* backend(const QString& name) const;
    /// Why a run on that backend would be refused; empty: it would not, as far as is known.
    QString whyNot(const QString& backend) const;
    /// How to start a worker for the backend mpi, where the worker that is started alone says that mpirun is all it lacks.
    void setMpiCommand(const QString& command) { m_mpiCommand = command; }
    QString failure() const { return m_failure; } ///< why the state is Failed: a sentence or two
    QString failureLog() const { return m_failureLog; } ///< the last lines of the worker's log, may be empty
    bool isBusy() const { return m_state == State::Running || m_waiting.has_value(); } ///< with a run
    /// A run is under way and the worker answers nothing, not even a ping: it hangs, or its machine is overloaded.
    bool isSilent() const { return m_silent; }
    QString log() const; ///< the last lines of the living worker's log
    qint64 workerId() const;

    void start();
    void restart();
    void stop();
    /// Runs the plan of this evaluation; starts the worker if need be. Does nothing while a run is under way.
    void run(std::shared_ptr<const Evaluation> evaluation, const RunOptions& options);
    /// Measures the machine that the worker is on, as a run in every other way: announced(), progressed(), then calibrated().
    void calibrate(const CalibrationOptions& options);
    bool isCalibrating() const { return isBusy() && m_calibrates; }
    /// What is sent, or was sent the last time, is a calibration.
    bool lastCalibrated() const { return m_calibrates; }
    /// Asks the worker to stop the run; a worker that does not answer in 5 seconds is killed.
    void cancel();
    /// What the last or current run works on.
    std::shared_ptr<const Evaluation> evaluation() const { return m_evaluation; }
    /// What the last run measured; nothing where it was not asked to, or before one is over.
    const std::optional<RunProfile>& profile() const { return m_profile; }

    /// Of workers that are started from now on.
    void setStartTimeout(int milliseconds) { m_limits.helloSeconds = milliseconds / 1000.0; }
    void setCancelTimeout(int milliseconds) { m_limits.cancelSeconds = milliseconds / 1000.0; }
    /// How long a worker may be silent during a run (ms).
    void setSilenceLimit(int milliseconds) { m_silenceLimit = milliseconds; }
    int silenceLimit() const { return m_silenceLimit; }

Q_SIGNALS:
    void stateChanged();
    void silenceChanged();
    void queued(const QString& what); ///< the worker waits for its turn: the line in which that was said
    void announced(qint64 bytes, double seconds); ///< before the worker touches anything large
    void progressed(qint64 step, qint64 of, const QString& what);
    void finished(const RunResult& result);
    void calibrated(const Calibration& calibration);
    void refused(const QString& message); ///< the run ended with an error of its own; the worker lives
    void cancelled();

private:
    void setState(State state);
    void take(const WorkerEvent& event);
    void takeHello(const nlohmann::json& message);
    void takeMessage(const nlohmann::json& message);
    void takeResult(const nlohmann::json& message);
    void takeFailure(const WorkerEvent& event);
    void fail(const QString& what);
    void dropClient();
    void send();
    void sendRun();
    void listen();
    void setSilent(bool silent);
    QString commandFor(const QString& backend) const;

    QString m_command;
    State m_state = State::Off;
    EngineClient* m_client = nullptr;
    QTimer m_pulse; ///< asks for a sign of life while a run is under way
    QElapsedTimer m_heard; ///< since the last message
    QElapsedTimer m_pulsed; ///< since the last beat of m_pulse
    bool m_silent = false;
    QString m_description;
    std::vector<EngineBackend> m_backends;
    QString m_mpiCommand;
    bool m_mpiStartable = false; ///< the worker that was started alone says so
    QString m_running; ///< the command of the living worker
    QString m_failure;
    QString m_failureLog;
    std::shared_ptr<const Evaluation> m_evaluation;
    std::optional<RunProfile> m_profile;
    std::optional<RunOptions> m_waiting; ///< a run to send when the worker is ready
    bool m_calibrates = false; ///< what is sent, or was sent the last time, is no run
    CalibrationOptions m_calibration;
    WorkerLimits m_limits;
    int m_silenceLimit = 5000;
};

} // namespace shardboard
