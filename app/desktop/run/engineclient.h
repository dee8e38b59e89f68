// SPDX-License-Identifier: Apache-2.0
// The pipe to a worker process: starts it, sends and receives one JSON object a line, keeps the tail of its log, and
// notices its end. Knows nothing of runs; lives on the GUI thread and never blocks it but in its destructor.
#pragma once

#include <QByteArray>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTimer>

#include <nlohmann/json.hpp>

#include <string_view>

namespace shardboard {

class EngineClient : public QObject {
    Q_OBJECT
public:
    explicit EngineClient(QObject* parent = nullptr);
    /// Ends the worker: closes its input, then terminates, then kills; at most 3 seconds.
    ~EngineClient() override;

    /// `command` is the program and its arguments.
    void start(const QStringList& command);
    bool isRunning() const { return m_process.state() != QProcess::NotRunning; }
    qint64 processId() const { return m_process.processId(); }
    void send(const nlohmann::json& message);
    /// Closes the input, which asks the worker to leave; terminates it after 2 s and kills it after 0.5 s more.
    void stop();
    /// At once, for a worker that does not listen.
    void kill();

    /// The last lines that the worker wrote to stderr.
    QString logTail() const;

Q_SIGNALS:
    void received(const nlohmann::json& message);
    /// A line that is no message, after the hello or in its place (model/io/wire/greeting.h); the worker is of no use any more.
    void garbled(const QString& problem);
    /// The worker is gone, or never came: `how` is half a sentence (`exit status 3`, `killed by signal 9`).
    void ended(const QString& how);

private:
    void readLines(bool all = false);
    QString take(std::string_view line);
    void readLog();
    void onFinished(int code, QProcess::ExitStatus status);
    void onError(QProcess::ProcessError error);

    QProcess m_process;
    QTimer m_stopTimer;
    QByteArray m_input; ///< what was not handed on yet
    qsizetype m_read = 0; ///< of it that was
    bool m_greeted = false; ///< the worker has said hello; what came before was not its own
    bool m_later = false; ///< the rest is handed on when the event loop comes round
    QByteArray m_log;
    bool m_terminated = false;
};

} // namespace shardboard
