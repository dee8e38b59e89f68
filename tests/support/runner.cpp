// SPDX-License-Identifier: Apache-2.0
#include "tests/support/runner.h"

#ifdef QT_WIDGETS_LIB
#include <QApplication>
#else
#include <QCoreApplication>
#endif
#include <QFileInfo>

#include <cstdio>
#include <map>

namespace shardboard {

namespace {

struct TestClass {
    std::unique_ptr<QObject> (*make)() = nullptr;
    TestPreparation prepare = nullptr;
};

std::map<QString, TestClass>& classes()
{
    static std::map<QString, TestClass> all; // filled before main() begins
    return all;
}

int runClass(const TestClass& of, const QStringList& arguments)
{
    if (of.prepare)
        if (const std::optional<int> done = of.prepare(arguments))
            return *done;
    const std::unique_ptr<QObject> test = of.make();
    return QTest::qExec(test.get(), arguments);
}

} // namespace

bool addTestClass(const char* file, std::unique_ptr<QObject> (*make)(), TestPreparation prepare)
{
    return classes().emplace(QFileInfo(QString::fromUtf8(file)).completeBaseName(), TestClass { make, prepare }).second;
}

} // namespace shardboard

int main(int argc, char** argv)
{
    using namespace shardboard;
    // Before there is an application: some paths are made of its name.
    const QString name = argc > 2 && qstrcmp(argv[1], "-class") == 0 ? QString::fromLocal8Bit(argv[2]) : QString();
    if (!name.isEmpty())
        QCoreApplication::setApplicationName(name);
#ifdef QT_WIDGETS_LIB
    QApplication application(argc, argv);
#else
    QCoreApplication application(argc, argv);
#endif
    QStringList arguments = QCoreApplication::arguments();
    if (name.isEmpty()) {
        int failed = 0;
        for (const auto& [each, of] : classes())
            failed += runClass(of, arguments) == 0 ? 0 : 1;
        return failed;
    }
    const auto found = classes().find(name);
    if (found == classes().end()) {
        std::fprintf(stderr, "There is no test class %s in this program; there are:\n", qPrintable(name));
        for (const auto& each : classes())
            std::fprintf(stderr, "  %s\n", qPrintable(each.first));
        return 2;
    }
    arguments.remove(1, 2);
    return runClass(found->second, arguments);
}
