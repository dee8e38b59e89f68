// SPDX-License-Identifier: Apache-2.0
#include "model/io/names/nametables.h"

#include "model/io/json/jsonfields.h"
#include "model/io/json/jsontext.h"
#include "model/text/text.h"

#include <span>
#include <utility>

namespace shardboard {

/// Made from resources/names.
std::span<const std::pair<std::string_view, std::string_view>> nameTableTexts();

namespace {

void readLayers(JsonFields& from, NamedLayers& layers)
{
    const std::string text = from.text("layers", "all");
    const auto words = split(text, ' ');
    using Kind = NamedLayers::Kind;
    const std::int64_t number = words.size() == 2 ? parseInteger(words[1]).value_or(0) : 0;
    if (text == "all")
        layers.kind = Kind::All;
    else if (text == "dense")
        layers.kind = Kind::Dense;
    else if (text == "sparse")
        layers.kind = Kind::Sparse;
    else if ((words[0] == "cycles" || words[0] == "rest") && number > 0)
        layers = { words[0] == "cycles" ? Kind::Cycles : Kind::Rest, number, false };
    else
        from.fail("layers", "'" + text + "' says no layers", "use all, dense, sparse, `cycles N` or `rest N`");
    layers.ownNumbers = from.flag("own_numbers", false);
}

void readEntry(JsonFields& from, NameEntry& entry)
{
    entry.name = from.text("name");
    if (const nlohmann::json* sources = from.need("from"); sources != nullptr && sources->is_string())
        entry.sources = { from.text("from") };
    else
        entry.sources = from.texts("from");
    readLayers(from, entry.layers);
    entry.viewText = from.text("view", "");
    for (const std::string& name : from.texts("logical"))
        entry.logicalNames.push_back(name == "-" ? "" : name);
    if (!entry.viewText.empty()) {
        auto view = parseView(entry.viewText, from.place("view"));
        if (view.ok())
            entry.view = std::move(view).value();
        else
            from.adopt(view.error());
    }
    entry.order = from.text("order", "");
    entry.orderIn = from.text("order_in", "*");
    if (entry.sources.empty())
        from.fail("from", "a parameter has to have a source", "name a weight");
    bool joins = false;
    if (entry.view)
        for (const ViewFactor& factor : entry.view->factors)
            joins = joins || factor.joined;
    if (joins != (entry.sources.size() > 1))
        from.fail("view", "one factor is joined where there are several sources, else none", "mark it with +");
}

void readTable(JsonFields& from, NameTable& table)
{
    if (from.holds("parameters"))
        from.objects("parameters", [&](JsonFields& item) {
            table.entries.emplace_back();
            readEntry(item, table.entries.back());
            item.close();
        });
    table.othersSame = from.flag("others_same", false);
    if (from.holds("missing"))
        from.objects("missing", [&](JsonFields& item) {
            table.missing.push_back({ item.text("weight"), item.text("reason") });
            item.close();
        });
    table.only = from.texts("only");
    table.reason = from.text("reason", "");
    from.close();
}

} // namespace

Result<FamilyNames> readNameTables(const std::string& text, const std::string& file)
{
    const auto document = parseJson(text, file);
    if (!document.ok())
        return document.error();
    JsonFields from(document.value(), file);
    from.refuseUnknown();
    FamilyNames out;
    out.file = file;
    out.families = from.texts("families");
    if (from.need("schemes") != nullptr) {
        JsonFields schemes = from.object("schemes");
        for (const NameScheme scheme : kNameSchemes) {
            const std::string key = nameSchemeName(scheme);
            if (schemes.error() || !schemes.holds(key))
                continue;
            JsonFields table = schemes.object(key);
            readTable(table, out.schemes[scheme]);
        }
        schemes.close();
    }
    from.close();
    if (from.error())
        return *from.error();
    return out;
}

const Result<std::vector<FamilyNames>>& builtinNameTables()
{
    static const Result<std::vector<FamilyNames>> kTables = []() -> Result<std::vector<FamilyNames>> {
        std::vector<FamilyNames> tables;
        for (const auto& [name, text] : nameTableTexts()) {
            auto table = readNameTables(std::string(text), "names/" + std::string(name));
            if (!table.ok())
                return table.error();
            tables.push_back(std::move(table).value());
        }
        return tables;
    }();
    return kTables;
}

} // namespace shardboard
