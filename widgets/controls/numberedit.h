// SPDX-License-Identifier: Apache-2.0
// A field for a whole number of elements. It takes any text and says by its border when that is no number that can be
// used.
#pragma once

#include <QLineEdit>

#include <cstdint>

namespace shardboard {

class NumberEdit : public QLineEdit {
    Q_OBJECT
public:
    explicit NumberEdit(QWidget* parent = nullptr);

    /// Whether no text at all is fine too.
    void setOptional(bool optional);
    /// The number, or 0 for a text that is none.
    std::int64_t value() const;
    /// Shows a number without a signal; the text stays when it says that number already.
    void setValue(std::int64_t value);
    QSize sizeHint() const override;

private:
    void showValidity();

    bool m_optional = false;
};

/// Shows a field of the theme as refused or not.
void setRefused(QLineEdit* edit, bool refused);

} // namespace shardboard
