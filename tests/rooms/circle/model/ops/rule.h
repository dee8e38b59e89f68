// SPDX-License-Identifier: Apache-2.0
#include "model/picker/row.h"
