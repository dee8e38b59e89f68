// SPDX-License-Identifier: Apache-2.0
// Help: one page for each view and task, from the Markdown files in resources/help, beside a list of them. Does not block.
#pragma once

#include <QDialog>
#include <QString>
#include <QStringList>

class QListWidget;
class QTextBrowser;

namespace shardboard {

class Actions;

class HelpWindow : public QDialog {
    Q_OBJECT
public:
    explicit HelpWindow(const Actions& actions, QWidget* parent = nullptr);

    /// All pages, in the order of the list; a page's file is `:/help/ID.md`.
    static const QStringList& pages();
    /// The heading of a page.
    static QString titleOf(const QString& page);
    /// The page of the view that a widget is in: of its panel. `index` for anything else.
    static QString pageOf(const QWidget* widget);

    void showPage(const QString& page);
    QString page() const { return m_page; }

private:
    void addPage(const QString& page, const QString& title);
    void follow(const QString& page);
    QString shortcuts() const;

    const Actions& m_actions;
    QString m_page;
    QListWidget* m_list = nullptr;
    QTextBrowser* m_text = nullptr;
};

} // namespace shardboard
