#include "codec/png_text.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include <spng.h>

namespace forebay {
namespace {

constexpr std::string_view kKeyword("Raw profile type exif\0", 22);
constexpr size_t kMaxText = 1 << 20;

bool is_raw_exif(const PngChunk& chunk) {
  if (chunk.type != "tEXt" && chunk.type != "zTXt" && chunk.type != "iTXt") return false;
  return chunk.payload.size() >= kKeyword.size() &&
         std::equal(kKeyword.begin(), kKeyword.end(), reinterpret_cast<const char*>(chunk.payload.data()));
}

/// A file of one pixel with this chunk and no data, because the library decompresses texts only of
/// whole files.
std::vector<uint8_t> file_around(const PngChunk& chunk) {
  constexpr std::string_view kBegin(
      "\x89PNG\r\n\x1a\n"
      "\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55",
      33);
  constexpr std::string_view kEnd("\0\0\0\0IDAT\x35\xaf\x06\x1e\0\0\0\0IEND\xae\x42\x60\x82", 24);
  std::vector<uint8_t> file(kBegin.begin(), kBegin.end());
  file.insert(file.end(), chunk.whole.begin(), chunk.whole.end());
  file.insert(file.end(), kEnd.begin(), kEnd.end());
  return file;
}

std::string unpacked(const PngChunk& chunk) {
  const std::vector<uint8_t> file = file_around(chunk);
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> library(spng_ctx_new(0), spng_ctx_free);
  // Limits the decompressed size of a text before it is decompressed.
  if (!library || spng_set_chunk_limits(library.get(), kMaxText, 2 * kMaxText) != 0) return {};
  if (spng_set_png_buffer(library.get(), file.data(), file.size()) != 0) return {};
  spng_text text = {};
  uint32_t count = 1;
  if (spng_get_text(library.get(), &text, &count) != 0 || count != 1) return {};
  return {text.text, text.length};
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = static_cast<char>(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Decodes like Python's bytes.fromhex(): spaces between bytes are allowed, but not within one.
std::optional<std::vector<uint8_t>> bytes_of_digits(std::string_view digits) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < digits.size();) {
    if (is_space(digits[i])) {
      ++i;
      continue;
    }
    const int high = digit_of(digits[i]), low = i + 1 < digits.size() ? digit_of(digits[i + 1]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<uint8_t>(high << 4 | low));
    i += 2;
  }
  return bytes;
}

/// The text after the third line, without line ends.
std::string digits_of(std::string_view text) {
  for (int line = 0; line < 3; ++line) {
    const size_t end = text.find('\n');
    if (end == text.npos) return {};
    text.remove_prefix(end + 1);
  }
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits), [](char c) { return c != '\n'; });
  return digits;
}

}  // namespace

std::optional<std::vector<uint8_t>> exif_in_text(const PngChunk& chunk) {
  if (!is_raw_exif(chunk)) return std::nullopt;
  std::optional<std::vector<uint8_t>> exif = bytes_of_digits(digits_of(unpacked(chunk)));
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  for (int i = 0; exif && i < 2; ++i) {  // some writers repeat it
    if (exif->size() >= kPrefix.size() && std::equal(kPrefix.begin(), kPrefix.end(), exif->begin()))
      exif->erase(exif->begin(), exif->begin() + kPrefix.size());
  }
  return exif;
}

}  // namespace forebay
