#include "format/webdataset/tar_index.h"

#include <algorithm>

#include <fmt/format.h>

#include "format/webdataset/sample_name.h"

namespace forebay {

namespace {

constexpr size_t kMostExtensions = 256;
constexpr size_t kMostFiles = UINT32_MAX;

/// Seven bits a byte, the last of which has the eighth clear.
void put_number(std::string& out, uint64_t value) {
  for (; value > 127; value >>= 7) out.push_back(static_cast<char>(0x80 | (value & 127)));
  out.push_back(static_cast<char>(value));
}

/// Reads what put_number() wrote. Once something was wrong, everything is.
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
      // Compared here, so that nobody can forget it: what comes out is safe to take memory by.
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
  for (uint64_t count = in.next(kMostExtensions); count > 0 && in.good(); --count)
    index.extensions.emplace_back(in.text());
  // A sample takes at least five bytes here, and a file two.
  const uint64_t samples = in.next(in.left() / 5);
  index.samples.reserve(samples);
  for (uint64_t i = 0; i < samples && in.good(); ++i) {
    const uint64_t length = in.next(tar_bytes / kTarBlockBytes) * kTarBlockBytes;
    const auto name_bytes = static_cast<uint32_t>(in.next(length));
    index.samples.push_back({index.end, static_cast<uint32_t>(index.files.size()), name_bytes});
    uint64_t stored = 0;
    for (uint64_t count = in.next(length / kTarBlockBytes); count > 0 && in.good(); --count) {
      const auto extension = static_cast<uint32_t>(in.next(index.extensions.size()));
      index.files.push_back({extension, in.next(length)});
      // next() lets the number itself pass, one beyond the last.
      if (extension >= index.extensions.size()) return std::nullopt;
      stored += kTarBlockBytes + whole_tar_blocks(index.files.back().bytes);
    }
    // Headers and data of its files fill a sample, and samples the tar: an index of another tar is found out here.
    if (stored == 0 || stored > length || length > tar_bytes - index.end) return std::nullopt;
    index.end += length;
  }
  const bool whole = in.good() && in.left() == 0 && index.files.size() <= kMostFiles;
  return whole ? std::optional(std::move(index)) : std::nullopt;
}

Status SampleGrouper::add(const TarMember& member) {
  // Links and folders have no bytes of their own; a reader by ranges does not follow them.
  if (!member.regular) return {};
  Result<std::optional<TarSampleName>> name = split_sample_name(member.name);
  if (!name.ok()) return Status(name.status()).with_range({member.begin, kTarBlockBytes});
  if (!*name) return {};
  if (index_.files.size() == kMostFiles) return unsupported("a tar of more than 4,294,967,295 files");
  // Only what follows each other is one sample: looking further back would take all names into memory.
  if (index_.samples.empty() || (*name)->base != base_) {
    base_ = (*name)->base;
    index_.samples.push_back(
        {index_.end, static_cast<uint32_t>(index_.files.size()), static_cast<uint32_t>(base_.size())});
  }
  const auto [known, is_new] = extensions_.emplace((*name)->extension, static_cast<uint32_t>(index_.extensions.size()));
  if (is_new) index_.extensions.push_back((*name)->extension);
  if (index_.extensions.size() > kMostExtensions) {
    return unsupported(fmt::format(
        "more than {} different extensions, the last of which is '{}' of '{}': an extension is all behind the "
        "first dot of a name, so names must have none before it; write the tar with other names",
        kMostExtensions, (*name)->extension, member.name));
  }
  index_.files.push_back({known->second, member.size});
  index_.end = member.data + whole_tar_blocks(member.size);
  return {};
}

}  // namespace forebay
