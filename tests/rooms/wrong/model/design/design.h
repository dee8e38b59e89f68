// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/core/core.h"
#include "model/plan/plan.h"
