// SPDX-License-Identifier: Apache-2.0
// The panel of all that a design says besides its layouts: a field for each setting, and while one is edited what the edit would do
// to the step and to the memory of a device. A field makes one step of the history and touches nothing but what it is the field of.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/workload/effect.h"
#include "widgets/workload/settings.h"

#include <optional>
#include <vector>

class QLabel;
class QPushButton;
class QScrollArea;
class QVBoxLayout;

namespace shardboard {

class Card;
class LatestJob;
class SettingRow;
class ViewHeader;

class WorkloadView : public DocumentView {
    Q_OBJECT
public:
    explicit WorkloadView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;

    /// Puts the focus on the field of a setting (`workload.batch`), or on the first one that can be edited. False for an unknown
    /// one.
    bool focusSetting(const QString& id = {});
    /// Makes an edit of one setting, as its field would. Returns why it was refused, or an empty text.
    static QString applySetting(Document& document, const Setting& setting, const QString& text);
    /// Makes the edits that fields wait with, before the design is saved or closed. Returns why one was refused, with its name.
    QString applyWaiting();

Q_SIGNALS:
    void hardwareRequested(); ///< the values of the hardware are edited elsewhere

protected:
    void refresh() override;
    void themeChanged() override;
    void showEvent(QShowEvent* event) override;

private:
    void build();
    void makeRows(std::vector<SettingGroup> groups);
    bool showsSame(const std::vector<SettingGroup>& groups) const;
    void tryEdit(SettingRow* row);
    QString apply(SettingRow* row, const QString& text);
    void tryOptions(SettingRow* row);
    void showTotals();
    void askPreset();
    void askPresetFor(const Design& refused, const QString& text);
    void showPreset(const QString& title, const QString& text, const SettingEffect& effect, const Design& design);

    ViewHeader* m_header;
    QLabel* m_totals;
    QLabel* m_empty;
    QScrollArea* m_scroll;
    QVBoxLayout* m_column;
    QWidget* m_fields = nullptr;
    Card* m_preset = nullptr; ///< offers the preset's layout for the present workload
    QPushButton* m_usual = nullptr; ///< the usual memory settings
    QPushButton* m_hardware = nullptr;
    std::vector<SettingGroup> m_groups;
    std::vector<SettingRow*> m_rows;
    std::vector<QLabel*> m_titles;
    LatestJob* m_trying; ///< what a field's text would do
    LatestJob* m_listing; ///< what each option of a list would do
    LatestJob* m_relaying; ///< what the preset would do otherwise
    std::shared_ptr<const Evaluation> m_askedOf; ///< that the preset was asked for
};

} // namespace shardboard
