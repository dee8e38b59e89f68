// SPDX-License-Identifier: Apache-2.0
// How parts and mesh axes are told apart: by hues, with hatching beyond the seventh, or by hatching of greys alone. One choice for
// the whole program, as its palette is; set together with the theme.
#pragma once

namespace shardboard {

enum class PartStyle { Hues, Patterns };
PartStyle partStyle();
void setPartStyle(PartStyle style);

} // namespace shardboard
