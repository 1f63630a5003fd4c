#include "format/lines/line_index_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/folder_entries.h"
#include "base/replace_file.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLinesMagic = "forebay lines 2\n";
constexpr size_t kLinesHashBytes = 32;
constexpr size_t kSliceNumbers = 5;
constexpr uintmax_t kMostIndexBytes = 1 << 30;  // of 25 million slices: what is larger was not written here

std::string serialised(const TextForm& form, std::span<const LineSlice> slices) {
  std::string payload;
  payload.reserve((1 + slices.size() * kSliceNumbers) * sizeof(uint64_t));
  const uint64_t said = static_cast<uint64_t>(form.encoding) << 1 | (form.values ? 1 : 0);
  payload.append(reinterpret_cast<const char*>(&said), sizeof said);
  for (const LineSlice& slice : slices) {
    const uint64_t numbers[kSliceNumbers] = {slice.begin, slice.end, static_cast<uint64_t>(slice.first_line),
                                             static_cast<uint64_t>(slice.rows), slice.cut ? uint64_t{1} : uint64_t{0}};
    payload.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  }
  return payload;
}

/// Nothing where it does not describe a file of that size.
std::optional<LineIndex> parsed(std::string_view payload, uint64_t size) {
  constexpr size_t kBytes = kSliceNumbers * sizeof(uint64_t);
  uint64_t said = 0;
  if (payload.size() % kBytes != sizeof said) return std::nullopt;
  std::memcpy(&said, payload.data(), sizeof said);
  payload.remove_prefix(sizeof said);
  if (said >> 1 > static_cast<uint64_t>(TextEncoding::kUtf16Big)) return std::nullopt;
  LineIndex index;
  index.form = {static_cast<TextEncoding>(said >> 1), (said & 1) != 0};
  int64_t rows = 0;
  uint64_t before = 0;
  for (; !payload.empty(); payload.remove_prefix(kBytes)) {
    uint64_t numbers[kSliceNumbers];
    std::memcpy(numbers, payload.data(), kBytes);
    const LineSlice slice = {
        numbers[0],     numbers[1], static_cast<int64_t>(numbers[2]), rows, static_cast<int64_t>(numbers[3]),
        numbers[4] == 1};
    // The hash tells damage; this, what would be read wrongly: no row is shorter than a byte.
    const bool possible = slice.begin >= before && slice.begin < slice.end && slice.end <= size &&
                          slice.first_line >= rows && slice.rows > 0 && numbers[3] <= slice.end - slice.begin;
    if (!possible) return std::nullopt;
    before = slice.end;
    rows += slice.rows;
    index.slices.push_back(slice);
  }
  return index;
}

std::optional<std::string> whole_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMostIndexBytes) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return in ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace

bool LineIndexFiles::keeps(const LineFile& file) const {
  return !options_.index_folder.empty() && file.version != 0 && file.size >= kLeastBytes;
}

std::string LineIndexFiles::path(const LineFile& file) const {
  const std::string what = fmt::format("{}\n{} {} {} {}", store_.display_name(file.key), file.size, file.version,
                                       options_.block_bytes, options_.rows == LineRows::kAll ? "all" : "not blank");
  return fmt::format("{}/{}.lines", options_.index_folder, hash128(what).to_string());
}

std::optional<LineIndex> LineIndexFiles::load(const LineFile& file) const {
  if (!keeps(file)) return std::nullopt;
  const std::optional<std::string> text = whole_file(path(file));
  if (!text || !text->starts_with(kLinesMagic) || text->size() < kLinesMagic.size() + kLinesHashBytes)
    return std::nullopt;
  const std::string_view payload = std::string_view(*text).substr(kLinesMagic.size() + kLinesHashBytes);
  if (text->substr(kLinesMagic.size(), kLinesHashBytes) != hash128(payload).to_string()) return std::nullopt;
  std::error_code error;
  fs::last_write_time(path(file), fs::file_time_type::clock::now(), error);  // used: not the first to go
  return parsed(payload, file.size);
}

void LineIndexFiles::save(const LineFile& file, std::span<const LineSlice> slices) const {
  if (!keeps(file)) return;
  std::error_code error;
  const fs::path parent = fs::path(options_.index_folder).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (::mkdir(options_.index_folder.c_str(), 0700) != 0 && errno != EEXIST) return;
  const std::string payload = serialised(file.form, slices);
  // Without it the next opening scans once more.
  const Status ignored =
      replace_file(path(file), fmt::format("{}{}{}", kLinesMagic, hash128(payload).to_string(), payload));
  remove_oldest();
}

void LineIndexFiles::remove_oldest() const {
  remove_oldest_files(options_.index_folder, kMaxFiles,
                      [](std::string_view name) { return name.ends_with(".lines") || name.ends_with(".lines.tmp"); });
}

}  // namespace forebay
