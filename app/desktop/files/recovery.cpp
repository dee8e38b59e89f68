// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/files/recovery.h"

#include "model/io/design/designfile.h"
#include "model/io/file/openfile.h"
#include "model/io/file/textfile.h"
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsontext.h"
#include "model/io/json/jsonwriter.h"
#include "model/session/document.h"
#include "widgets/look/errortext.h"
#include "widgets/look/plaintext.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QUuid>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace shardboard {

namespace {

constexpr int kDelayMs = 1500;
const QString kUnsavedSuffix = QStringLiteral(".unsaved");
const QString kPart = QStringLiteral(".part"); ///< while it is written

QString lockOf(const QString& path) { return path + QStringLiteral(".lock"); }

/// A first line that says what it is of, and the design's own text, so that its numbers stay what they are.
constexpr char kFormat[] = "shardboard-unsaved";
constexpr int kVersion = 2;
constexpr std::size_t kLongestHead = std::size_t { 64 } << 10; ///< bytes: paths and names
constexpr std::size_t kLargestOld = std::size_t { 16 } << 20; ///< of version 1, which is parsed as a whole even to say its name

struct Kept {
    FileIdentity file;
    QString name;
    std::string design; ///< empty where only the head was asked for
};

std::string fileName(const QString& path) { return QFile::encodeName(path).toStdString(); }

std::string headOf(const FileIdentity& file, const QString& name)
{
    return jsonText(nlohmann::json { { "format", kFormat },
                                     { "version", kVersion },
                                     { "file",
                                       { { "path", file.path.toStdString() },
                                         { "size", file.size },
                                         { "modified", file.modified },
                                         { "sha256", file.digest.toHex().toStdString() } } },
                                     { "name", name.toStdString() } })
        + '\n';
}

/// Of a head, or nothing where it is none.
std::optional<Kept> keptOfHead(const std::string& head)
{
    const auto document = parseJson(head, {});
    if (!document.ok())
        return std::nullopt;
    auto from = JsonFields::message(document.value(), {});
    const auto text = [](JsonFields& fields, const char* key) { return QString::fromStdString(fields.text(key, "")); };
    Kept out;
    if (from.text("format") != kFormat || from.integer("version", 0, kVersion) != kVersion)
        return std::nullopt;
    out.name = text(from, "name");
    JsonFields file = from.object("file");
    out.file.path = text(file, "path");
    const bool never = out.file.path.isEmpty();
    if (!never) {
        out.file.size = file.integer("size", -1, std::numeric_limits<qint64>::max(), -1);
        out.file.modified = file.integer("modified", std::numeric_limits<qint64>::min(), std::numeric_limits<qint64>::max(), 0);
        out.file.digest = QByteArray::fromHex(text(file, "sha256").toLatin1());
    }
    if (from.error() || (!never && QDir::isRelativePath(out.file.path))) // of another folder as likely as of ours
        return std::nullopt;
    return out;
}

/// Version 1 is one document. It has the path as it was typed, in whatever folder, and nothing of the file: as good as none.
std::optional<Kept> keptOfOld(const std::string& text)
{
    const auto document = parseJson(text, {}, { .token = kLargestOld });
    if (!document.ok())
        return std::nullopt;
    auto from = JsonFields::message(document.value(), {});
    Kept out;
    out.design = from.text("design");
    out.name = QString::fromStdString(from.text("name", ""));
    return from.error() ? std::nullopt : std::optional(out);
}

Result<Kept> readKept(const QString& path, bool withDesign)
{
    const std::string where = fileName(path);
    const auto broken = [&where] { return inputError(where, "is not what a window has kept", "remove it"); };
    auto file = OpenFile::open(where);
    if (!file.ok())
        return file.error();
    std::string head(kLongestHead, '\0');
    head.resize(file.value().read(head.data(), head.size()).value_or(0)); // of a file that has so much, all of it
    const auto end = head.find('\n');
    const bool old = head.starts_with("{\n");
    if (!old) {
        auto kept = keptOfHead(head.substr(0, end));
        if (end == std::string::npos || !kept)
            return broken();
        if (!withDesign)
            return std::move(*kept);
        auto text = readTextFile(where, kLargestDesign + kLongestHead);
        if (!text.ok())
            return text.error();
        kept->design = std::move(text).value();
        kept->design.erase(0, end + 1);
        return std::move(*kept);
    }
    const auto text = readTextFile(where, kLargestOld);
    if (!text.ok())
        return text.error();
    auto kept = keptOfOld(text.value());
    if (!kept)
        return broken();
    return std::move(*kept);
}

/// Renamed into place, but not synced: a program that crashes needs no more, and a synced disk would hold up the window.
bool writeKept(const QString& path, const std::string& text)
{
    const QString part = path + kPart;
    QFile file(part);
    const auto size = static_cast<qint64>(text.size());
    const bool written =
        file.open(QIODevice::WriteOnly | QIODevice::Truncate) && file.write(text.data(), size) == size && file.flush();
    file.close();
    if (written && file.error() == QFile::NoError && std::rename(fileName(part).c_str(), fileName(path).c_str()) == 0)
        return true;
    QFile::remove(part);
    return false;
}

/// Held while the file is looked at or taken; not to be had while the window that keeps it lives.
bool take(QLockFile& lock)
{
    lock.setStaleLockTime(0); // only the end of its process frees it
    return lock.tryLock(0);
}

} // namespace

