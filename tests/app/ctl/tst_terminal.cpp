// SPDX-License-Identifier: Apache-2.0
// The last step before a terminal: whatever comes there is shown, whole, and in its columns.
#include "app/ctl/table.h"
#include "app/ctl/terminal.h"
#include "app/ctl/visibleoutput.h"
#include "model/text/visibletext.h"
#include "tests/support/hostilenames.h"
#include "tests/support/runner.h"

#include <QTest>

#include <cstdlib>
#include <iostream>
#include <sstream>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace shardboard;

namespace {

const std::string kWide = "\xe5\xb1\x82"; // a character of three bytes

/// What a terminal gets of `write`, which runs in a process whose standard error that is.
std::string onTerminal(void (*write)())
{
    const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0)
        return {};
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::open(::ptsname(master), O_RDWR | O_NOCTTY), STDERR_FILENO);
        write();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::string out(65536, '\0');
    const ssize_t count = ::read(master, out.data(), out.size());
    ::close(master);
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return out;
}

} // namespace

class TestTerminal : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void streamsPassThroughInWholeCharacters()
    {
        std::string text;
        for (const HostileName& hostile : printableHostileNames())
            text += hostile.name;
        for (const HostileName& hostile : controlHostileNames())
            text += hostile.name;
        while (text.size() < 300'000) // across every limit of what is looked at together
            text += kWide + kWide + "x";
        for (const std::size_t piece : { std::size_t { 1 }, std::size_t { 1000 }, text.size() }) {
            std::ostringstream behind;
            {
                const VisibleOutput filter(behind);
                for (std::size_t from = 0; from < text.size();) { // writes are of whole characters
                    std::size_t to = std::min(from + piece, text.size());
                    while (to < text.size() && (static_cast<unsigned char>(text[to]) & 0xc0U) == 0x80U)
                        ++to;
                    behind << text.substr(from, to - from);
                    from = to;
                }
                QVERIFY(behind.flush());
            }
            QVERIFY(behind.str() == visibleLines(text));
        }
    }

    void characterByCharacter()
    {
        std::ostringstream behind;
        {
            const VisibleOutput filter(behind);
            behind << 'a' << '\x1b' << "b" << 7 << std::endl;
        }
        QCOMPARE(behind.str(), std::string("a\\x1bb7\n"));
    }

    void tablesCountWhatIsShown()
    {
        Table table({ "name", ">bytes" });
        table.add({ "a\nb\x1b", "1" });
        table.add({ "abcdefghij", "22" });
        QCOMPARE(table.text(0), std::string("name        bytes\na\\nb\\x1b        1\nabcdefghij     22\n"));
    }

    void progressIsCutBetweenCharacters()
    {
        const std::string shown = onTerminal([] {
            ProgressLine line;
            for (int more = 0; more < 4; ++more) {
                std::string what(static_cast<std::size_t>(more), '-');
                for (int i = 0; i < 40; ++i)
                    what += kWide;
                line.show(more, 4, what + "\x1b]0;title\x07");
                line.show(more, 4, "\x1b]0;title\x07");
            }
        });
        QVERIFY(!shown.empty());
        QVERIFY2(isUtf8(shown), shown.c_str());
        QVERIFY(shown.find("\x1b]") == std::string::npos && shown.find("\\x1b]0;title") != std::string::npos);
        QVERIFY(shown.find('\x07') == std::string::npos);
    }
};

SHARDBOARD_TEST(TestTerminal)
#include "tst_terminal.moc"
