// Shards that somebody else wrote: opened and decoded as a source does that has little memory. Errors are fine; wrong columns and
// reads outside are not. Its length chooses how large chunks are and which fields are read, so that any tar is a seed.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "format/webdataset/open_webdataset.h"
#include "store/memory/memory_store.h"

using namespace forebay;

static void decode_chunks(const ChunkSource& source) {
  for (int64_t chunk = 0; chunk < std::min<int64_t>(source.chunks(), 64); ++chunk) {
    const auto fetch = source.chunk_fetch(chunk);
    std::vector<Buffer> fetched;
    for (const ReadRequest& request : fetch.requests) {
      const auto bytes = read_wait(*fetch.store, request, {});
      if (!bytes.ok()) std::abort();
      fetched.push_back(*bytes);
    }
    WorkMemory memory;
    const auto columns = source.decode(chunk, std::move(fetched), memory);
    // Nothing changed since it was opened.
    if (!columns.ok() || !columns->check().ok()) std::abort();
    if (columns->nbytes() > source.chunk_cost(chunk).decoded_bytes) std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto store = memory_store();
  store->put("a.tar", std::string_view(reinterpret_cast<const char*>(data), size));
  WebdatasetRequest request;
  request.chunk_bytes = uint64_t{1} << size % 16;
  request.split = size / 32 % 2 == 1 ? NameSplit::kLastDot : NameSplit::kFirstDot;
  if (size / 16 % 2 == 1)
    request.fields = {{"image", {"jpg", "png"}, true}, {"text", {"txt"}, true}, {"label", {"cls"}, true}};
  const auto source = open_webdataset({store, "a.tar", ""}, request, {});
  if (source.ok()) decode_chunks(**source);
  return 0;
}
