#include "format/lines/line_index_files.h"

#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kSliceNumbers = 5;
// 1 GiB holds 25 million slices.
constexpr IndexKind kLinesKind = {"lines", 1 << 30, LineIndexFiles::kMaxFiles};

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

/// Returns nullopt unless the payload describes a file of that size.
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
    // The checksum detects damage; this check detects slices that would be read wrongly. No row is
    // shorter than a byte.
    const bool possible = slice.begin >= before && slice.begin < slice.end && slice.end <= size &&
                          slice.first_line >= rows && slice.rows > 0 && numbers[3] <= slice.end - slice.begin;
    if (!possible) return std::nullopt;
    before = slice.end;
    rows += slice.rows;
    index.slices.push_back(slice);
  }
  return index;
}

}  // namespace

LineIndexFiles::LineIndexFiles(const Store& store, const OpenLinesOptions& options)
    : store_(store), options_(options), files_(kLinesKind, options.index_folder) {}

bool LineIndexFiles::is_worth_saving(const LineFile& file) const {
  return file.version != 0 && file.size >= kLeastBytes;
}

std::string LineIndexFiles::identity(const LineFile& file) const {
  return fmt::format("{}\n{} {} {} {}", store_.display_name(file.key), file.size, file.version, options_.block_bytes,
                     options_.rows == LineRows::kAll ? "all" : "not blank");
}

std::string LineIndexFiles::path(const LineFile& file) const { return files_.path(identity(file)); }

std::optional<LineIndex> LineIndexFiles::load(const LineFile& file) const {
  if (!is_worth_saving(file)) return std::nullopt;
  const LoadedIndex loaded = files_.load(identity(file));
  return loaded.state == LoadedIndex::State::kFound ? parsed(loaded.payload, file.size) : std::nullopt;
}

void LineIndexFiles::save(const LineFile& file, std::span<const LineSlice> slices) const {
  if (!is_worth_saving(file)) return;
  files_.save(identity(file), serialised(file.form, slices));
  files_.remove_oldest();
}

}  // namespace forebay
