#include "format/materialized/mapped_shards.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace forebay {

namespace {

// Number of pages of the file in the kernel's page cache; 0 if the kernel does not tell.
size_t pages_at_hand(const MappedFile& file, size_t pages) {
  std::vector<unsigned char> each(pages);
  if (::mincore(const_cast<uint8_t*>(file.data()), file.size(), each.data()) != 0) return 0;
  return static_cast<size_t>(
      std::count_if(each.begin(), each.end(), [](unsigned char page) { return (page & 1) != 0; }));
}

}  // namespace

std::unique_ptr<const MappedShards> MappedShards::of(std::span<const Shard> shards) {
  if (shards.empty() || shards.size() > kMaxShards) return nullptr;
  auto mapped = std::make_unique<MappedShards>();
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t pages = 0, at_hand = 0;
  for (const Shard& shard : shards) {
    auto file = MappedFile::open(shard.path);
    // Reading it will report the error.
    if (!file.ok() || (*file)->size() != shard.bytes) return nullptr;
    const size_t of_file = ((*file)->size() + page - 1) / page;
    pages += of_file;
    at_hand += pages_at_hand(**file, of_file);
    mapped->files_.push_back(std::move(*file));
  }
  // Touching other pages would block a compute thread.
  if (static_cast<double>(at_hand) < kAtHand * static_cast<double>(pages)) return nullptr;
  return mapped;
}

Status MappedShards::copy(size_t shard, uint64_t begin, std::span<uint8_t> out) const {
  const MappedFile& file = *files_[shard];
  return file.read([&] { std::memcpy(out.data(), file.data() + begin, out.size()); });
}

}  // namespace forebay