Recovery::Recovery(Document* document, const QString& folder, QObject* parent)
    : QObject(parent)
    , m_document(document)
    , m_folder(folder)
    , m_path(folder + QLatin1Char('/') + QUuid::createUuid().toString(QUuid::WithoutBraces) + kUnsavedSuffix)
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
        take(*m_lock);
    }
    const QString name = QString::fromStdString(m_document->design().model.name).left(kLongestName);
    const bool kept = m_lock != nullptr && m_lock->isLocked()
        && writeKept(m_path, headOf(m_document->file(), name) + designText(m_document->design()));
    if (!kept && !m_failed)
        Q_EMIT failed(tr("Unsaved changes cannot be kept in case of a crash: %1 cannot be written. Save the design.").arg(m_path));
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
    const QFileInfoList files =
        QDir(m_folder).entryInfoList({ QLatin1Char('*') + kUnsavedSuffix, QLatin1Char('*') + kUnsavedSuffix + kPart }, QDir::Files);
    for (const QFileInfo& info : files) {
        QString path = info.filePath();
        const bool part = path.endsWith(kPart);
        if (part)
            path.chop(kPart.size());
        QLockFile lock(lockOf(path));
        if (path == m_path || !take(lock))
            continue; // its window lives
        if (part) {
            QFile::remove(info.filePath()); // it was killed while it wrote; what it had written before is whole
            continue;
        }
        Left left { path, {}, {}, {}, info.lastModified() };
        if (const auto kept = readKept(path, false); kept.ok()) {
            left.file = kept.value().file;
            left.name = kept.value().name;
        } else {
            left.problem = errorText(kept.error());
        }
        out.push_back(left);
    }
    std::sort(out.begin(), out.end(), [](const Left& a, const Left& b) {
        return a.problem.isEmpty() == b.problem.isEmpty() ? a.kept > b.kept : a.problem.isEmpty();
    });
    return out;
}

Result<Design> Recovery::designOf(const Left& left) const
{
    const auto kept = readKept(left.path, true);
    if (!kept.ok())
        return kept.error();
    return designFromText(kept.value().design, fileName(left.path));
}

Status Recovery::restore(const Left& left)
{
    QLockFile lock(lockOf(left.path));
    if (!QFile::exists(left.path) || !take(lock))
        return inputError(fileName(left.path), "no longer exists", "another window may have restored it");
    const auto design = designOf(left);
    if (!design.ok())
        return design.error();
    const Status status = m_document->setUnsaved(design.value(), left.file);
    if (!status.ok())
        return status;
    keep();
    if (!m_failed)
        QFile::remove(left.path);
    return status;
}

void Recovery::discard(const Left& left)
{
    QLockFile lock(lockOf(left.path));
    if (take(lock))
        QFile::remove(left.path);
}

} // namespace shardboard
