// SPDX-License-Identifier: Apache-2.0
// What is run and what came of it: a form that stands in a panel of its own; what the run will need, progress, and the measured
// times beside the predicted ones.
#pragma once

#include "app/desktop/run/enginesession.h"
#include "model/design/design.h"
#include "widgets/tables/columnfit.h"

#include <QPointer>
#include <QScrollArea>
#include <QWidget>

#include <deque>
#include <memory>
#include <vector>

class QCheckBox;
class QProgressBar;
class QPushButton;
class QSpinBox;
class QTableView;
class QTimer;

namespace shardboard {

class ChoiceBox;
class Document;
class RunModel;
class WrappedLabel;

class RunPanel : public QWidget {
    Q_OBJECT
public:
    RunPanel(Document* document, EngineSession* session, QWidget* parent = nullptr);

    /// The fields of what is to be run, to be put where the mode asks.
    QWidget* form() const;
    RunOptions options() const;
    QSize minimumSizeHint() const override; ///< with the words as low as they may get, however high they are now
    void setOptions(const RunOptions& options);
    void run();
    /// The same design and options once more, after what runs now; the design as it is at this moment.
    void runLater();
    /// What runs and what waits.
    void cancel();
    bool canRun() const;

    /// A run that was asked for.
    struct Asked {
        std::shared_ptr<const Evaluation> evaluation;
        Design design;
        QString file; ///< name of the design's file; may be empty
        RunOptions options;
    };
    /// The last one that was started.
    const Asked& asked() const { return m_asked; }
    int waiting() const { return static_cast<int>(m_queue.size()); }
    /// The table and the words of a run that was kept.
    void showResult(const RunResult& result, std::shared_ptr<const Evaluation> evaluation, const QString& hardware);

    /// What runs the plan: one of kBackendNames.
    QString backend() const;
    void chooseBackend(const QString& name);
    /// The results shown are of a layout that was edited since.
    bool isStale() const;

protected:
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void build();
    void selectRow(int row);
    void updateState();
    void updateVerdict();
    void updateSilence();
    void look(bool seen);
    void askBackends();
    void measureTable();
    void fitTable();
    void fitWords();
    int leastWords() const; ///< pixels: two lines
    void fillBackends();
    void explainBackend();
    void fitText();
    void fitForm();
    void showProblem(const QString& text, const QString& log = {});
    Asked askedNow() const;
    void start(Asked asked);
    void startNext();
    void onProgress(qint64 step, qint64 of, const QString& what);
    void showProgress();

    Document* m_document;
    EngineSession* m_session;
    RunModel* m_model;
    QPointer<QScrollArea> m_form; ///< what is asked; it stands in a panel of its own
    Asked m_asked;
    std::deque<Asked> m_queue;
    std::shared_ptr<const Evaluation> m_resultOf; ///< what the results shown were measured on

    QSpinBox* m_layers = nullptr;
    QSpinBox* m_steps = nullptr;
    QCheckBox* m_verify = nullptr;
    QCheckBox* m_ends = nullptr;
    QPushButton* m_restart = nullptr;
    ChoiceBox* m_backend = nullptr;
    QPushButton* m_later = nullptr; ///< while something runs
    QPushButton* m_useCpu = nullptr; ///< offered where the chosen backend cannot be used
    QString m_wanted { QStringLiteral("cpu") };
    WrappedLabel* m_needs = nullptr; ///< memory and time that the run announced
    QProgressBar* m_progress = nullptr;
    WrappedLabel* m_problem = nullptr;
    WrappedLabel* m_verdict = nullptr;
    QTableView* m_table = nullptr;
    QScrollArea* m_words = nullptr; ///< problem, verdict and what is needed
    std::vector<ColumnWish> m_wishes; ///< of the table's columns
    QTimer* m_shows = nullptr; ///< runs while a step that was told waits to be shown
    struct Progress {
        qint64 step = 0;
        qint64 of = 0;
        QString what;
    } m_told;
    bool m_seen = false;
    bool m_fresh = true; ///< nothing was run yet
};

} // namespace shardboard
