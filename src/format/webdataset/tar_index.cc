#include "format/webdataset/tar_index.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "format/webdataset/sample_name.h"

namespace forebay {

namespace {

constexpr size_t kMostExtensions = 256;
constexpr size_t kMostFiles = UINT32_MAX;
constexpr size_t kMostToldNameBytes = 200;  // limit of a name in a message

/// Writes seven bits per byte. The eighth bit is clear in the last byte.
void put_number(std::string& out, uint64_t value) {
  for (; value > 127; value >>= 7) out.push_back(static_cast<char>(0x80 | (value & 127)));
  out.push_back(static_cast<char>(value));
}

/// Reads what put_number() wrote. After the first error all reads fail.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : rest_(bytes) {}

  uint64_t next(uint64_t largest = UINT64_MAX) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      // The limit is checked here, so every result is safe to allocate by.
      if (byte < 128) return value <= largest ? value : fail();
    }
    return fail();
  }

  std::string_view text() {
    const uint64_t length = next(rest_.size());
    if (length > rest_.size()) return fail(), std::string_view();
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

  size_t left() const { return rest_.size(); }
  bool good() const { return good_; }

 private:
  uint64_t fail() {
    good_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::span<const TarIndex::File> TarIndex::files_of(size_t sample) const {
  const size_t first = samples[sample].first_file;
  const size_t last = sample + 1 < samples.size() ? samples[sample + 1].first_file : files.size();
  return std::span(files).subspan(first, last - first);
}

std::string TarIndex::to_bytes() const {
  std::string bytes;
  for (const LeftOut& one : aside) {
    put_number(bytes, one.count);
    put_number(bytes, one.first.size());
    bytes += one.first;
  }
  put_number(bytes, links.size());
  for (const Link& link : links) {
    put_number(bytes, link.file);
    put_number(bytes, link.found ? link.data / kTarBlockBytes + 1 : 0);
  }
  put_number(bytes, extensions.size());
  for (const std::string& extension : extensions) {
    put_number(bytes, extension.size());
    bytes += extension;
  }
  put_number(bytes, samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    put_number(bytes, (end_of(i) - samples[i].begin) / kTarBlockBytes);
    put_number(bytes, samples[i].name_bytes);
    put_number(bytes, files_of(i).size());
    for (const File& file : files_of(i)) {
      put_number(bytes, file.extension);
      put_number(bytes, file.bytes);
    }
  }
  return bytes;
}

std::optional<TarIndex> TarIndex::from_bytes(std::string_view bytes, uint64_t tar_bytes) {
  TarIndex index;
  Numbers in(bytes);
  for (LeftOut& one : index.aside) {
    one.count = in.next();
    one.first = in.text();
  }
  // Each link takes at least two bytes in the serialized index.
  for (uint64_t count = in.next(in.left() / 2); count > 0 && in.good(); --count) {
    const auto file = static_cast<uint32_t>(in.next(kMostFiles));
    if (!index.links.empty() && file <= index.links.back().file) return std::nullopt;
    const uint64_t place = in.next(tar_bytes / kTarBlockBytes + 1);
    // A header precedes the data of each file.
    if (place == 1) return std::nullopt;
    index.links.push_back({file, place > 0, place > 0 ? (place - 1) * kTarBlockBytes : 0});
  }
  auto link = index.links.begin();
  for (uint64_t count = in.next(kMostExtensions); count > 0 && in.good(); --count)
    index.extensions.emplace_back(in.text());
  // In the serialized index each sample takes at least five bytes and each file two.
  const uint64_t samples = in.next(in.left() / 5);
  index.samples.reserve(samples);
  for (uint64_t i = 0; i < samples && in.good(); ++i) {
    const uint64_t length = in.next(tar_bytes / kTarBlockBytes) * kTarBlockBytes;
    const auto name_bytes = static_cast<uint32_t>(in.next(length));
    index.samples.push_back({index.end, static_cast<uint32_t>(index.files.size()), name_bytes});
    uint64_t stored = 0;
    for (uint64_t count = in.next(length / kTarBlockBytes); count > 0 && in.good(); --count) {
      const auto extension = static_cast<uint32_t>(in.next(index.extensions.size()));
      const bool is_link = link != index.links.end() && link->file == index.files.size();
      index.files.push_back({extension, in.next(!is_link ? length : link->found ? tar_bytes - link->data : 0)});
      // next() also accepts the limit itself, which is one too many here.
      if (extension >= index.extensions.size()) return std::nullopt;
      stored += kTarBlockBytes + (is_link ? 0 : whole_tar_blocks(index.files.back().bytes));
      if (is_link) ++link;
    }
    // The headers and data of a sample's files must fit into the sample, and the samples into the
    // tar. This detects the index of another tar.
    if (stored == 0 || stored > length || length > tar_bytes - index.end) return std::nullopt;
    index.end += length;
  }
  const bool whole = in.good() && in.left() == 0 && link == index.links.end() && index.files.size() <= kMostFiles;
  return whole ? std::optional(std::move(index)) : std::nullopt;
}

void SampleGrouper::leave_out(TarIndex::Aside why, const std::string& name) {
  TarIndex::LeftOut& out = index_.aside[why];
  if (out.count++ == 0) out.first = name.substr(0, kMostToldNameBytes);
}

void SampleGrouper::begin_sample(std::string_view base) {
  base_ = base;
  names_.push_back(hash128(base).low);
  index_.samples.push_back(
      {index_.end, static_cast<uint32_t>(index_.files.size()), static_cast<uint32_t>(base_.size())});
}

Status SampleGrouper::add(const TarMember& member) {
  if (member.kind == TarMember::Kind::kFolder) return {};
  if (member.kind == TarMember::Kind::kOther) return leave_out(TarIndex::kDevice, member.name), Status();
  Result<std::optional<TarSampleName>> name = split_sample_name(member.name, split_);
  if (!name.ok()) return Status(name.status()).with_range({member.begin, kTarBlockBytes});
  const std::optional<size_t> link = member.is_link() ? std::optional(links_.add(member)) : std::nullopt;
  if (!*name) {
    if (!is_shard_note(member.name)) leave_out(TarIndex::kNoField, member.name);
    return {};
  }
  if (index_.files.size() == kMostFiles) return unsupported("a tar of more than 4,294,967,295 files");
  // Only consecutive files form a sample. Looking further back would require all names in memory.
  if (index_.samples.empty() || (*name)->base != base_) begin_sample((*name)->base);
  const auto [known, is_new] = extensions_.emplace((*name)->extension, static_cast<uint32_t>(index_.extensions.size()));
  if (is_new) index_.extensions.push_back((*name)->extension);
  if (index_.extensions.size() > kMostExtensions) {
    return unsupported(fmt::format(
        "more than {} different extensions, the last of which is '{}' of '{}': {}; write the tar with other names",
        kMostExtensions, (*name)->extension, member.name,
        split_ == NameSplit::kFirstDot ? "a name ends at its first dot, and all behind it is the extension; with "
                                         "split=\"last\" it ends at the last one"
                                       : "all behind the last dot of a name is the extension"));
  }
  if (link) {
    link_numbers_.push_back(*link);
    index_.links.push_back({static_cast<uint32_t>(index_.files.size()), false, 0});
  }
  index_.files.push_back({known->second, member.size});
  index_.end = member.data + whole_tar_blocks(member.size);
  return {};
}

/// Counts all but the first sample of each name. Consecutive ones have already been merged.
void SampleGrouper::count_apart() {
  std::ranges::sort(names_);
  for (size_t i = 1; i < names_.size(); ++i) index_.aside[TarIndex::kApart].count += names_[i] == names_[i - 1] ? 1 : 0;
}

TarIndex SampleGrouper::take(uint64_t left_behind) && {
  for (size_t i = 0; i < link_numbers_.size(); ++i) {
    const std::optional<TarLinks::Target> target = links_.target(link_numbers_[i]);
    TarIndex::Link& link = index_.links[i];
    if (!target) continue;
    link.found = true;
    link.data = target->data;
    index_.files[link.file].bytes = target->size;
  }
  count_apart();
  index_.aside[TarIndex::kBehindEnd].count = left_behind;
  return std::move(index_);
}

}  // namespace forebay
