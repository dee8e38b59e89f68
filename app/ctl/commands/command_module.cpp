// SPDX-License-Identifier: Apache-2.0
// shardctl module: what a module makes of its weights under a strategy.
#include "app/ctl/commands.h"
#include "app/ctl/request.h"
#include "model/design/evaluate/evaluate.h"
#include "model/io/design/designfile.h"
#include "model/io/json/jsonwriter.h"
#include "model/io/max/moduledesign.h"
#include "model/io/max/modulejson.h"

#include <iostream>

namespace shardboard {

namespace {

void printFindings(const nlohmann::json& findings)
{
    for (const auto& finding : findings)
        std::cerr << finding["severity"].get<std::string>() << ": "
                  << inputError(finding["where"], finding["message"], finding["repair"]).text() << "\n";
}

/// A line for each key, so that lists of shapes stay readable.
std::string textOf(const nlohmann::json& answer)
{
    std::string out;
    for (const auto& [key, value] : answer.items())
        out += (out.empty() ? "{\n " : ",\n ") + jsonText(nlohmann::json(key)) + ": " + jsonText(value);
    return out + "\n}\n";
}

int writeModuleDesign(const nlohmann::json& request, const std::string& where, const std::string& path)
{
    const auto design = moduleDesign(request, where);
    if (!design.ok())
        return report(design.error());
    const auto evaluation = evaluate(design.value());
    if (!evaluation.ok())
        return report(evaluation.error());
    if (const auto status = writeDesign(path, design.value()); !status.ok())
        return report(status.error());
    return kDone;
}

} // namespace

int moduleCommand(const Arguments& arguments)
{
    const auto read = readRequest(arguments.positional().front());
    if (!read.ok())
        return report(read.error());
    const auto& [request, where] = read.value();
    const auto answer = answerModule(request, where);
    if (!answer.ok())
        return report(answer.error());
    if (arguments.has("-o"))
        if (const int code = writeModuleDesign(request, where, arguments.text("-o")); code != kDone)
            return code;
    std::cout << textOf(answer.value());
    if (!arguments.has("--json"))
        printFindings(answer.value()["findings"]);
    return kDone;
}

} // namespace shardboard
