// SPDX-License-Identifier: Apache-2.0
// The logical axis rules of the design: an ordered list that is edited in place, and beside it why the selected weight is
// cut as it is. Each edit is one undo step and is evaluated at once.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/edits/ruleedits.h"

class QAction;
class QLabel;
class QLineEdit;
class QMenu;
class QSplitter;
class QStackedWidget;
class QToolButton;
class QTreeView;

namespace shardboard {

class RuleModel;
class RulesOffer;
class RuleTraceView;

class RulesView : public DocumentView {
    Q_OBJECT
public:
    explicit RulesView(Document* document, QWidget* parent = nullptr);
    ~RulesView() override;
    QSize sizeHint() const override;

    /// Rule sets to take, files to open and save; for a button here and for the menu bar.
    QMenu* menu() const { return m_menu; }
    QTreeView* list() const { return m_list; }
    QString message() const; ///< why the last edit was refused, or what the current rule does

    /// Replaces the rules of the design by those of a built-in rule set or of a YAML file; the mesh stays, and where theirs
    /// is another one it is offered. Nothing changes when there is an error.
    Status takePreset(const std::string& name);
    Status openFile(const QString& path);
    /// The rules and the names of the mesh axes as a YAML file in MaxText's form.
    Status saveFile(const QString& path) const;

    void focusFilter();
    /// Selects the rules for a logical name.
    void showRules(const QString& name);

Q_SIGNALS:
    void openRequested(); ///< ask for a file and call openFile()
    void saveRequested();
    void taken(); ///< a rule set replaced the rules
    void failed(const QString& why); ///< something asked for from a menu was not done

protected:
    bool isFollowed() const override { return true; } // its actions are in menus
    void refresh() override;
    void selectionChanged() override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void buildList();
    void buildActions();
    void buildMenu();
    void buildLayout();
    QWidget* emptyPage();
    Status take(const RuleSetup& setup, const std::string& source);
    void offerMesh(const RuleSetup& setup, const std::string& source);
    void useMesh(const QString& text);
    bool apply(const RuleEdit& edit);
    void addRule();
    void editCurrent(int column);
    void showState();
    void fitColumns();
    void elideSummary();
    void showMessage(const QString& text, bool error);
    void applyFilter();
    std::vector<int> selectedRows() const;
    void selectRows(const std::vector<int>& rows);

    RuleModel* m_model;
    QMenu* m_menu;
    QTreeView* m_list;
    RuleTraceView* m_trace;
    QLineEdit* m_filter;
    QToolButton* m_ofWeight;
    QToolButton* m_add;
    QToolButton* m_sets;
    QLabel* m_summary;
    QLabel* m_message;
    RulesOffer* m_offer;
    QSplitter* m_split;
    QStackedWidget* m_pages;
    QLabel* m_emptyText = nullptr;
    QAction* m_save = nullptr;
    QAction* m_clear = nullptr;
    QString m_summaryText;
    std::string m_hiddenSeen; ///< rules for which it was said that strategies hide them all
};

} // namespace shardboard
