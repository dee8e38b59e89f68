// SPDX-License-Identifier: Apache-2.0
// The hosts that mpirun starts processes on, as people name them: a list `host1:2,host2:2`, or a hostfile.
#pragma once

#include "model/core/result.h"

#include <string>

namespace shardboard {

/// A list; else it names a hostfile. A folder that has the name of a host is no hostfile.
bool isHostList(const std::string& hosts);

/// Errors: there is no such file, it names no host, or the list has something that is no host. `where` names the option.
Status checkHosts(const std::string& hosts, const std::string& where);

} // namespace shardboard
