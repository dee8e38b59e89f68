// SPDX-License-Identifier: Apache-2.0
// The runs that are kept, two lines each: when (or its name) and how long a step took, what it ran on and whether its numbers were
// right. One of another design than the open one says so. A run that is chosen is shown; two can be compared.
#pragma once

#include "widgets/document/documentview.h"

#include <functional>

class QLabel;
class QMenu;
class QToolButton;

namespace shardboard {

class RunList;
class RunShelf;
struct ShelvedRun;
class ViewHeader;

class RunsView : public DocumentView {
    Q_OBJECT
public:
    RunsView(Document* document, RunShelf* shelf, QWidget* parent = nullptr);
    QSize sizeHint() const override;

    RunList* list() const { return m_list; }
    QStringList selected() const; ///< names, from top to bottom
    /// The one whose lanes are shown; empty: none.
    void setShown(const QString& name);
    /// What stands at the end of its menu.
    void setMoreActions(std::function<void(QMenu*)> fill) { m_more = std::move(fill); }

Q_SIGNALS:
    void openWanted(const QString& name);
    void compareWanted(const QString& a, const QString& b);
    void designWanted(const QString& name); ///< to be opened
    void deleteWanted(const QStringList& names);
    void refused(const QString& message);

protected:
    void refresh() override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void fillMenu(QMenu* menu);
    void follow();
    void compare();
    void askToDelete();
    QString stateOf(const ShelvedRun& run, const Design* open) const;
    QString tipOf(const ShelvedRun& run) const;

    RunShelf* m_shelf;
    ViewHeader* m_header;
    QToolButton* m_compare;
    QToolButton* m_menu;
    RunList* m_list;
    QLabel* m_empty;
    QString m_shown;
    std::function<void(QMenu*)> m_more;
    bool m_filling = false;
};

} // namespace shardboard
