// SPDX-License-Identifier: Apache-2.0
// Addresses without pages: what is reserved costs nothing until it is touched, and nothing again when it is given back.
#include "engine/machine/reservedmemory.h"

#include "engine/machine/failure.h"
#include "tests/support/runner.h"

#include <QTest>

#include <cerrno>
#include <fstream>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

using namespace shardboard::engine;

namespace {

constexpr std::int64_t kMebi = std::int64_t { 1 } << 20;

/// Of this process in memory now, in bytes.
std::int64_t residentBytes()
{
    std::ifstream file("/proc/self/statm");
    std::int64_t all = 0;
    std::int64_t resident = 0;
    file >> all >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

} // namespace

class TestReservedMemory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void holdsWhatIsWritten()
    {
        const std::int64_t bytes = 3 * kMebi + 4;
        const ReservedMemory memory(bytes);
        QCOMPARE(memory.bytes(), bytes);
        QCOMPARE(reinterpret_cast<std::uintptr_t>(memory.memory()) % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)), 0U);
        float* values = memory.floats();
        const std::int64_t last = bytes / 4 - 1;
        QVERIFY(values[0] == 0 && values[last] == 0);
        values[0] = 1;
        values[last] = 2;
        QVERIFY(values[0] == 1 && values[last] == 2 && values[1] == 0);
    }

    void takesPagesWhenTheyAreTouched()
    {
        const std::int64_t before = residentBytes();
        QVERIFY(before > 0);
        const ReservedMemory memory(4096 * kMebi);
        QVERIFY(residentBytes() - before < 16 * kMebi);
        for (std::int64_t at = 0; at < 64 * kMebi; at += 4096)
            memory.memory()[at] = std::byte { 1 };
        const std::int64_t touched = residentBytes() - before;
        QVERIFY2(touched >= 60 * kMebi && touched < 128 * kMebi, std::to_string(touched).c_str());
    }

    void givesTheAddressesBack()
    {
        std::optional<ReservedMemory> memory;
        memory.emplace(kMebi);
        std::byte* const first = memory->memory();
        memory->memory()[kMebi - 1] = std::byte { 1 };
        QCOMPARE(msync(first, kMebi, MS_ASYNC), 0);
        memory.reset();
        QVERIFY(msync(first, kMebi, MS_ASYNC) != 0);
        QCOMPARE(errno, ENOMEM); // nothing is mapped there
    }

    void tooMuchIsRefused()
    {
        try {
            const ReservedMemory memory(std::int64_t { 1 } << 60);
            QFAIL("there are not so many addresses");
        } catch (const Failure& failure) {
            QCOMPARE(failure.code, std::string("memory"));
            QVERIFY2(failure.message.find(std::to_string(std::int64_t { 1 } << 60)) != std::string::npos, failure.message.c_str());
        }
    }
};

SHARDBOARD_TEST(TestReservedMemory)
#include "tst_reservedmemory.moc"
