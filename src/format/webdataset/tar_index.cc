#include "format/webdataset/tar_index.h"

#include <utility>

namespace forebay {

namespace {

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

// Return false for bytes that to_bytes() does not write.
bool read_links(Numbers& in, uint64_t tar_bytes, TarIndex& index) {
  // Each link takes at least two bytes in the serialized index.
  for (uint64_t count = in.next(in.left() / 2); count > 0 && in.good(); --count) {
    const auto file = static_cast<uint32_t>(in.next(TarIndex::kMostFiles));
    if (!index.links.empty() && file <= index.links.back().file) return false;
    // 0 stands for a link whose target was not found; else it is the target's block, plus 1.
    const uint64_t target = in.next(tar_bytes / kTarBlockBytes + 1);
    // A header precedes the data of each file.
    if (target == 1) return false;
    index.links.push_back({file, target > 0, target > 0 ? (target - 1) * kTarBlockBytes : 0});
  }
  return true;
}

bool read_sample(Numbers& in, uint64_t tar_bytes, std::vector<TarIndex::Link>::const_iterator& link, TarIndex& index) {
  const uint64_t length = in.next(tar_bytes / kTarBlockBytes) * kTarBlockBytes;
  const auto name_bytes = static_cast<uint32_t>(in.next(length));
  index.samples.push_back({index.end, static_cast<uint32_t>(index.files.size()), name_bytes});
  uint64_t stored = 0;
  for (uint64_t count = in.next(length / kTarBlockBytes); count > 0 && in.good(); --count) {
    const auto extension = static_cast<uint32_t>(in.next(index.extensions.size()));
    const bool is_link = link != index.links.end() && link->file == index.files.size();
    index.files.push_back({extension, 1, in.next(!is_link ? length : link->found ? tar_bytes - link->data : 0)});
    // next() also accepts the limit itself, which is one too many here.
    if (extension >= index.extensions.size()) return false;
    stored += kTarBlockBytes + (is_link ? 0 : whole_tar_blocks(index.files.back().bytes));
    if (is_link) ++link;
  }
  // The headers and data of a sample's files must fit into the sample, and the samples into the
  // tar. This detects the index of another tar.
  if (stored == 0 || stored > length || length > tar_bytes - index.end) return false;
  index.end += length;
  return true;
}

/// Writes the gaps before files that have more than a header before them.
std::string gaps_to_bytes(const TarIndex& index) {
  std::string gaps;
  uint64_t count = 0;
  size_t after = 0;  // the file behind the last one written
  for (size_t file = 0; file < index.files.size(); ++file) {
    if (index.files[file].gap == 1) continue;
    put_number(gaps, file - after);
    put_number(gaps, index.files[file].gap);
    after = file + 1;
    ++count;
  }
  std::string bytes;
  put_number(bytes, count);
  return bytes + gaps;
}

/// Reads what gaps_to_bytes() wrote. Returns false if the files do not fill their samples.
bool read_gaps(Numbers& in, uint64_t tar_bytes, TarIndex& index) {
  uint64_t count = in.next(in.left() / 2);
  uint64_t next = count > 0 ? in.next(index.files.size()) : UINT64_MAX;
  TarFilePlaces places(index);
  for (size_t sample = 0, file = 0; sample < index.samples.size() && in.good(); ++sample) {
    places.begin(sample);
    for (const size_t end = file + index.files_of(sample).size(); file < end; ++file) {
      uint64_t blocks = 1;
      if (file == next) {
        blocks = in.next(tar_bytes / kTarBlockBytes);
        next = --count > 0 ? file + 1 + in.next(index.files.size()) : UINT64_MAX;
      }
      index.files[file].gap = blocks;
      places.next();
      if (blocks == 0 || places.at() > index.end_of(sample)) return false;
    }
    if (places.at() != index.end_of(sample)) return false;
  }
  return count == 0;
}

}  // namespace

std::span<const TarIndex::File> TarIndex::files_of(size_t sample) const {
  const size_t first = samples[sample].first_file;
  const size_t last = sample + 1 < samples.size() ? samples[sample + 1].first_file : files.size();
  return std::span(files).subspan(first, last - first);
}

void TarFilePlaces::begin(size_t sample) {
  file_ = index_.samples[sample].first_file;
  at_ = index_.samples[sample].begin;
}

ByteRange TarFilePlaces::next() {
  const bool is_link = link_ != index_.links.end() && link_->file == file_;
  const TarIndex::File& file = index_.files[file_++];
  at_ += file.gap * kTarBlockBytes;
  if (is_link) {
    const TarIndex::Link& link = *link_++;
    return link.found ? ByteRange{link.data, file.bytes} : ByteRange{};
  }
  const ByteRange content = {at_, file.bytes};
  at_ += whole_tar_blocks(file.bytes);
  return content;
}

Hash128 TarIndex::content_hash() const { return hash128(content_to_bytes()); }

std::string TarIndex::to_bytes() const { return content_to_bytes() + gaps_to_bytes(*this); }

std::string TarIndex::content_to_bytes() const {
  std::string bytes;
  for (const Skipped& one : skipped) {
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
  for (Skipped& one : index.skipped) {
    one.count = in.next();
    one.first = in.text();
  }
  if (!read_links(in, tar_bytes, index)) return std::nullopt;
  for (uint64_t count = in.next(TarIndex::kMaxExtensions); count > 0 && in.good(); --count)
    index.extensions.emplace_back(in.text());
  // In the serialized index each sample takes at least five bytes and each file two.
  const uint64_t samples = in.next(in.left() / 5);
  index.samples.reserve(samples);
  auto link = index.links.cbegin();
  for (uint64_t i = 0; i < samples && in.good(); ++i) {
    if (!read_sample(in, tar_bytes, link, index)) return std::nullopt;
  }
  if (!in.good() || !read_gaps(in, tar_bytes, index)) return std::nullopt;
  const bool whole =
      in.good() && in.left() == 0 && link == index.links.end() && index.files.size() <= TarIndex::kMostFiles;
  return whole ? std::optional(std::move(index)) : std::nullopt;
}

}  // namespace forebay
