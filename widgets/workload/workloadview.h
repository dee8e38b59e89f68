// SPDX-License-Identifier: Apache-2.0
// The panel of all that a design says besides its layouts, in sections that fold: a field for each setting, and while one is edited
// what the edit would do to the step and to the memory of a device. A field makes one step of the history and touches nothing but
// what it is the field of.
#pragma once

#include "widgets/document/documentview.h"
#include "widgets/settings/settings.h"
#include "widgets/workload/effect.h"

#include <QStringList>

#include <vector>

class QLabel;
class QPushButton;
class QScrollArea;
class QVBoxLayout;

namespace shardboard {

class Card;
class LatestJob;
class SettingRow;
class SettingSection;
class ViewHeader;

class WorkloadView : public DocumentView {
    Q_OBJECT
    /// Ids of the sections that are unfolded; a workbench keeps them for each of its modes.
    Q_PROPERTY(QStringList unfolded READ unfolded WRITE setUnfolded)
public:
    explicit WorkloadView(Document* document, QWidget* parent = nullptr);
    QSize sizeHint() const override;

    QStringList unfolded() const;
    void setUnfolded(const QStringList& sections);
    /// Puts the focus on the field of a setting (`workload.batch`), whose section is unfolded for it, or on the first one that can
    /// be edited. False for an unknown one.
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
    void makeSections(const std::vector<SettingGroup>& groups);
    void connectRow(SettingRow* row);
    std::vector<SettingRow*> rows() const;
    bool has(const SettingRow* row) const;
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
    Card* m_preset = nullptr; ///< offers the preset's layout for the present workload
    QPushButton* m_usual = nullptr; ///< the usual memory settings
    QPushButton* m_hardware = nullptr;
    std::vector<SettingSection*> m_sections;
    QStringList m_unfolded;
    LatestJob* m_trying; ///< what a field's text would do
    LatestJob* m_listing; ///< what each option of a list would do
    LatestJob* m_relaying; ///< what the preset would do otherwise
    std::shared_ptr<const Evaluation> m_askedOf; ///< that the preset was asked for
};

} // namespace shardboard
