// SPDX-License-Identifier: Apache-2.0
// The export form of the open design for the chosen target, kept up with both while somebody looks: what an export would write now,
// and what stands in the way; of a dim that the target cuts otherwise, how each framework cuts it.
#pragma once

#include "app/desktop/export/exportchanges.h"

#include <QHash>
#include <QString>
#include <QWidget>

#include <functional>
#include <memory>
#include <vector>

class QLabel;
class QTimer;

namespace shardboard {

class CutsView;
class Document;
class ExportForm;
class TargetStates;
struct Evaluation;

class ExportPanel : public QWidget {
    Q_OBJECT
public:
    /// `folder` proposes where to write the files of a target to.
    ExportPanel(Document* document, TargetStates* states, std::function<QString(const QString& target)> folder,
                QWidget* parent = nullptr);

    bool canExport() const;
    QString whyNot() const;
    /// Says what is to be written, if it can be.
    void requestExport();
    /// Of a form that has been filled, compared with the folder once more.
    void renew();

Q_SIGNALS:
    void changed();
    void exportWanted(const QString& target, std::shared_ptr<const std::vector<shardboard::ExportedFile>> files,
                      const QString& folder);
    void weightWanted(const QString& name);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void follow();
    void followSelection();

    Document* m_document;
    TargetStates* m_states;
    std::function<QString(const QString&)> m_folder;
    QLabel* m_empty;
    QTimer* m_timer; ///< a burst of edits makes the files once
    ExportForm* m_form = nullptr;
    std::shared_ptr<const Evaluation> m_formOf;
    QString m_formTarget;
    CutsView* m_cuts = nullptr; ///< how frameworks cut the selected weight, where that is what stands in the way
    QHash<QString, QString> m_typed; ///< folders that a person chose, by target
    bool m_againstLast = true;
};

} // namespace shardboard
