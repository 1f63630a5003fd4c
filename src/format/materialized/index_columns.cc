#include "format/materialized/index_columns.h"

#include <algorithm>
#include <numeric>

namespace forebay {

namespace {
constexpr uint64_t kIndexTailBytes = 16;
}

Result<Columns> columns_of_index(const Buffer& file, const TableCodecs& codecs) {
  const TableCodec& codec = codecs.arrow_file();
  const uint64_t tail = std::min<uint64_t>(file.size(), kIndexTailBytes);
  if (Result<uint64_t> bytes = codec.index_tail_bytes(file.span().last(tail), file.size()); !bytes.ok())
    return bytes.status();
  const TableFile::Piece all{0, file};
  FOREBAY_ASSIGN(const std::shared_ptr<const TableFile> table, codec.open(file, file.size(), {}, {&all, 1}));
  if (table->groups() != 1) return corrupt("its index is not one record batch");
  std::vector<size_t> fields(table->schema().size());
  std::iota(fields.begin(), fields.end(), size_t{0});
  WorkMemory memory;
  FOREBAY_ASSIGN(Columns columns, table->decode(0, fields, {&all, 1}, memory));
  if (columns.bad_rows) return corrupt("its index has nulls or text that is not UTF-8");
  return columns;
}

}  // namespace forebay
