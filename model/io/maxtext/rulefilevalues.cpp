// SPDX-License-Identifier: Apache-2.0
#include "model/io/maxtext/rulefilevalues.h"

#include "model/text/contains.h"
#include "model/text/visibletext.h"

namespace shardboard {

namespace {

constexpr std::size_t kMostRules = 10'000; // a tensor's resolution walks them all
constexpr const char* kRuleForm = "write a rule as ['embed', ['fsdp', 'tensor']]";

/// A name, checked: quotes make a text of anything.
Result<std::string> nameOf(const PlacedValue& all, const YamlValue& value, const std::string& what)
{
    if (value.isList())
        return all.error(value, "a list stands where a " + what + " is expected", "a list of names cannot hold another list");
    if (!value.isText() || value.text.empty())
        return all.error(value,
                         (value.kind == YamlValue::Kind::Scalar && value.text.empty() ? "nothing" : value.shown())
                             + " stands where a " + what + " is expected",
                         "use a name, in quotes if it looks like a number or a truth value");
    if (const auto problem = nameProblem(value.text))
        return all.error(value, "the " + what + " " + value.shown() + " " + *problem, "write it without");
    return value.text;
}

Result<std::vector<std::string>> axesOf(const PlacedValue& all, const YamlValue& value)
{
    std::vector<std::string> axes;
    if (value.isNull())
        return axes;
    if (!value.isList()) {
        const auto axis = nameOf(all, value, "mesh axis");
        if (!axis.ok())
            return axis.error();
        return std::vector<std::string> { axis.value() };
    }
    for (const YamlValue& item : value.items) {
        auto axis = nameOf(all, item, "mesh axis");
        if (!axis.ok())
            return axis.error();
        axes.push_back(std::move(axis).value());
    }
    return axes;
}

} // namespace

std::string PlacedValue::place() const { return file.starts_with("--") ? file : yamlPlace(file, value); }

std::string PlacedValue::linePlace(const YamlValue& part) const
{
    return file.starts_with("--") ? file : file + ":" + std::to_string(part.line);
}

Error PlacedValue::error(const YamlValue& part, std::string what, std::string fix) const
{
    return inputError(file.starts_with("--") ? file : yamlPlace(file, part), std::move(what), std::move(fix));
}

Result<std::vector<LogicalRule>> rulesFromYaml(const PlacedValue& list)
{
    if (!list.value.isList())
        return list.error(list.value, list.value.shown() + " stands where a list of rules is expected", kRuleForm);
    if (list.value.items.size() > kMostRules)
        return list.error(list.value, "more than " + std::to_string(kMostRules) + " rules", "check that this is the right file");
    std::vector<LogicalRule> rules;
    for (const YamlValue& item : list.value.items) {
        if (!item.isList())
            return list.error(item, "a rule is a pair of a logical name and mesh axes, this is " + item.shown(), kRuleForm);
        if (item.items.size() != 2)
            return list.error(item,
                              "a rule is a pair of a logical name and mesh axes, this list has " + std::to_string(item.items.size())
                                  + (item.items.size() == 1 ? " entry" : " entries"),
                              kRuleForm);
        auto name = nameOf(list, item.items[0], "logical name");
        if (!name.ok())
            return name.error();
        auto axes = axesOf(list, item.items[1]);
        if (!axes.ok())
            return axes.error();
        rules.push_back({ std::move(name).value(), std::move(axes).value(), list.linePlace(item) });
    }
    return rules;
}

Result<std::vector<std::string>> namesFromYaml(const PlacedValue& list, const std::string& what)
{
    if (!list.value.isList())
        return list.error(list.value, list.value.shown() + " stands where a list of names is expected", "write it as [data, fsdp]");
    std::vector<std::string> names;
    for (const YamlValue& item : list.value.items) {
        auto name = nameOf(list, item, what);
        if (!name.ok())
            return name.error();
        if (contains(names, name.value()))
            return list.error(item, what + " '" + name.value() + "' appears twice", "name each once");
        names.push_back(std::move(name).value());
    }
    return names;
}

Result<std::vector<std::string>> dataShardingFromYaml(const PlacedValue& list, bool& flat)
{
    const bool nested = list.value.isList() && !list.value.items.empty() && list.value.items.front().isList();
    flat = !nested;
    if (!nested)
        return namesFromYaml(list, "mesh axis");
    if (list.value.items.size() != 1)
        return list.error(list.value.items[1], "data_sharding holds more than one list", "write it as [[data, fsdp]]");
    return namesFromYaml({ list.value.items.front(), list.file }, "mesh axis");
}

Result<std::string> textFromYaml(const PlacedValue& value)
{
    if (value.value.isNull())
        return std::string();
    if (!value.value.isText())
        return value.error(value.value, value.value.shown() + " stands where a name is expected", "use one name");
    if (const auto problem = nameProblem(value.value.text))
        return value.error(value.value, value.value.shown() + " " + *problem, "write it without");
    return value.value.text;
}

Result<bool> flagFromYaml(const PlacedValue& value)
{
    if (const auto flag = value.value.boolean())
        return *flag;
    return value.error(value.value, value.value.shown() + " stands where true or false is expected", "use true or false");
}

Result<std::int64_t> parallelismFromYaml(const PlacedValue& value)
{
    const auto number = value.value.integer();
    if (!number || *number == 0 || *number < -1 || *number > (std::int64_t { 1 } << 30))
        return value.error(value.value, value.value.shown() + " is not a size of a mesh axis",
                           "use a whole number of at least 1, or -1 to fill");
    return *number;
}

} // namespace shardboard
