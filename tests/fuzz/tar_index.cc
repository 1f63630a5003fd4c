// A kept index of a shard whose bytes somebody else chose: it is refused, or it is one of a tar of that size, and the same again as bytes.
#include <cstdlib>
#include <string_view>

#include "format/webdataset/shard_chunks.h"
#include "format/webdataset/tar_index.h"

using namespace forebay;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kTarBytes = uint64_t{1} << 30;
  const auto index = TarIndex::from_bytes({reinterpret_cast<const char*>(data), size}, kTarBytes);
  if (!index) return 0;
  require(index->end <= kTarBytes && index->files.size() <= size && index->samples.size() <= size);
  const auto again = TarIndex::from_bytes(index->to_bytes(), kTarBytes);
  require(again && again->to_bytes() == index->to_bytes());
  ShardChunks chunks;
  chunks.fields = {{"image", {"jpg"}}, {"label", {"cls"}}};
  chunks.add({"a.tar", kTarBytes, 1, 0}, *index, 1 << 20);
  require(chunks.samples == static_cast<int64_t>(index->samples.size()));
  return 0;
}
