// SPDX-License-Identifier: Apache-2.0
// The chosen target at the right of Deliver: who has made the same shards, here and in the project's own tests; the button that has
// them made here; the lines that a script needs; and why the selected weight cannot be said.
#pragma once

#include <QString>
#include <QWidget>

class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QVBoxLayout;

namespace shardboard {

class Card;
class Document;
class Prover;
class Settings;
class TargetStates;
class WrappedLabel;

class ProofPanel : public QWidget {
    Q_OBJECT
public:
    ProofPanel(Document* document, TargetStates* states, Prover* prover, Settings& settings, QWidget* parent = nullptr);

    /// Whether the design can be proven for the target now; else why not.
    bool canProve() const { return whyNot().isEmpty(); }
    QString whyNot() const;
    void prove();

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void build();
    QLabel* heading(const QString& text, QVBoxLayout* column, QWidget* right = nullptr);
    void showTarget();
    void showState();
    void showProof();
    void showRepair();

    Document* m_document;
    TargetStates* m_states;
    Prover* m_prover;
    Settings& m_settings;
    QLabel* m_title;
    QLabel* m_place; ///< `target 2 of 12`
    WrappedLabel* m_summary;
    QLabel* m_verdict; ///< `291 of 291`
    WrappedLabel* m_detail;
    QPushButton* m_prove;
    QPushButton* m_cancel;
    QProgressBar* m_progress;
    WrappedLabel* m_said; ///< what the check printed last
    QLineEdit* m_python;
    WrappedLabel* m_elsewhere;
    WrappedLabel* m_project;
    QWidget* m_use; ///< the lines and their heading
    WrappedLabel* m_lines;
    QPushButton* m_copy;
    QLabel* m_whyTitle = nullptr;
    Card* m_why;
    QString m_shown; ///< id of the target that the fields are of
};

} // namespace shardboard
