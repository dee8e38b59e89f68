// SPDX-License-Identifier: Apache-2.0
// The commands of shardctl. Each is a function from parsed arguments to an exit code; results go to stdout, messages to
// stderr.
#pragma once

#include "app/ctl/arguments.h"
#include "model/design/evaluation.h"

#include <functional>
#include <string>
#include <vector>

namespace shardboard {

/// Exit codes of shardctl (contract).
enum ExitCode { kDone = 0, kFindings = 1, kUsage = 2, kInput = 3, kEngineFailed = 4, kCancelled = 5 };

struct Command {
    std::string name;
    std::string summary; ///< one line
    std::vector<std::string> positional; ///< names of the required arguments
    std::vector<OptionSpec> options;
    int (*run)(const Arguments&);
    std::string notes; ///< more help, may be empty
};

/// All commands, in the order of the help.
const std::vector<Command>& commands();

int modelsCommand(const Arguments& arguments);
int hardwareCommand(const Arguments& arguments);
int newCommand(const Arguments& arguments);
int tilesCommand(const Arguments& arguments);
int moduleCommand(const Arguments& arguments);
int notationCommand(const Arguments& arguments);
int cutsCommand(const Arguments& arguments);
int rulesCommand(const Arguments& arguments);
int pickCommand(const Arguments& arguments);
int planCommand(const Arguments& arguments);
int explainCommand(const Arguments& arguments);
int optimizeCommand(const Arguments& arguments);
int sweepCommand(const Arguments& arguments);
int solveCommand(const Arguments& arguments);
int checkCommand(const Arguments& arguments);
int runDesignCommand(const Arguments& arguments);
int exportCommand(const Arguments& arguments);
int namesCommand(const Arguments& arguments);
int dumpCommand(const Arguments& arguments);
int diffCommand(const Arguments& arguments);
int reportCommand(const Arguments& arguments);
int runsCommand(const Arguments& arguments);
int traceCommand(const Arguments& arguments);
int calibrateCommand(const Arguments& arguments);
int benchCommand(const Arguments& arguments);

/// Prints the one line of an error and gives its exit code.
int report(const Error& error);

/// An input error of a place in a file, with the file's name in front.
Error ofFile(const std::string& path, Error error);

/// A design file, read and evaluated.
struct OpenDesign {
    Design design;
    std::shared_ptr<const Evaluation> evaluation;
};
/// `edit` changes the design before it is evaluated.
Result<OpenDesign> openDesign(const std::string& path, Misfits misfits = Misfits::Refuse,
                              const std::function<Status(Design&)>& edit = {});

/// `warning: where: message; repair`, on stderr.
void printFinding(const Finding& finding);
template <class Findings>
void printFindings(const Findings& findings)
{
    for (const Finding& finding : findings)
        printFinding(finding);
}

} // namespace shardboard
