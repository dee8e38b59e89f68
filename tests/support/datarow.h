// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QTest>

namespace shardboard {

/// A row of a test's data, in the order of its columns.
template <class... Values>
void dataRow(const char* name, const Values&... values)
{
    QTestData& row = QTest::newRow(name);
    (row << ... << values);
}

} // namespace shardboard
