// SPDX-License-Identifier: Apache-2.0
// All families of operations, by name, and the menu of one operation.
#pragma once

#include "model/picker/max/family.h"

#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace shardboard {

// The tables, by kind.
std::span<const OpFamily> contractionFamilies();
std::span<const OpFamily> convolutionFamilies();
std::span<const OpFamily> elementwiseFamilies();
std::span<const OpFamily> normFamilies();
std::span<const OpFamily> reductionFamilies();
std::span<const OpFamily> shapeFamilies();
std::span<const OpFamily> joinFamilies(); ///< concat, stack, split, chunk, slice, pad, tile, repeat_interleave
std::span<const OpFamily> indexFamilies();
std::span<const OpFamily> reshapeFamilies();
std::span<const OpFamily> poolFamilies();
std::span<const OpFamily> miscellaneousFamilies();

/// The family of an operation, by the family's name or one of its operations' (`relu`); null when there is none.
const OpFamily* findFamily(std::string_view name);
/// All of them, in the order of the tables.
const std::vector<const OpFamily*>& allFamilies();

/// Rows of an operation. Attributes as they were given: dims may count from the end. G0 to G2 append the all-replicated row
/// in the picker's menu (withFallback), not here.
std::variant<Menu, Refusal> expandMenu(const OpFamily& family, const std::vector<PickOperand>& operands,
                                       std::vector<AttributeValue> attributes, const Mesh& mesh, PickerProfile profile);

/// What is wrong with the tables themselves; empty when all rows can be read.
std::string registryProblem();

} // namespace shardboard
