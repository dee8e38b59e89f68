// SPDX-License-Identifier: Apache-2.0
#include "model/plan/plan.h"
#include "model/core/core.h"
#include <vector>
