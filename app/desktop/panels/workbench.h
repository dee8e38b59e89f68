// SPDX-License-Identifier: Apache-2.0
// The frame of the window below its bar: Weights at the left, the inspector's column at the right, and between them what the mode
// has. It knows all panels by name, changes modes, gives way in small windows, and remembers how it was left. Columns that all
// modes have keep their widths from mode to mode; all else each mode remembers for itself.
#pragma once

#include "widgets/workbench/modebar.h"

#include <QByteArray>
#include <QJsonObject>
#include <QPointer>
#include <QWidget>

#include <functional>
#include <map>
#include <vector>

class QSplitter;
class QStackedWidget;

namespace shardboard {

class ModePage;
class Panel;
class PanelGroup;

class Workbench : public QWidget {
    Q_OBJECT
public:
    explicit Workbench(QWidget* parent = nullptr);

    /// A panel without a place yet.
    Panel* add(const QString& name, const QString& title, QWidget* content);
    /// Weights; what a mode asks stands above it.
    void setLeft(Panel* panel);
    /// What the mode asks, above Weights: a form or a list of targets. One panel a mode.
    void setAsked(WorkMode mode, Panel* panel);
    void addRight(Panel* panel);
    /// A tab of the right column that is there in one mode only, in front at first.
    void addRight(WorkMode mode, Panel* panel);
    /// It comes when it is asked for, and can be closed.
    void addOptionalRight(Panel* panel);
    /// Shown by `show` instead of in a place of the workbench: a drop-down list.
    void setElsewhere(Panel* panel, std::function<void(bool)> show);
    void addPage(ModePage* page);

    const std::vector<Panel*>& all() const { return m_panels; }
    Panel* find(const QString& name) const;
    /// Brings a panel to the front, with its mode, and opens it if it was closed.
    void raise(const QString& name);
    void close(Panel* panel);

    WorkMode mode() const { return m_mode; }
    ModePage* page() const { return page(m_mode); }
    ModePage* page(WorkMode mode) const { return m_pages.at(mode); }
    void setMode(WorkMode mode);

    /// Alone in the workbench; once more brings the others back.
    void toggleMaximized(Panel* panel);
    void restoreMaximized();
    Panel* maximized() const { return m_maximized; }
    void maximizeFocused();
    /// To the inspector; in a narrow window it is a drawer that comes and goes.
    void toggleInspector();
    bool hasDrawer() const { return m_drawer; }
    /// The focus to the next panel that is seen, or back.
    void focusNext(bool back);

    /// Everything as it is at first.
    void reset();
    QByteArray save() const;
    /// False, and everything as at first, for what another version wrote or what cannot be read.
    bool restore(const QByteArray& state);

Q_SIGNALS:
    void modeChanged(WorkMode mode);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void watch(PanelGroup* group);
    std::vector<PanelGroup*> groups() const;
    std::vector<QSplitter*> splittersOf(WorkMode mode) const;
    WorkMode modeOf(const Panel* panel) const;
    void fit();
    void foldGroups();
    void focusMode();
    static void focusPanel(Panel* panel);
    void placeAsked();
    void placeRight();
    QJsonObject unfoldedNow() const;
    void placeUnfolded();
    void sizeColumns();
    void sizePage();
    void placeDrawer();
    void openDrawer(bool open);

    std::vector<Panel*> m_panels;
    std::map<WorkMode, ModePage*> m_pages;
    std::map<WorkMode, PanelGroup*> m_asked;
    std::map<WorkMode, Panel*> m_rightOf; ///< tabs of the right column that one mode has
    QPointer<Panel> m_rightBefore; ///< in front of the right column in the modes without a tab of their own
    std::map<Panel*, std::function<void(bool)>> m_elsewhere;
    QSplitter* m_columns; ///< left, body
    QSplitter* m_leftSplit; ///< asked, weights
    QSplitter* m_body; ///< over all, and below it middle and right
    QSplitter* m_lower; ///< middle, right
    QStackedWidget* m_tops;
    QStackedWidget* m_centres;
    PanelGroup* m_weights;
    PanelGroup* m_right;
    std::vector<PanelGroup*> m_watched;
    WorkMode m_mode = WorkMode::Design;
    int m_leftWidth = 0; ///< as a person left it; 0: as at first
    int m_rightWidth = 0;
    std::map<WorkMode, QByteArray> m_leftSizes; ///< of asked and weights, where a person chose them
    std::map<WorkMode, int> m_topSizes;
    std::map<WorkMode, QJsonObject> m_unfolded; ///< sections of the panels that have some (their property `unfolded`), by panel
    QJsonObject m_unfoldedAtFirst;
    std::map<WorkMode, bool> m_arranged; ///< modes whose parts have their sizes
    QPointer<Panel> m_maximized;
    std::vector<QPointer<QWidget>> m_putAway; ///< hidden for the panel that is maximized
    QPointer<QWidget> m_placed; ///< got the focus from a change of modes, not from a person
    bool m_sizeLater = false; ///< text has another size since
    std::map<WorkMode, QPointer<QWidget>> m_focused; ///< when the mode was left
    bool m_compact = false; ///< narrow
    bool m_low = false;
    bool m_drawer = false;
    bool m_drawerOpen = false;
    bool m_fitted = false;
};

} // namespace shardboard
