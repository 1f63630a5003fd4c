#include "store/http/content_encoding.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <libdeflate.h>

namespace forebay {

namespace {

constexpr uint64_t kLeastRoom = 64 << 10;

using Inflater = std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)>;

std::string encoding_name(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view encoding_token(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Decodes the next gzip member, zlib stream or raw deflate stream of `in`.
libdeflate_result inflate(const Inflater& inflater, bool gzip, std::span<const uint8_t> in, std::span<uint8_t> out,
                          size_t* taken, size_t* made) {
  if (gzip)
    return libdeflate_gzip_decompress_ex(inflater.get(), in.data(), in.size(), out.data(), out.size(), taken, made);
  const libdeflate_result zlib =
      libdeflate_zlib_decompress_ex(inflater.get(), in.data(), in.size(), out.data(), out.size(), taken, made);
  if (zlib != LIBDEFLATE_BAD_DATA) return zlib;
  // Some servers send "deflate" without the zlib header that RFC 9110 requires.
  return libdeflate_deflate_decompress_ex(inflater.get(), in.data(), in.size(), out.data(), out.size(), taken, made);
}

/// Returns twice the memory, with the contents copied.
Buffer grown(const Buffer& from, uint64_t used, uint64_t max_bytes) {
  Buffer larger = Buffer::allocate(std::min(max_bytes, from.size() * 2));
  std::memcpy(larger.data(), from.data(), used);
  return larger;
}

}  // namespace

std::string content_encoding(const HttpResponse& response) {
  std::string_view rest = response.header("content-encoding");
  std::string encodings;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string one = encoding_name(encoding_token(rest.substr(0, comma)));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (one.empty() || one == "identity" || one == "aws-chunked") continue;
    encodings += (encodings.empty() ? "" : ", ") + one;
  }
  return encodings;
}

Result<Buffer> decode_content(const HttpResponse& response, uint64_t max_bytes) {
  const std::string encoding = content_encoding(response);
  if (encoding.empty() || response.body.size() == 0) return response.body;
  const bool gzip = encoding == "gzip" || encoding == "x-gzip";
  if (!gzip && encoding != "deflate") {
    return unsupported(
        fmt::format("the server sends it with Content-Encoding: {}, which is not decoded here (gzip and deflate are); "
                    "store the object without it",
                    encoding));
  }
  const Inflater inflater(libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  std::span<const uint8_t> left = response.body.span();
  Buffer out = Buffer::allocate(std::min(max_bytes, std::max<uint64_t>(kLeastRoom, left.size() * 4)));
  uint64_t used = 0;
  // Concatenated files have several members.
  while (!left.empty()) {
    size_t taken = 0, made = 0;
    const std::span<uint8_t> room(out.data() + used, out.size() - used);
    switch (inflate(inflater, gzip, left, room, &taken, &made)) {
      case LIBDEFLATE_SUCCESS:
        used += made;
        left = left.subspan(taken);
        break;
      case LIBDEFLATE_INSUFFICIENT_SPACE:
        if (out.size() >= max_bytes)
          return out_of_budget(
              fmt::format("more than {} bytes once its Content-Encoding: {} is undone", max_bytes, encoding),
              max_bytes * 2);
        out = grown(out, used, max_bytes);
        break;
      default:
        return corrupt(
            fmt::format("the server says Content-Encoding: {}, and byte {} of {} begins nothing of the kind; store the "
                        "object without that header, or compress it again",
                        encoding, response.body.size() - left.size(), response.body.size()));
    }
  }
  return out.slice(0, used);
}

}  // namespace forebay
