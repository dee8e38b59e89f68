// SPDX-License-Identifier: Apache-2.0
#include "app/desktop/settings.h"

#include <QDir>
#include <QFileInfo>

namespace shardboard {

namespace {
const QString kGeometry = QStringLiteral("window/geometry");
const QString kState = QStringLiteral("window/state");
const QString kRecent = QStringLiteral("files/recent");
const QString kFolder = QStringLiteral("files/folder");
const QString kTheme = QStringLiteral("view/theme");
const QString kNotation = QStringLiteral("view/notation");
const QString kEngine = QStringLiteral("engine/command");
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
    m_settings.setValue(kTheme, theme == ThemeChoice::Light ? QStringLiteral("light")
                            : theme == ThemeChoice::Dark    ? QStringLiteral("dark")
                                                            : QStringLiteral("system"));
}

Notation Settings::notation() const
{
    return notationFromName(m_settings.value(kNotation).toString().toStdString()).value_or(Notation::Jax);
}

void Settings::setNotation(Notation notation)
{
    m_settings.setValue(kNotation, QString::fromStdString(notationName(notation)));
}

QString Settings::engineCommand() const { return m_settings.value(kEngine).toString(); }

void Settings::setEngineCommand(const QString& command) { m_settings.setValue(kEngine, command); }

QString Settings::unsavedFolder() const
{
    return QFileInfo(m_settings.fileName()).absolutePath() + QStringLiteral("/unsaved");
}

QString Settings::lastFolder() const { return m_settings.value(kFolder, QDir::homePath()).toString(); }

void Settings::setLastFolder(const QString& folder) { m_settings.setValue(kFolder, folder); }

} // namespace shardboard
