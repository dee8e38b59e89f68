// SPDX-License-Identifier: Apache-2.0
// The open document: a design, its evaluation, the undo stack and the selection. Views read the evaluation and send
// edits here; every edit is one undo step and re-runs the flow at once. Lives on the GUI thread, knows no widget.
#pragma once

#include "model/core/result.h"
#include "model/design/design.h"
#include "model/design/evaluation.h"
#include "model/notation/notation.h"
#include "model/session/fileidentity.h"
#include "model/session/keptevaluations.h"

#include <QObject>
#include <QString>

#include <memory>

class QUndoStack;

namespace shardboard {

class Selection;

class Document : public QObject {
    Q_OBJECT
public:
    explicit Document(QObject* parent = nullptr);
    ~Document() override;

    bool hasDesign() const { return m_evaluation != nullptr; }
    const Design& design() const { return m_design; }
    /// Never null once there is a design; replaced (not changed) by every edit, so that workers may keep the old one.
    std::shared_ptr<const Evaluation> evaluation() const { return m_evaluation; }
    double evaluationSeconds() const { return m_evaluationSeconds; } ///< how long the last evaluation took
    QUndoStack* undoStack() const { return m_undoStack; }
    /// How many bytes of evaluations the undo stack keeps, beside the one that is shown; 512 MiB unless set.
    void setUndoMemory(std::int64_t bytes) { m_kept.setBudget(bytes); }
    Selection* selection() const { return m_selection; }

    /// In which notation views write layouts. The reader's choice: no part of the design and no step of its history.
    Notation notation() const { return m_notation; }
    void setNotation(Notation notation);

    QString filePath() const { return m_filePath; } ///< absolute; empty for a design that was never saved
    /// What lay there when the design was last read from it or written to it.
    const FileIdentity& file() const { return m_file; }
    bool isModified() const;

    /// Replaces the document (no undo). The old one stays when there is an error. Entries and rules that cannot be applied to
    /// a weight are no error: it is replicated, and a finding says so.
    Status setDesign(const Design& design);
    /// The same for changes that were never saved to `file`, which they were made to (no path: to none): modified from the start.
    Status setUnsaved(const Design& design, const FileIdentity& file);
    Status open(const QString& path);
    Status save(const QString& path);

    /// What an edit would lead to, without making it: the error a view shows before the mouse is released.
    Status check(const Design& edited) const;
    /// Makes an edit as one undo step called `text` (`Cut o_proj dim 1 over model`). Nothing changes when it is refused: also
    /// where an entry or rule would come to say of a weight what cannot be applied; what was so before may stay.
    /// With Misfits::Replicate such an entry or rule becomes a finding instead, as in a design that is opened.
    Status edit(const Design& edited, const QString& text, Misfits misfits = Misfits::Refuse);
    /// The design with `strategy` for all tensors that `match` names, as a new last entry; an entry with the same
    /// pattern is replaced instead, so that edits do not pile up.
    Design withStrategy(const std::string& match, const Strategy& strategy) const;
    /// The same for any design, so that an edit of several weights can be one step.
    static Design withStrategy(Design design, const std::string& match, const Strategy& strategy);
    /// The strategy in which mesh axis `axis` is added to (or, with dim -1, taken off) a tensor dim of a weight, as
    /// dragging does it; an axis moves if it cuts another dim.
    Strategy withAxisOnDim(int weight, int axis, int dim) const;
    /// The pattern that names one weight in all its layers: `model.layers.*.mlp.up_proj.weight`.
    std::string patternOf(int weight) const;

Q_SIGNALS:
    void evaluated(); ///< design and evaluation were replaced
    void opened(); ///< another design is there
    void saved();
    void filePathChanged();
    void modifiedChanged(bool modified);
    void notationChanged();

private:
    friend class EditCommand;
    Result<std::shared_ptr<const Evaluation>> evaluateEdit(const Design& edited, Misfits misfits) const;
    Status replace(const Design& design, const QString& filePath, const FileIdentity& file);
    void adopt(const Design& design, std::shared_ptr<const Evaluation> evaluation);

    Design m_design;
    std::shared_ptr<const Evaluation> m_evaluation;
    KeptEvaluations m_kept;
    double m_evaluationSeconds = 0;
    QString m_filePath;
    FileIdentity m_file;
    Notation m_notation = Notation::Jax;
    QUndoStack* m_undoStack = nullptr;
    Selection* m_selection = nullptr;
};

} // namespace shardboard
