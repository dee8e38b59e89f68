// SPDX-License-Identifier: Apache-2.0
// Asks which rules file to open or save for the rules view. Problems go to the banner; the rules that were there stay.
#pragma once

#include <QObject>
#include <QString>

namespace shardboard {

class Banner;
class Document;
class RulesView;
class Settings;

class RuleFiles : public QObject {
    Q_OBJECT
public:
    RuleFiles(Document* document, RulesView* view, Settings& settings, Banner* banner, QWidget* window);

    void open();
    bool openPath(const QString& path);
    void save();
    bool saveTo(const QString& path);

    /// Whether a dropped file is taken for a rules file: *.yml, *.yaml.
    static bool isRuleFile(const QString& path);

Q_SIGNALS:
    void taken(); ///< other rules are there to be looked at

private:
    Document* m_document;
    RulesView* m_view;
    Settings& m_settings;
    Banner* m_banner;
    QWidget* m_window;
};

} // namespace shardboard
