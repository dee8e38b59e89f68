// SPDX-License-Identifier: Apache-2.0
// Command line of one shardctl command: declared options, so that help, checks and parsing cannot drift apart.
#pragma once

#include "model/core/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardboard {

struct OptionSpec {
    std::string name; ///< with dashes: `--mesh`, `-o`
    std::string value; ///< name of the value in help; empty for a flag
    std::string help;
    bool repeats = false; ///< may be given several times, and takes all words up to the next option
    bool mayBeAlone = false; ///< its value may be left out: at the end, or before another option
};

class Arguments {
public:
    /// A positional name in brackets, `[PRESET]`, may be left out; such names come last.
    /// Errors (usage): an unknown option, a missing value, an option given twice that does not repeat, too many or too few
    /// positional arguments.
    static Result<Arguments> parse(const std::vector<std::string>& words, const std::vector<OptionSpec>& options,
                                   const std::vector<std::string>& positionalNames, const std::string& command);

    const std::vector<std::string>& positional() const { return m_positional; }
    bool has(const std::string& option) const { return m_values.contains(option); }
    /// The value; the last one of a repeated option.
    std::string text(const std::string& option, const std::string& fallback = {}) const;
    /// All values of a repeated option, in order.
    std::vector<std::string> texts(const std::string& option) const;
    /// The same with an option given in another way, by a positional argument say.
    Arguments with(const std::string& option, const std::string& value) const;
    /// A number with or without a fraction. Errors (usage): not a number; (input): not in [least, most].
    Result<double> number(const std::string& option, double fallback, double least, double most) const;
    /// Errors (usage): not a whole number; (input): not in [least, most].
    Result<std::int64_t> integer(const std::string& option, std::int64_t fallback, std::int64_t least, std::int64_t most) const;

private:
    std::vector<std::string> m_positional;
    std::map<std::string, std::vector<std::string>> m_values;
};

} // namespace shardboard
