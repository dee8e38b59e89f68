// SPDX-License-Identifier: Apache-2.0
// Runs shardctl as a script does and keeps what came out.
#pragma once

#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QString>
#include <QStringList>

namespace shardboard::test {

struct Outcome {
    int code = -1; ///< -1: it crashed or did not end in time
    QString out;
    QString err;
    QJsonObject json() const { return QJsonDocument::fromJson(out.toUtf8()).object(); }
};

inline Outcome shardctl(const QStringList& arguments)
{
    constexpr int kMilliseconds = 240000;
    QProcess process;
    process.start(QStringLiteral(SHARDBOARD_BINARY_DIR "/bin/shardctl"), arguments);
    process.closeWriteChannel();
    if (!process.waitForFinished(kMilliseconds))
        return {};
    return { process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
             QString::fromUtf8(process.readAllStandardOutput()), QString::fromUtf8(process.readAllStandardError()) };
}

} // namespace shardboard::test
