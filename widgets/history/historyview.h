// SPDX-License-Identifier: Apache-2.0
// All edits by their names, from the design as opened to now; a click goes back or forward to any of them. They can be saved as
// a file and made again, in this design or another one.
#pragma once

#include <QWidget>

class QPushButton;
class QUndoView;

namespace shardboard {

class Document;

class HistoryView : public QWidget {
    Q_OBJECT
public:
    explicit HistoryView(Document* document, QWidget* parent = nullptr);
    /// A list that nobody sees follows nothing.
    void setSeen(bool seen);

Q_SIGNALS:
    void saveWanted();
    void replayWanted();

private:
    void update();

    Document* m_document;
    QPushButton* m_save;
    QPushButton* m_replay;
    QUndoView* m_list; ///< made after the buttons above it: Tab comes to it after them
};

} // namespace shardboard
