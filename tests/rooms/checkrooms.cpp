// SPDX-License-Identifier: Apache-2.0
// Holds the includes of all sources against the table of rooms (rooms.txt says how it is written):
//   checkrooms ROOT TABLE
// Prints one line for each fault. Exit codes: 0 none, 1 faults, 2 wrong usage, 3 a table that cannot be read.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace {

using Names = std::set<std::string>;

struct Row {
    std::size_t line = 0;
    Names mayInclude;
    bool present = false; // a folder of sources has this name
};

struct HeaderRule {
    std::size_t line = 0;
    std::vector<std::string> headers; // the first rule with a pattern that fits decides
    std::vector<std::string> rooms;
    bool used = false;
};

struct KnownFault {
    std::size_t line = 0;
    bool seen = false;
};

struct Table {
    std::vector<std::string> roots;
    std::map<std::string, Row> rooms;
    std::vector<HeaderRule> headers;
    std::map<std::pair<std::string, std::string>, KnownFault> known; // file, what it includes
};

struct Include {
    std::string file;
    std::size_t line = 0;
    std::string room;
    std::string target;
    bool quoted = false;
};

std::string folderOf(std::string_view path)
{
    const auto slash = path.rfind('/');
    return std::string(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
}

// A pattern that ends with * fits all that begins like it; "a/*" fits "a", too.
bool fits(std::string_view pattern, std::string_view name)
{
    if (!pattern.ends_with('*'))
        return pattern == name;
    pattern.remove_suffix(1);
    return name.starts_with(pattern) || (pattern.ends_with('/') && pattern.substr(0, pattern.size() - 1) == name);
}

bool fitsAny(const std::vector<std::string>& patterns, std::string_view name)
{
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) { return fits(pattern, name); });
}

std::string joined(const Names& names)
{
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "" : " ") + name;
    return text.empty() ? "nobody" : text;
}

// The words before and after " : ".
bool split(const std::string& line, std::vector<std::string>& left, std::vector<std::string>& right)
{
    std::istringstream words(line);
    std::string word;
    bool after = false;
    while (words >> word) {
        if (word == ":" && !after)
            after = true;
        else
            (after ? right : left).push_back(word);
    }
    return after;
}

class Checker {
public:
    explicit Checker(fs::path tableFile)
        : m_tableFile(std::move(tableFile))
    {
    }

    bool readTable()
    {
        std::ifstream file(m_tableFile);
        if (!file) {
            std::cerr << m_tableFile.string() << ": cannot be read\n";
            return false;
        }
        std::string text;
        for (std::size_t number = 1; std::getline(file, text); ++number) {
            text = text.substr(0, text.find('#'));
            std::vector<std::string> left;
            std::vector<std::string> right;
            const bool colon = split(text, left, right);
            if (left.empty() && !colon)
                continue;
            if (!colon || left.empty() || !readRow(number, left, right)) {
                std::cerr << m_tableFile.string() << ':' << number
                          << ": cannot be read; write \"sources : FOLDER…\", \"ROOM : ROOM…\", \"header PATTERN… : ROOM…\" or "
                             "\"known FILE : INCLUDED\", each name once\n";
                return false;
            }
        }
        return true;
    }

    int check(const fs::path& root)
    {
        checkTable();
        for (const std::string& top : m_table.roots)
            readSources(root, top);
        for (const Include& include : m_includes)
            checkInclude(root, include);
        checkRowsAreNeeded();
        std::sort(m_faults.begin(), m_faults.end());
        for (const auto& [file, line, text] : m_faults)
            std::cout << file << ':' << line << ": " << text << '\n';
        std::cout << m_files << " files, " << m_includes.size() << " includes, " << m_table.rooms.size() << " rooms, "
                  << m_faults.size() << " faults, " << m_table.known.size() << " known\n";
        return m_faults.empty() ? 0 : 1;
    }

private:
    bool readRow(std::size_t number, const std::vector<std::string>& left, const std::vector<std::string>& right)
    {
        const std::string& first = left.front();
        if (first == "sources") {
            m_table.roots.insert(m_table.roots.end(), right.begin(), right.end());
            return left.size() == 1;
        }
        if (first == "header") {
            m_table.headers.push_back({ number, { left.begin() + 1, left.end() }, right });
            return left.size() > 1;
        }
        if (first == "known")
            return left.size() == 2 && right.size() == 1 && m_table.known.insert({ { left[1], right.front() }, { number } }).second;
        return left.size() == 1 && m_table.rooms.insert({ first, { number, { right.begin(), right.end() } } }).second;
    }

    void fault(const std::string& file, std::size_t line, const std::string& text) { m_faults.emplace_back(file, line, text); }

    std::string tableName() const { return m_tableFile.filename().string(); }

    // Every room that a room may include: those of its row, and what those may.
    const Names& reach(const std::string& room)
    {
        const auto [place, fresh] = m_reach.insert({ room, {} });
        const auto row = m_table.rooms.find(room);
        if (!fresh || row == m_table.rooms.end())
            return place->second;
        Names all;
        for (const std::string& next : row->second.mayInclude) {
            all.insert(next);
            const Names& further = reach(next);
            all.insert(further.begin(), further.end());
        }
        return m_reach[room] = all;
    }

    void findCircles(const std::string& room, std::vector<std::string>& way, Names& done)
    {
        if (const auto again = std::find(way.begin(), way.end(), room); again != way.end()) {
            std::string text = "the table goes in a circle:";
            for (auto step = again; step != way.end(); ++step)
                text += ' ' + *step + " ->";
            fault(tableName(), m_table.rooms.at(room).line, text + ' ' + room);
            return;
        }
        const auto row = m_table.rooms.find(room);
        if (row == m_table.rooms.end() || !done.insert(room).second)
            return;
        way.push_back(room);
        for (const std::string& next : row->second.mayInclude)
            findCircles(next, way, done);
        way.pop_back();
    }

