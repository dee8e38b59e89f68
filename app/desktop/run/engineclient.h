// SPDX-License-Identifier: Apache-2.0
// The client of the worker (app/worker/workerclient.h) in the event loop of Qt: hands its events on as they come. Lives on the GUI
// thread and never blocks it but in its destructor.
#pragma once

#include "app/worker/workerclient.h"

#include <QObject>
#include <QString>
#include <QTimer>

#include <array>
#include <string>

QT_BEGIN_NAMESPACE
class QSocketNotifier;
QT_END_NAMESPACE

namespace shardboard {

class EngineClient : public QObject {
    Q_OBJECT
public:
    /// Starts the worker; `command` as for WorkerProcess::start.
    EngineClient(const std::string& command, const WorkerLimits& limits, QObject* parent = nullptr);
    /// Ends the worker as ~WorkerProcess does.
    ~EngineClient() override;

    qint64 processId() const { return m_client.processId(); }
    void request(nlohmann::json message);
    void cancel();
    void ping();
    /// Lets the worker leave in its own time, or kills it; nothing more is heard of it, and this object deletes itself then.
    void leave(bool atOnce);

    /// The last lines that the worker wrote to stderr.
    QString logTail() const;

Q_SIGNALS:
    void happened(const WorkerEvent& event);

private:
    void advance();
    void watch();

    WorkerClient m_client;
    WorkerDescriptors m_watched;
    std::array<QSocketNotifier*, 4> m_notifiers {}; ///< of m_watched
    QTimer m_timer; ///< for what happens though nothing is said
    bool m_leaving = false;
};

} // namespace shardboard
