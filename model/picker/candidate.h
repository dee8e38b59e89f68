// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace shardboard {

/// A way to run an operation that the picker weighed, on one mesh axis: what each operand and the result would be.
/// Placement codes are R, S<dim>, P.
struct Candidate {
    int axis = 0; ///< mesh axis
    std::vector<std::string> operands;
    std::string result;
    double cost = 0; ///< bytes moved by the operands' reshards, as the profile prices them (max-sharding 4.1)
    double seconds = 0; ///< of these reshards one after the other on their links; 0 where the profile counts bytes alone
    bool allowed = true;
    bool picked = false;
    std::string refusal; ///< why it is not allowed, for people
    bool sound = true; ///< whether the result is the unsharded one cut up; all rows of the op tables are (tests run them)
};

} // namespace shardboard
