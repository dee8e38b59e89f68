// SPDX-License-Identifier: Apache-2.0
// The rule sets that are built in, read from resources/rules/rulesets.txt, which is compiled in.
#include "model/rules/rulesetup.h"
#include "model/text/text.h"

#include <algorithm>

namespace shardboard {

extern const char* const kRuleSetsText;

namespace {

struct Preset {
    RuleSetup setup;
    std::string summary;
};

std::vector<std::string> words(std::string_view text)
{
    std::vector<std::string> out;
    for (const std::string_view word : split(text, ' '))
        if (!word.empty())
            out.emplace_back(word);
    return out;
}

void addRule(RuleSetup& setup, std::string_view line)
{
    const auto colon = line.find(':');
    const std::string key(line.substr(0, colon));
    auto axes = words(line.substr(colon + 1));
    if (key == "mesh")
        setup.meshAxes = std::move(axes);
    else if (key == "data")
        setup.dataSharding = std::move(axes);
    else
        setup.rules.push_back({ key, std::move(axes), setup.name + ":" + std::to_string(setup.rules.size() + 1) });
}

/// The axis that plays context parallelism, as the files themselves leave it.
std::string contextAxisOf(const RuleSetup& setup)
{
    for (const LogicalRule& rule : setup.rules)
        if (rule.name == "activation_length")
            return rule.axes.empty() ? "context" : rule.axes.front();
    return "context";
}

const std::vector<Preset>& presets()
{
    static const std::vector<Preset> made = [] {
        std::vector<Preset> out;
        for (const std::string_view line : split(std::string_view(kRuleSetsText), '\n')) {
            if (line.empty() || line.front() == '#')
                continue;
            if (line.front() == '[') {
                const auto end = line.find(']');
                out.emplace_back();
                out.back().setup.name = std::string(line.substr(1, end - 1));
                out.back().summary = std::string(trimmed(line.substr(end + 1)));
            } else if (!out.empty()) {
                addRule(out.back().setup, line);
            }
        }
        for (Preset& preset : out)
            preset.setup.contextAxis = contextAxisOf(preset.setup);
        return out;
    }();
    return made;
}

const Preset* findPreset(const std::string& name)
{
    const auto& all = presets();
    const auto found = std::ranges::find_if(all, [&](const Preset& preset) { return preset.setup.name == name; });
    return found == all.end() ? nullptr : &*found;
}

} // namespace

std::vector<std::string> rulePresetNames()
{
    std::vector<std::string> names;
    for (const Preset& preset : presets())
        names.push_back(preset.setup.name);
    return names;
}

std::string rulePresetSummary(const std::string& name)
{
    const Preset* preset = findPreset(name);
    return preset ? preset->summary : std::string();
}

Result<RuleSetup> rulePreset(const std::string& name, const std::string& where)
{
    if (const Preset* preset = findPreset(name))
        return preset->setup;
    return inputError(where, "there is no built-in rule set '" + name + "'", "known are " + joined(rulePresetNames()));
}

} // namespace shardboard