    void checkTable()
    {
        Names done;
        for (const auto& [room, row] : m_table.rooms) {
            std::vector<std::string> way;
            findCircles(room, way, done);
            for (const std::string& next : row.mayInclude)
                if (!m_table.rooms.contains(next))
                    fault(tableName(), row.line, room + " may include " + next + ", which has no row");
        }
    }

    void readSources(const fs::path& root, const std::string& top)
    {
        if (!fs::is_directory(root / top))
            return fault(tableName(), 1, "there is no folder " + top);
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
            static const Names kinds { ".h", ".hpp", ".cpp", ".cc", ".c", ".cu", ".cuh", ".inc", ".ipp" };
            if (!entry.is_regular_file() || !kinds.contains(entry.path().extension().string()))
                continue;
            ++m_files;
            const std::string file = fs::relative(entry.path(), root).generic_string();
            const std::string room = folderOf(file);
            if (const auto row = m_table.rooms.find(room); row != m_table.rooms.end())
                row->second.present = true;
            else if (m_unknown.insert(room).second)
                fault(file, 1, "the folder " + room + " has no row in " + tableName());
            readIncludes(entry.path(), file, room);
        }
    }

    void readIncludes(const fs::path& path, const std::string& file, const std::string& room)
    {
        std::ifstream stream(path);
        std::string text;
        for (std::size_t line = 1; std::getline(stream, text); ++line) {
            std::string_view rest = text;
            const auto skip = [&rest] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); };
            skip();
            if (!rest.starts_with('#'))
                continue;
            rest.remove_prefix(1);
            skip();
            if (!rest.starts_with("include"))
                continue;
            rest.remove_prefix(std::string_view("include").size());
            skip();
            if (rest.empty() || (rest.front() != '"' && rest.front() != '<'))
                continue;
            const bool quoted = rest.front() == '"';
            rest.remove_prefix(1);
            m_includes.push_back({ file, line, room, std::string(rest.substr(0, rest.find(quoted ? '"' : '>'))), quoted });
        }
    }

    bool isKnown(const Include& include)
    {
        const auto known = m_table.known.find({ include.file, include.target });
        if (known != m_table.known.end())
            known->second.seen = true;
        return known != m_table.known.end();
    }

    void checkInclude(const fs::path& root, const Include& include)
    {
        if (!include.quoted)
            return checkHeader(include);
        const std::string target = folderOf(include.target);
        if (!fs::exists(root / include.target))
            return fault(include.file, include.line,
                         "includes \"" + include.target + "\", which is not a path from the top folder");
        const auto row = m_table.rooms.find(include.room);
        if (target == include.room || row == m_table.rooms.end() || reach(include.room).contains(target) || isKnown(include))
            return;
        fault(include.file, include.line,
              "includes " + include.target + ", but from " + include.room + " no way leads to " + target + "; " + include.room
                  + (row->second.mayInclude.empty() ? " may include no other room"
                                                    : " may include " + joined(row->second.mayInclude) + " and what those may"));
    }

    void checkHeader(const Include& include)
    {
        for (HeaderRule& rule : m_table.headers) {
            if (!fitsAny(rule.headers, include.target))
                continue;
            rule.used = true;
            if (fitsAny(rule.rooms, include.room) || isKnown(include))
                return;
            return fault(include.file, include.line,
                         "includes <" + include.target + ">, which " + include.room + " may not include ("
                             + joined({ rule.rooms.begin(), rule.rooms.end() }) + " may)");
        }
    }

    // The table stays true when each of its entries is one that some include needs.
    void checkRowsAreNeeded()
    {
        for (const auto& [room, row] : m_table.rooms) {
            if (!row.present)
                fault(tableName(), row.line, "there are no sources in " + room);
            for (const std::string& entry : row.mayInclude)
                if (m_table.rooms.contains(entry) && !isNeeded(room, row, entry))
                    fault(tableName(), row.line,
                          room + " does not need " + entry + ": nothing there includes it, or another entry leads to it");
        }
        for (const HeaderRule& rule : m_table.headers)
            if (!rule.used && !rule.rooms.empty())
                fault(tableName(), rule.line, "no source includes a header like " + rule.headers.front());
        for (const auto& [what, known] : m_table.known)
            if (!known.seen)
                fault(tableName(), known.line, what.first + " no longer includes " + what.second + " or may now; this line can go");
    }

    bool isNeeded(const std::string& room, const Row& row, const std::string& entry)
    {
        Names others;
        for (const std::string& other : row.mayInclude) {
            if (other == entry)
                continue;
            others.insert(other);
            const Names& further = reach(other);
            others.insert(further.begin(), further.end());
        }
        return std::any_of(m_includes.begin(), m_includes.end(), [&](const Include& include) {
            const std::string target = folderOf(include.target);
            return include.quoted && include.room == room && (target == entry || reach(entry).contains(target))
                && !others.contains(target);
        });
    }

    fs::path m_tableFile;
    Table m_table;
    std::vector<Include> m_includes;
    std::size_t m_files = 0;
    Names m_unknown;
    std::map<std::string, Names> m_reach;
    std::vector<std::tuple<std::string, std::size_t, std::string>> m_faults;
};

} // namespace

int main(int argc, char** argv)
{
    if (argc != 3) {
        std::cerr << "usage: checkrooms ROOT TABLE\n";
        return 2;
    }
    Checker checker(argv[2]);
    return checker.readTable() ? checker.check(argv[1]) : 3;
}
