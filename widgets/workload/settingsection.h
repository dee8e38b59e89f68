// SPDX-License-Identifier: Apache-2.0
// A section of the settings that folds: folded, its heading tells what in it is not as usual. Its fields are made when it is first
// unfolded.
#pragma once

#include "widgets/settings/setting.h"

#include <QWidget>

#include <memory>

class QToolButton;
class QVBoxLayout;

namespace shardboard {

class SettingRow;
class WrappedLabel;

class SettingSection : public QWidget {
    Q_OBJECT
public:
    SettingSection(SettingGroup group, QWidget* parent);

    const SettingGroup& group() const { return m_group; }
    /// The fields that there are: none before it was unfolded.
    const std::vector<SettingRow*>& rows() const { return m_rows; }
    /// The field of a setting, for which it is unfolded.
    SettingRow* reveal(const QString& id);

    bool isOpen() const { return m_open; }
    void setOpen(bool open);
    /// Of this design, whose fields may be others than before: what is typed into one that stays is kept, and so is the focus.
    void showDesign(SettingGroup group, const std::shared_ptr<const Design>& design);
    /// Below the fields.
    void setFooter(QWidget* footer);
    void updateLook();

Q_SIGNALS:
    void rowMade(SettingRow* row);
    void folded(bool open); ///< by a person

private:
    void makeRows();
    void showHeading();

    SettingGroup m_group;
    std::shared_ptr<const Design> m_design;
    std::vector<SettingRow*> m_rows;
    QToolButton* m_heading;
    WrappedLabel* m_summary;
    QWidget* m_body;
    QVBoxLayout* m_column;
    bool m_open = false;
};

} // namespace shardboard
