// SPDX-License-Identifier: Apache-2.0
#include "model/io/file/gunzip.h"

#include <algorithm>
#include <limits>

#ifdef SHARDBOARD_ZLIB
#include <zlib.h>
#endif

namespace shardboard {

bool isGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

#ifdef SHARDBOARD_ZLIB

Result<std::string> gunzip(std::string_view bytes, const std::string& where, std::size_t limit)
{
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    constexpr std::size_t kStep = std::size_t { 1 } << 30; // zlib counts in 32 bits
    z_stream stream {};
    if (inflateInit2(&stream, kGzipOnly) != Z_OK)
        return inputError(where, "cannot be decompressed: not enough memory", "decompress it with gunzip first");
    std::string out(std::min(limit, 4 * bytes.size() + 65536), '\0');
    std::size_t used = 0;
    std::size_t taken = 0;
    int state = Z_OK;
    while (state == Z_OK || (state == Z_STREAM_END && taken < bytes.size() && isGzip(bytes.substr(taken)))) {
        if (state == Z_STREAM_END && inflateReset(&stream) != Z_OK) // files that were joined
            break;
        if (used == out.size() && out.size() < limit)
            out.resize(std::min(limit, 2 * out.size()));
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
        stream.avail_in = static_cast<uInt>(std::min(kStep, bytes.size() - taken));
        stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
        stream.avail_out = static_cast<uInt>(std::min(kStep, out.size() - used));
        const uInt in = stream.avail_in;
        const uInt room = stream.avail_out;
        state = inflate(&stream, Z_NO_FLUSH);
        taken += in - stream.avail_in;
        used += room - stream.avail_out;
    }
    inflateEnd(&stream);
    if (state == Z_STREAM_END) {
        out.resize(used);
        return out;
    }
    if (used >= limit)
        return inputError(where, "holds more than " + std::to_string(limit) + " bytes", "check that this is the right file");
    return inputError(where, taken == bytes.size() ? "the compressed file is cut off" : "the compressed file is damaged",
                      "get it again");
}

#else

Result<std::string> gunzip(std::string_view, const std::string& where, std::size_t)
{
    return inputError(where, "is compressed, and this build has no zlib", "decompress it with gunzip first");
}

#endif

} // namespace shardboard
