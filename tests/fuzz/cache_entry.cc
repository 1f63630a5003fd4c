// A kept entry whose bytes somebody else chose, with checksums that are right: it is refused with a reason, or it is columns that
// every reader can walk over.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cache/entry_form.h"
#include "forebay/string_list.h"

using namespace forebay;

static void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

static void walk_over(const Columns& columns) {
  require(columns.check().ok(), "what was accepted is in order");
  uint64_t sum = 0;
  for (int64_t row = 0; row < std::min<int64_t>(columns.rows, 1000); ++row) {
    for (const Value& value : columns.row(row)) {
      for (const uint8_t byte : value.bytes.span()) sum += byte;
      const bool list = value.kind == FieldKind::kBytesList || value.kind == FieldKind::kTextList;
      const StringList strings(list ? value.bytes.span() : std::span<const uint8_t>());
      for (size_t i = 0; i < strings.size(); ++i) {
        for (const uint8_t byte : strings[i]) sum += byte;
      }
      for (const uint8_t byte : value.tensor.buffer.span()) sum += byte;
    }
  }
  require(sum < UINT64_MAX, "the bytes are there");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Buffer entry = Buffer::allocate(size);
  if (size > 0) std::memcpy(entry.data(), data, size);
  const auto as_it_is = decode_entry({}, entry);
  require(as_it_is.ok() || as_it_is.status().code() == Code::kCorrupt, "damage is Corrupt");
  if (size < kEntryHeaderBytes) return 0;
  reseal_entry(entry);
  const auto header = read_entry_header(entry.span().first(kEntryHeaderBytes));
  require(header.ok(), "a sealed header can be read");
  const auto columns = decode_entry(header->id, entry);
  require(columns.ok() || columns.status().code() == Code::kCorrupt, "lies are Corrupt");
  if (!columns.ok()) return 0;
  walk_over(*columns);
  const auto again = encode_entry(header->id, *columns, Compression::kNone);
  require(!again.ok() || decode_entry(header->id, *again).ok(), "what was written can be read");
  return 0;
}
