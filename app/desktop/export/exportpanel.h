// SPDX-License-Identifier: Apache-2.0
// The export form of the open design, kept up with it while somebody looks: what an export would write now, and what stands in the
// way.
#pragma once

#include "app/desktop/export/exportchanges.h"

#include <QString>
#include <QWidget>

#include <functional>
#include <memory>
#include <vector>

class QLabel;
class QTimer;

namespace shardboard {

class Document;
class ExportForm;
struct Evaluation;

class ExportPanel : public QWidget {
    Q_OBJECT
public:
    /// `folder` proposes where to write to.
    ExportPanel(Document* document, std::function<QString()> folder, QWidget* parent = nullptr);

    bool canExport() const;
    QString whyNot() const;
    /// Says what is to be written, if it can be.
    void requestExport();
    /// Of a form that has been filled, compared with the folder once more.
    void renew();

Q_SIGNALS:
    void changed();
    void exportWanted(std::shared_ptr<const std::vector<shardboard::ExportedFile>> files, const QString& folder);
    void weightWanted(const QString& name);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void follow();

    Document* m_document;
    std::function<QString()> m_folder;
    QLabel* m_empty;
    QTimer* m_timer; ///< a burst of edits makes the files once
    ExportForm* m_form = nullptr;
    std::shared_ptr<const Evaluation> m_formOf;
    QString m_typed; ///< the folder that a person chose
};

} // namespace shardboard
