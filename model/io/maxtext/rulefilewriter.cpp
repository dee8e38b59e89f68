// SPDX-License-Identifier: Apache-2.0
#include "model/io/maxtext/rulefilewriter.h"

#include "model/io/file/textfile.h"
#include "model/rules/rulesetup.h"

namespace shardboard {

namespace {

/// A YAML flow scalar in single quotes, in which only these mean something: a design's names have no control characters.
std::string yamlQuoted(const std::string& text)
{
    std::string out = "'";
    for (const char c : text)
        out += c == '\'' ? "''" : std::string(1, c);
    return out + "'";
}

std::string listText(const std::vector<std::string>& items)
{
    std::string out;
    for (const std::string& item : items)
        out += (out.empty() ? "" : ", ") + yamlQuoted(item);
    return "[" + out + "]";
}

} // namespace

std::string ruleFileText(const std::vector<LogicalRule>& rules, const Mesh& mesh)
{
    std::vector<std::string> axes;
    std::string options;
    for (const MeshAxis& axis : mesh.axes()) {
        axes.push_back(axis.name);
        options += " " + parallelismOption("ici", axis.name) + "=" + std::to_string(axis.size);
    }
    std::string out;
    if (!axes.empty())
        out += "# Sizes of the mesh axes are options:" + options + "\n";
    out += "mesh_axes: " + listText(axes) + "\n";
    out += "data_sharding: [" + listText(axes) + "]\n";
    out += rules.empty() ? "logical_axis_rules: []\n" : "logical_axis_rules: [\n";
    for (const LogicalRule& rule : rules)
        out += "  [" + yamlQuoted(rule.name) + ", " + listText(rule.axes) + "],\n";
    return rules.empty() ? out : out + "]\n";
}

Status writeRuleFile(const std::string& path, const std::vector<LogicalRule>& rules, const Mesh& mesh)
{
    return writeFileAtomically(path, ruleFileText(rules, mesh));
}

} // namespace shardboard
