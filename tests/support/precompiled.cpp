// SPDX-License-Identifier: Apache-2.0
// Empty: the target that it belongs to is there for its precompiled header.
