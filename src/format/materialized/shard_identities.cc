#include "format/materialized/shard_identities.h"

#include "format/materialized/index_columns.h"

namespace forebay {

namespace {

uint64_t part_of(const std::optional<Hash128>& identity, bool high) {
  if (!identity) return 0;
  return high ? identity->high : identity->low;
}

void add_part(Columns& columns, const ShardIdentities& identities, bool high) {
  Field field;
  field.name = high ? "high" : "low", field.dtype = DType::kUint64;
  Buffer values = Buffer::allocate(identities.size() * sizeof(uint64_t));
  for (size_t i = 0; i < identities.size(); ++i)
    reinterpret_cast<uint64_t*>(values.data())[i] = part_of(identities[i], high);
  columns.schema.push_back(std::move(field));
  columns.values.push_back({std::move(values), {}});
}

const uint64_t* values_of(const Columns& columns, std::string_view name) {
  const auto found = columns.schema.find(name);
  if (!found || columns.schema[*found].dtype != DType::kUint64 || columns.schema[*found].shape.rank() != 0)
    return nullptr;
  return reinterpret_cast<const uint64_t*>(columns.values[*found].values.data());
}

}  // namespace

Result<Buffer> write_identities(const ShardIdentities& identities, const TableCodecs& codecs) {
  Columns columns;
  columns.rows = static_cast<int64_t>(identities.size());
  for (const bool high : {true, false}) add_part(columns, identities, high);
  FOREBAY_ASSIGN(WrittenTable written, codecs.write_arrow_file({&columns, 1}, ""));
  return written.bytes.together();
}

ShardIdentities read_identities(const Buffer& file, size_t count, const TableCodecs& codecs) {
  ShardIdentities identities(count);
  // If the identities cannot be read, the samples are only computed again.
  const Result<Columns> columns = columns_of_index(file, codecs);
  if (!columns.ok() || columns->rows != static_cast<int64_t>(count)) return identities;
  const uint64_t *high = values_of(*columns, "high"), *low = values_of(*columns, "low");
  for (size_t i = 0; i < count && high != nullptr && low != nullptr; ++i)
    if (high[i] != 0 || low[i] != 0) identities[i] = Hash128{high[i], low[i]};
  return identities;
}

}  // namespace forebay
