// SPDX-License-Identifier: Apache-2.0
// A strip above the rules that says what came with a rule set: warnings of the file, and the mesh that it is written for,
// which can be taken over in place. Nothing waits for an answer.
#pragma once

#include <QStringList>
#include <QWidget>

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace shardboard {

class RulesOffer : public QWidget {
    Q_OBJECT
public:
    explicit RulesOffer(QWidget* parent = nullptr);

    /// `text` in words; `mesh` to take over, empty when there is none to offer; `warnings` one line each.
    void offer(const QString& text, const QString& mesh, const QStringList& warnings);
    /// The mesh that was asked for cannot be used.
    void refuse(const QString& why);
    /// One sentence and one button.
    void ask(const QString& text, const QString& button);

Q_SIGNALS:
    void meshWanted(const QString& mesh);
    void agreed(); ///< to what was asked
    void closed();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QLabel* m_text;
    QWidget* m_meshRow;
    QLineEdit* m_mesh;
    QPushButton* m_agree;
    QLabel* m_problem;
    QPlainTextEdit* m_warnings;
};

} // namespace shardboard
