// SPDX-License-Identifier: Apache-2.0
// The window: composes document, views, modes, actions and the engine. Everything with a decision in it lives elsewhere.
#pragma once

#include "model/core/result.h"

#include <QMainWindow>

#include <vector>

class QMenu;
class QStackedWidget;
class QToolBar;

namespace shardboard {

class Actions;
class Banner;
class CommandPalette;
class CompareView;
class DropDown;
class Document;
class EngineSession;
struct ExportTarget;
class FileActions;
class FileNotices;
struct FindingPlace;
class HardwareFiles;
class MeshView;
class PictureActions;
class ProofPanel;
class Prover;
class RecentFiles;
struct ReportInput;
class Recovery;
class RuleFiles;
class RulesView;
class RunPanel;
class Settings;
class ThemeControl;
class SummaryBar;
class TargetStates;
class TileView;
class TimelineSource;
class Workbench;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    MainWindow(Settings& settings, ThemeControl& theme, QWidget* parent = nullptr);
    /// With other targets of exports than those there are.
    MainWindow(Settings& settings, ThemeControl& theme, std::vector<ExportTarget> targets, QWidget* parent = nullptr);
    ~MainWindow() override;

    Document* document() const { return m_document; }
    Actions* actionRegistry() const { return m_actions; }
    FileActions* fileActions() const { return m_fileActions; }
    RecentFiles* recentFiles() const { return m_recent; }
    Workbench* workbench() const { return m_workbench; }
    Banner* banner() const { return m_banner; }
    EngineSession* engine() const { return m_engine; }
    TargetStates* targets() const { return m_targets; }
    RunPanel* runPanel() const { return m_runPanel; }
    MeshView* meshView() const { return m_meshView; }
    TileView* tileView() const { return m_tileView; }
    RulesView* rulesView() const { return m_rules; }
    RuleFiles* ruleFiles() const { return m_ruleFiles; }
    Recovery* recovery() const { return m_recovery; }
    /// Views that can be saved as pictures: `window`, panels by their names, and modes (`explore`), which are the window, too.
    QStringList viewNames() const;
    /// Brought to the front. Null for an unknown name.
    QWidget* showView(const QString& name);
    /// Writes the design with its variants and its run as HTML or PDF. Errors name the path.
    Status writeReportTo(const QString& path) const;
    /// Asks about unsaved changes that a crash left behind, if there are any.
    void offerRecovery();

protected:
    void closeEvent(QCloseEvent* event) override;

private:
    void createActions();
    void createMenus();
    void createPictureActions();
    void createPages();
    void createPanels();
    void createDeliver();
    void createTimeline();
    void createRuns(TimelineSource* source);
    void createPlots(TimelineSource* source);
    void saveReport();
    ReportInput reportInput() const;
    void createModes();
    void createBar();
    void resetLayout();
    void showAct();
    void connectDocument();
    void showDocument();
    void selectFirstCut();
    void showRun();
    void showSetting(const QString& id);
    void editStrategy(bool asSpec);
    void openDropped(const QString& path);
    void compareWithFile();
    void updateTitle();
    void updateActions();
    void openPalette();
    void showPlace(const FindingPlace& place);
    void showHelp(const QString& page = {}); ///< none: that of the view with the focus
    void showShortcuts();
    void showAbout();

    Settings& m_settings;
    ThemeControl& m_theme;
    Document* m_document;
    Actions* m_actions;
    RecentFiles* m_recent;
    EngineSession* m_engine;
    Banner* m_banner;
    FileActions* m_fileActions;
    TargetStates* m_targets;
    Prover* m_prover;
    ProofPanel* m_proof = nullptr;
    Recovery* m_recovery;
    FileNotices* m_notices;
    PictureActions* m_pictures;
    Workbench* m_workbench;
    SummaryBar* m_summary = nullptr;
    DropDown* m_findings = nullptr;
    QStackedWidget* m_pages = nullptr; ///< welcome page, workbench
    QToolBar* m_bar = nullptr;
    MeshView* m_meshView = nullptr;
    TileView* m_tileView = nullptr;
    RulesView* m_rules = nullptr;
    CompareView* m_compare = nullptr;
    RuleFiles* m_ruleFiles = nullptr;
    HardwareFiles* m_hardwareFiles = nullptr;
    RunPanel* m_runPanel = nullptr;
    CommandPalette* m_palette = nullptr; ///< made when it is asked for
    bool m_shown = false; ///< the workbench has been laid out
};

} // namespace shardboard
