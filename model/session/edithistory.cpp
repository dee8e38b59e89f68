// SPDX-License-Identifier: Apache-2.0
#include "model/session/edithistory.h"

#include "model/design/repair.h"
#include "model/io/design/designfile.h"
#include "model/io/json/jsonfields.h"
#include "model/io/json/jsontext.h"
#include "model/session/document.h"
#include "model/session/editcommand.h"
#include "model/text/visibletext.h"

#include <QUndoStack>

#include <algorithm>
#include <limits>
#include <map>

namespace shardboard {

namespace {

using nlohmann::json;

constexpr const char* kVersionKey = "shardboard_edits";
constexpr std::size_t kLongestEdit = 1000; ///< bytes of a name
constexpr JsonLimits kLimits { .values = 2'500'000 }; ///< as a design has

/// From one design to another; what is replaced or removed is tested first.
json patchBetween(const Design& before, const Design& after)
{
    const json from = json::parse(designText(before));
    const json changes = json::diff(from, json::parse(designText(after)));
    json tested = json::array();
    json state = from; // places shift as the patch goes on
    for (const json& change : changes) {
        if (change["op"] != "add")
            tested.push_back({ { "op", "test" },
                               { "path", change["path"] },
                               { "value", state.at(json::json_pointer(change["path"].get<std::string>())) } });
        tested.push_back(change);
        state = state.patch(json::array({ change }));
    }
    return tested;
}

const json* valueAt(const json& state, const json::json_pointer& place)
{
    return state.contains(place) ? &state.at(place) : nullptr;
}

/// Whether all that a patch would put there is there, and nothing of what it would remove. What it appends to a list has to be that
/// list's end.
bool isMade(const json& state, const json& patch)
{
    std::map<std::string, std::vector<const json*>> appended; // by list
    for (const json& change : patch) {
        if (!change.is_object() || !change.contains("op") || !change.contains("path") || !change["path"].is_string())
            return false;
        const json& what = change["op"];
        if (what == "test")
            continue;
        const json::json_pointer place(change["path"].get<std::string>());
        if (what == "remove") {
            if (valueAt(state, place) != nullptr)
                return false;
        } else if ((what != "add" && what != "replace") || !change.contains("value")) {
            return false;
        } else if (!place.empty() && place.back() == "-") {
            appended[place.parent_pointer().to_string()].push_back(&change["value"]);
        } else if (const json* there = valueAt(state, place); there == nullptr || *there != change["value"]) {
            return false;
        }
    }
    return std::ranges::all_of(appended, [&](const auto& entry) {
        const auto& [path, values] = entry;
        const json* list = valueAt(state, json::json_pointer(path));
        return list != nullptr && list->is_array() && list->size() >= values.size()
            && std::equal(values.begin(), values.end(), list->end() - static_cast<json::difference_type>(values.size()),
                          [](const json* value, const json& there) { return *value == there; });
    });
}

/// What was put at the end of the strategies and pins goes where an edit by hand would put it: in the place of the one that it
/// replaces, if there is one.
Design placed(const Design& before, const Design& after)
{
    Design out = after;
    const auto appends = [](const auto& old, const auto& fresh) {
        return fresh.size() > old.size() && std::equal(old.begin(), old.end(), fresh.begin());
    };
    if (appends(before.strategies, after.strategies)) {
        out.strategies = before.strategies;
        for (std::size_t i = before.strategies.size(); i < after.strategies.size(); ++i)
            out = withStrategy(std::move(out), after.strategies[i]);
    }
    if (appends(before.pins, after.pins)) {
        out.pins = before.pins;
        for (std::size_t i = before.pins.size(); i < after.pins.size(); ++i)
            out = withPin(std::move(out), after.pins[i]);
    }
    return out;
}

/// Whether it changed anything.
Result<bool> replayOne(Document& document, const NamedEdit& edit)
{
    const std::string where = "“" + edit.name.toStdString() + "”";
    const auto patch = parseJson(edit.patch, where, kLimits);
    if (!patch.ok() || !patch.value().is_array())
        return inputError(where, "has no patch that can be read", "save the edits again");
    std::string edited;
    try {
        const json state = json::parse(designText(document.design()));
        if (isMade(state, patch.value()))
            return false;
        edited = state.patch(patch.value()).dump();
    } catch (const json::exception&) { // a test that fails, a place that is not there
        return inputError(where, "does not fit this design: what it changes is another here",
                          "make this edit by hand, then replay those after it");
    }
    const auto design = designFromText(edited, where);
    if (!design.ok())
        return design.error();
    const Design wanted = placed(document.design(), design.value());
    if (wanted == document.design())
        return false;
    const Status status = document.edit(wanted, edit.name, Misfits::Replicate);
    return status.ok() ? Result<bool>(true) : Result<bool>(status.error());
}

} // namespace

std::vector<NamedEdit> namedEdits(const QUndoStack& stack)
{
    std::vector<NamedEdit> out;
    for (int i = 0; i < stack.index(); ++i)
        if (const auto* edit = dynamic_cast<const EditCommand*>(stack.command(i)))
            out.push_back({ edit->text(), patchBetween(edit->before(), edit->after()).dump() });
    return out;
}

std::string editsText(const std::vector<NamedEdit>& edits)
{
    json list = json::array();
    for (const NamedEdit& edit : edits)
        list.push_back({ { "edit", edit.name.toStdString() }, { "patch", json::parse(edit.patch, nullptr, false) } });
    return json { { kVersionKey, kEditsVersion }, { "edits", std::move(list) } }.dump(1, ' ', false, json::error_handler_t::replace)
        + "\n";
}

Result<std::vector<NamedEdit>> editsFromText(const std::string& text, const std::string& where)
{
    const auto document = parseJson(text, where, kLimits);
    if (!document.ok())
        return document.error();
    auto from = JsonFields::message(document.value(), where);
    if (!from.holds(kVersionKey))
        from.fail({}, "holds no edits", "choose a file that “Save Edits” of the history wrote");
    else if (from.integer(kVersionKey, 1, std::numeric_limits<int>::max()) > kEditsVersion)
        from.fail({}, "was written by a newer version", "use that version, or make the edits by hand");
    std::vector<NamedEdit> out;
    from.objects("edits", [&](JsonFields& edit) {
        const std::string name = visibleText(shortened(edit.text("edit"), kLongestEdit));
        if (const json* patch = edit.need("patch"); patch != nullptr && !edit.error())
            out.push_back({ QString::fromStdString(name), patch->dump() });
    });
    return from.error() ? Result<std::vector<NamedEdit>>(*from.error()) : out;
}

Replay replay(Document& document, const std::vector<NamedEdit>& edits)
{
    Replay out;
    if (!document.hasDesign())
        out.status = inputError({}, "no design is open to make the edits in", "open one first");
    for (const NamedEdit& edit : edits) {
        if (!out.status.ok())
            break;
        const auto changed = replayOne(document, edit);
        if (!changed.ok())
            out.status = changed.error();
        else
            ++(changed.value() ? out.made : out.there);
    }
    return out;
}

} // namespace shardboard
