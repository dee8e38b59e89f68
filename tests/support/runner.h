// SPDX-License-Identifier: Apache-2.0
// The test classes of a program; runner.cpp has its main(). Every file tests/…/tst_x.cpp has one class and ends with
//     SHARDBOARD_TEST(TestX)
//     #include "tst_x.moc"
// PROGRAM -class tst_x [what Qt Test takes] runs it alone, as ctest does; without -class all of them run one after the other.
#pragma once

#include <QStringList>
#include <QTest>

#include <memory>
#include <optional>

namespace shardboard {

/// What comes before the class, when the application is there: fonts, say. An exit code ends the program: a test may start
/// its own program for something else.
using TestPreparation = std::optional<int> (*)(const QStringList& arguments);

/// Makes a class known; its name is that of its file.
bool addTestClass(const char* file, std::unique_ptr<QObject> (*make)(), TestPreparation prepare = nullptr);

} // namespace shardboard

#define SHARDBOARD_TEST(Class, ...)                                                                                                \
    static const bool added##Class = shardboard::addTestClass(                                                                     \
        __FILE__, []() -> std::unique_ptr<QObject> { return std::make_unique<Class>(); } __VA_OPT__(, ) __VA_ARGS__);
