// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/recovery.h"

#include "model/formats/designfile.h"
#include "model/session/document.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QUuid>

#include <algorithm>
#include <optional>

namespace shardboard {

namespace {

constexpr int kDelayMs = 1500;
const QString kSuffix = QStringLiteral(".unsaved");

QString lockOf(const QString& path) { return path + QStringLiteral(".lock"); }

/// The design is one text in it, so that its numbers stay what they are.
struct Kept {
    QString file;
    QString name;
    QString design;
};

std::optional<Kept> readKept(const QString& path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return std::nullopt;
    const QJsonObject object = QJsonDocument::fromJson(file.readAll()).object();
    if (!object.contains(QLatin1String("design")))
        return std::nullopt;
    return Kept { object.value(QLatin1String("file")).toString(), object.value(QLatin1String("name")).toString(),
                  object.value(QLatin1String("design")).toString() };
}

/// Renamed into place, but not synced: a program that crashes needs no more, and a synced disk would hold up the window.
bool writeKept(const QString& path, const Kept& kept)
{
    const QJsonObject object { { QStringLiteral("file"), kept.file }, { QStringLiteral("name"), kept.name },
                               { QStringLiteral("design"), kept.design } };
    const QByteArray text = QJsonDocument(object).toJson();
    const QString part = path + QStringLiteral(".part");
    QFile file(part);
    const bool written = file.open(QIODevice::WriteOnly | QIODevice::Truncate) && file.write(text) == text.size() && file.flush();
    file.close();
    if (!written || file.error() != QFile::NoError) {
        QFile::remove(part);
        return false;
    }
    QFile::remove(path);
    return QFile::rename(part, path);
}

} // namespace

Recovery::Recovery(Document* document, const QString& folder, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_folder(folder)
    , m_path(folder + QLatin1Char('/') + QUuid::createUuid().toString(QUuid::WithoutBraces) + kSuffix)
{
    m_timer.setSingleShot(true);
    m_timer.setInterval(kDelayMs);
    connect(&m_timer, &QTimer::timeout, this, &Recovery::keep);
    connect(document, &Document::evaluated, this, &Recovery::follow);
    connect(document, &Document::modifiedChanged, this, &Recovery::follow);
}

Recovery::~Recovery() { forget(); }

void Recovery::follow()
{
    if (!m_document->hasDesign() || !m_document->isModified())
        forget();
    else if (!m_timer.isActive())
        m_timer.start(); // not started anew by each edit: a long row of edits must not put it off
}

void Recovery::keep()
{
    if (m_lock == nullptr && QDir().mkpath(m_folder)) {
        m_lock = std::make_unique<QLockFile>(lockOf(m_path));
        m_lock->setStaleLockTime(0); // only the end of its process frees it
        m_lock->tryLock(0);
    }
    const QString file = m_document->filePath();
    const QString name = file.isEmpty() ? QString::fromStdString(m_document->design().model.name) : QFileInfo(file).fileName();
    const bool kept = m_lock != nullptr && m_lock->isLocked()
        && writeKept(m_path, { file, name, QString::fromStdString(designText(m_document->design())) });
    if (!kept && !m_failed)
        Q_EMIT failed(tr("Unsaved changes cannot be kept for the case of a crash: %1 cannot be written. Save the design.").arg(m_path));
    m_failed = !kept;
}

void Recovery::forget()
{
    m_timer.stop();
    if (m_lock == nullptr)
        return;
    QFile::remove(m_path);
    m_lock.reset();
}

QList<Recovery::Left> Recovery::leftBehind() const
{
    QList<Left> out;
    const QFileInfoList files = QDir(m_folder).entryInfoList({ QLatin1Char('*') + kSuffix }, QDir::Files);
    for (const QFileInfo& info : files) {
        QLockFile lock(lockOf(info.filePath()));
        lock.setStaleLockTime(0);
        if (info.filePath() == m_path || !lock.tryLock(0))
            continue; // its window lives
        if (const auto kept = readKept(info.filePath()))
            out.push_back({ info.filePath(), kept->file, kept->name, info.lastModified() });
    }
    std::sort(out.begin(), out.end(), [](const Left& a, const Left& b) { return a.kept > b.kept; });
    return out;
}

Status Recovery::restore(const Left& left)
{
    const std::string where = QFile::encodeName(left.path).toStdString();
    const auto kept = readKept(left.path);
    if (!kept)
        return inputError(where, "cannot be read any more", "another window may have restored it");
    const auto design = designFromText(kept->design.toStdString(), where);
    if (!design.ok())
        return design.error();
    const Status status = m_document->setUnsaved(design.value(), kept->file);
    if (!status.ok())
        return status;
    keep();
    if (!m_failed)
        discard(left);
    return status;
}

void Recovery::discard(const Left& left) { QFile::remove(left.path); }

} // namespace shardboard
