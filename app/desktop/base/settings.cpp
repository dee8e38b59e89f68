// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/base/settings.h"

#include "model/io/runs/keptruns.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>

namespace shardboard {

namespace {
const QString kGeometry = QStringLiteral("window/geometry");
const QString kState = QStringLiteral("window/state");
const QString kSplitter = QStringLiteral("window/splitter/");
const QString kRecent = QStringLiteral("files/recent");
const QString kFolder = QStringLiteral("files/folder");
const QString kTheme = QStringLiteral("view/theme");
const QString kContrast = QStringLiteral("view/highContrast");
const QString kPatterns = QStringLiteral("view/patternsOnly");
const QString kTextSize = QStringLiteral("view/textSize");
const QString kShortcuts = QStringLiteral("shortcuts/");
const QString kColumns = QStringLiteral("columns/");
const QString kNotation = QStringLiteral("view/notation");
const QString kWhyFolded = QStringLiteral("view/whyFolded");
const QString kWheel = QStringLiteral("view/wheelScrolls");
const QString kMotion = QStringLiteral("view/reducedMotion");
const QString kEngine = QStringLiteral("engine/command");
const QString kRunsFolder = QStringLiteral("runs/folder");
const QString kRunsLimit = QStringLiteral("runs/limitBytes");
const QString kRunsKept = QStringLiteral("runs/keepEvery");
const QString kPython = QStringLiteral("export/python/");
}

Settings::Settings(const QString& file)
    : m_settings(file.isEmpty() ? QSettings(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("shardboard"),
                                            QStringLiteral("shardboard"))
                                      .fileName()
                                : file,
                 QSettings::IniFormat)
{
}

QByteArray Settings::geometry() const { return m_settings.value(kGeometry).toByteArray(); }

QByteArray Settings::windowState() const { return m_settings.value(kState).toByteArray(); }

void Settings::setWindow(const QByteArray& geometry, const QByteArray& state)
{
    m_settings.setValue(kGeometry, geometry);
    m_settings.setValue(kState, state);
}

QByteArray Settings::splitter(const QString& name) const { return m_settings.value(kSplitter + name).toByteArray(); }

void Settings::setSplitter(const QString& name, const QByteArray& state) { m_settings.setValue(kSplitter + name, state); }

QStringList Settings::recentFiles() const { return m_settings.value(kRecent).toStringList(); }

void Settings::setRecentFiles(const QStringList& files) { m_settings.setValue(kRecent, files); }

ThemeChoice Settings::theme() const
{
    const QString word = m_settings.value(kTheme).toString();
    return word == QLatin1String("light") ? ThemeChoice::Light
        : word == QLatin1String("dark")   ? ThemeChoice::Dark
                                          : ThemeChoice::System;
}

void Settings::setTheme(ThemeChoice theme)
{
    m_settings.setValue(kTheme,
                        theme == ThemeChoice::Light      ? QStringLiteral("light")
                            : theme == ThemeChoice::Dark ? QStringLiteral("dark")
                                                         : QStringLiteral("system"));
}

bool Settings::highContrast() const { return m_settings.value(kContrast).toBool(); }

void Settings::setHighContrast(bool on) { m_settings.setValue(kContrast, on); }

bool Settings::patternsOnly() const { return m_settings.value(kPatterns).toBool(); }

void Settings::setPatternsOnly(bool on) { m_settings.setValue(kPatterns, on); }

double Settings::textSize() const { return m_settings.value(kTextSize).toDouble(); }

void Settings::setTextSize(double points)
{
    if (points > 0)
        m_settings.setValue(kTextSize, points);
    else
        m_settings.remove(kTextSize);
}

std::optional<QString> Settings::shortcuts(const QString& action) const
{
    const QVariant kept = m_settings.value(kShortcuts + action);
    return kept.isValid() ? std::optional(kept.toString()) : std::nullopt;
}

void Settings::setShortcuts(const QString& action, const std::optional<QString>& keys)
{
    if (keys)
        m_settings.setValue(kShortcuts + action, *keys);
    else
        m_settings.remove(kShortcuts + action);
}

QVariantMap Settings::columns(const QString& table) const { return m_settings.value(kColumns + table).toMap(); }

void Settings::setColumns(const QString& table, const QVariantMap& columns) { m_settings.setValue(kColumns + table, columns); }

bool Settings::whyFolded() const { return m_settings.value(kWhyFolded).toBool(); }

void Settings::setWhyFolded(bool folded) { m_settings.setValue(kWhyFolded, folded); }

Notation Settings::notation() const
{
    return notationFromName(m_settings.value(kNotation).toString().toStdString()).value_or(Notation::Jax);
}

void Settings::setNotation(Notation notation) { m_settings.setValue(kNotation, QString::fromStdString(notationName(notation))); }

bool Settings::wheelScrolls() const { return m_settings.value(kWheel).toBool(); }

void Settings::setWheelScrolls(bool scrolls) { m_settings.setValue(kWheel, scrolls); }

std::optional<bool> Settings::reducedMotion() const
{
    return m_settings.contains(kMotion) ? std::optional<bool>(m_settings.value(kMotion).toBool()) : std::nullopt;
}

void Settings::setReducedMotion(bool reduced) { m_settings.setValue(kMotion, reduced); }

QString Settings::engineCommand() const { return m_settings.value(kEngine).toString(); }

void Settings::setEngineCommand(const QString& command) { m_settings.setValue(kEngine, command); }

QString Settings::runsFolder() const
{
    const QString usual = QFile::decodeName(QByteArray::fromStdString(defaultRunsFolder()));
    return m_settings
        .value(kRunsFolder, usual.isEmpty() ? QFileInfo(m_settings.fileName()).absolutePath() + QStringLiteral("/runs") : usual)
        .toString();
}

void Settings::setRunsFolder(const QString& folder) { m_settings.setValue(kRunsFolder, folder); }

qint64 Settings::runsLimit() const
{
    constexpr qint64 kUsual = qint64 { 1 } << 30;
    return qMax<qint64>(0, m_settings.value(kRunsLimit, kUsual).toLongLong());
}

void Settings::setRunsLimit(qint64 bytes) { m_settings.setValue(kRunsLimit, bytes); }

bool Settings::keepsRuns() const { return m_settings.value(kRunsKept, true).toBool(); }

void Settings::setKeepsRuns(bool keeps) { m_settings.setValue(kRunsKept, keeps); }

QString Settings::python(const QString& target) const
{
    return m_settings.value(kPython + target, QStringLiteral("python3")).toString();
}

void Settings::setPython(const QString& target, const QString& program)
{
    if (program.isEmpty() || program == QLatin1String("python3"))
        m_settings.remove(kPython + target);
    else
        m_settings.setValue(kPython + target, program);
}

QString Settings::unsavedFolder() const { return QFileInfo(m_settings.fileName()).absolutePath() + QStringLiteral("/unsaved"); }

QString Settings::lastFolder() const { return m_settings.value(kFolder, QDir::homePath()).toString(); }

void Settings::setLastFolder(const QString& folder) { m_settings.setValue(kFolder, folder); }

} // namespace shardboard
