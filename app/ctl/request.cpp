// SPDX-License-Identifier: Apache-2.0
#include "app/ctl/request.h"

#include "model/io/file/textfile.h"
#include "model/io/json/jsontext.h"

#include <iostream>

namespace shardboard {

namespace {

constexpr std::size_t kLongestRequest = std::size_t { 1 } << 20;

Result<std::string> standardInput()
{
    std::string text(kLongestRequest + 1, '\0');
    std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > kLongestRequest)
        return inputError("standard input", "is larger than " + std::to_string(kLongestRequest) + " bytes",
                          "check that this is a request");
    return text;
}

} // namespace

Result<Request> readRequest(const std::string& path)
{
    const std::string where = path == "-" ? "standard input" : path;
    const auto text = path == "-" ? standardInput() : readTextFile(path, kLongestRequest);
    if (!text.ok())
        return text.error();
    auto document = parseJson(text.value(), where);
    if (!document.ok())
        return document.error();
    return Request { std::move(document).value(), where };
}

} // namespace shardboard
