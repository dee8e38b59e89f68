// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/plan/plan.h" // a known fault
