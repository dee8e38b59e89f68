// SPDX-License-Identifier: Apache-2.0
// A list of everything that can be done or looked at, found by typing a part of its name, run by Enter: commands with their
// shortcuts, weights, operations, devices. Knows nothing of what its entries do; used by keys alone or with the mouse.
#pragma once

#include <QAbstractListModel>
#include <QFrame>
#include <QPointer>
#include <QString>

#include <functional>
#include <vector>

class QLabel;
class QLineEdit;
class QListView;

namespace shardboard {

struct PaletteEntry {
    QString text; ///< what is searched, and read first
    QString detail; ///< where it belongs: `Design › Preset`, `weight`
    QString key; ///< shortcut or size, at the right
    QString toolTip {};
    QString refusal {}; ///< why it cannot be chosen now; such entries are shown, quiet, and do nothing
    std::function<void()> run {};
};

/// How well a text meets what was typed: 0 is not at all. Every word has to occur; at the beginning of the text or of a word it
/// counts more, shorter texts count more, and letters in order but apart (`optmem`) count least. Pure.
int paletteScore(const QString& text, const QString& typed);

class PaletteModel : public QAbstractListModel {
    Q_OBJECT
public:
    enum Role { DetailRole = Qt::UserRole + 1, KeyRole, RefusalRole };
    explicit PaletteModel(QObject* parent = nullptr);
    /// Those that meet what was typed, best first; of equals in the order given. With nothing typed all, as given.
    void show(const std::vector<PaletteEntry>& entries, const QString& typed);
    const PaletteEntry* entry(int row) const;
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

private:
    std::vector<PaletteEntry> m_shown;
};

class CommandPalette : public QFrame {
    Q_OBJECT
public:
    /// Lies over the upper part of `window`. `entries` is asked whenever it opens, `named` with every text that is typed, for what
    /// is too much to list (16,384 devices).
    using Source = std::function<std::vector<PaletteEntry>()>;
    using NamedSource = std::function<std::vector<PaletteEntry>(const QString& typed)>;
    CommandPalette(Source entries, NamedSource named, QWidget* window);

    void open(const QString& typed = {});
    const PaletteModel& model() const { return *m_model; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void filter();
    void choose();
    void dismiss();
    void place();
    void moveCurrent(int by);
    void updateLook();

    Source m_entries;
    NamedSource m_named;
    std::vector<PaletteEntry> m_all;
    QLineEdit* m_field;
    QListView* m_list;
    QLabel* m_empty;
    PaletteModel* m_model;
    bool m_open = false;
    QPointer<QWidget> m_before; ///< had the focus
};

} // namespace shardboard
