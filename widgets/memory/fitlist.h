// SPDX-License-Identifier: Apache-2.0
// What would make the design fit into memory: each answer with its peak and its price, and a button that takes it as an edit.
#pragma once

#include "widgets/document/documentview.h"

class QLabel;
class QProgressBar;
class QPushButton;
class QVBoxLayout;

namespace shardboard {

class FitAdvisor;
struct FitOption;

class FitList : public DocumentView {
    Q_OBJECT
public:
    explicit FitList(Document* document, QWidget* parent = nullptr);
    FitAdvisor* advisor() const { return m_advisor; }

Q_SIGNALS:
    void refused(const QString& message);

protected:
    void refresh() override;
    void showEvent(QShowEvent* event) override;

private:
    void look();
    void showAnswer();
    void showProgress();
    void addOption(const FitOption& option);
    void clearRows();

    FitAdvisor* m_advisor;
    QLabel* m_title;
    QProgressBar* m_progress;
    QPushButton* m_cancel;
    QWidget* m_rows;
    QVBoxLayout* m_column;
    bool m_stale = false; ///< the design is another one than the advice was for
};

} // namespace shardboard
