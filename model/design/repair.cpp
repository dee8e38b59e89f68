// SPDX-License-Identifier: Apache-2.0
#include "model/design/repair.h"

#include "model/text/glob.h"

#include <algorithm>
#include <optional>

namespace shardboard {

namespace {

/// A list in which items are replaced, removed and put in by the indices they had at first.
template <class Item>
class IndexedEdits {
public:
    explicit IndexedEdits(const std::vector<Item>& items)
        : m_items(items)
        , m_slots(items.size() + 1)
    {
    }

    void replace(int index, const Item& item)
    {
        if (Slot* slot = at(index, m_items.size()))
            slot->now = item;
    }
    void remove(int index)
    {
        if (Slot* slot = at(index, m_items.size()))
            slot->removed = true;
    }
    void insert(int index, const Item& item)
    {
        if (Slot* slot = at(index, m_slots.size()))
            slot->before.push_back(item);
    }

    std::vector<Item> result() const
    {
        std::vector<Item> out;
        for (std::size_t i = 0; i < m_slots.size(); ++i) {
            const Slot& slot = m_slots[i];
            out.insert(out.end(), slot.before.begin(), slot.before.end());
            if (i < m_items.size() && !slot.removed)
                out.push_back(slot.now.value_or(m_items[i]));
        }
        return out;
    }

private:
    struct Slot {
        std::vector<Item> before;
        std::optional<Item> now;
        bool removed = false;
    };

    Slot* at(int index, std::size_t end)
    {
        if (index < 0 || static_cast<std::size_t>(index) >= end)
            return nullptr;
        return &m_slots[static_cast<std::size_t>(index)];
    }

    const std::vector<Item>& m_items;
    std::vector<Slot> m_slots;
};

template <class... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

} // namespace

Design withStrategy(Design design, const StrategyEntry& entry)
{
    auto& entries = design.strategies;
    const auto same = std::find_if(entries.rbegin(), entries.rend(), [&](const auto& e) { return e.match == entry.match; });
    if (same == entries.rend()) {
        entries.push_back(entry);
        return design;
    }
    // In its place, so that exceptions behind it stay; but not where a wider pattern behind it would hide it.
    const bool hidden = std::any_of(entries.rbegin(), same, [&](const auto& e) { return globMatch(e.match, entry.match); });
    if (!hidden) {
        *same = entry;
        return design;
    }
    entries.erase(std::next(same).base());
    entries.push_back(entry);
    return design;
}

Design withPin(Design design, const Pin& pin)
{
    std::erase_if(design.pins, [&](const Pin& old) {
        if (!old.source.empty() || old.match != pin.match || old.row.empty() != pin.row.empty() || old.axis != pin.axis)
            return false;
        return std::ranges::all_of(old.dims,
                                   [&](const Pin::Dim& dim) {
                                       return std::ranges::any_of(pin.dims,
                                                                  [&](const Pin::Dim& other) { return other.label == dim.label; });
                                   })
            && (old.whole.empty() || !pin.whole.empty());
    });
    design.pins.push_back(pin);
    return design;
}

Design repaired(Design design, const Repair& repair)
{
    for (const DesignChange& change : repair.changes)
        if (const auto* whole = std::get_if<ReplaceDesign>(&change); whole != nullptr && whole->design)
            return *whole->design;
    IndexedEdits strategies(design.strategies);
    IndexedEdits rules(design.rules.rules);
    IndexedEdits pins(design.pins);
    for (const DesignChange& change : repair.changes)
        std::visit(Overloaded { [](const SetStrategy&) {}, [&](const ReplaceStrategy& c) { strategies.replace(c.index, c.entry); },
                                [&](const RemoveStrategy& c) { strategies.remove(c.index); },
                                [&](const ReplaceRule& c) { rules.replace(c.index, c.rule); },
                                [&](const InsertRule& c) { rules.insert(c.index, c.rule); },
                                [&](const RemoveRule& c) { rules.remove(c.index); }, [](const SetPin&) {},
                                [](const ReplaceDesign&) {}, [&](const ReplacePin& c) { pins.replace(c.index, c.pin); },
                                [&](const RemovePin& c) { pins.remove(c.index); } },
                   change);
    auto entries = strategies.result();
    auto list = rules.result();
    auto kept = pins.result();
    design.strategies = std::move(entries);
    design.rules.rules = std::move(list);
    design.pins = std::move(kept);
    for (const DesignChange& change : repair.changes)
        if (const auto* set = std::get_if<SetStrategy>(&change))
            design = withStrategy(std::move(design), set->entry);
        else if (const auto* pin = std::get_if<SetPin>(&change))
            design = withPin(std::move(design), pin->pin);
    return design;
}

} // namespace shardboard
