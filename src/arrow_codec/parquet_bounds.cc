#include <cmath>

#include <arrow/type.h>
#include <parquet/exception.h>
#include <parquet/statistics.h>

#include "arrow_codec/parquet_table.h"

namespace forebay {

namespace {

using Bound = FieldBounds::Bound;

bool is_unsigned(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kUint16 || dtype == DType::kUint32 || dtype == DType::kUint64;
}

Bound integer(DType dtype, int32_t value) {
  if (dtype == DType::kUint32) return uint64_t{static_cast<uint32_t>(value)};
  if (is_unsigned(dtype)) return static_cast<uint64_t>(value);
  return int64_t{value};
}
Bound integer(DType dtype, int64_t value) {
  return dtype == DType::kUint64 ? Bound(static_cast<uint64_t>(value)) : Bound(value);
}

/// NaN is not a bound.
Bound real(double value) { return std::isnan(value) ? Bound() : Bound(value); }

template <typename Type, typename Convert>
void set(const parquet::Statistics& statistics, FieldBounds& out, Convert convert) {
  const auto& typed = static_cast<const parquet::TypedStatistics<Type>&>(statistics);
  out.min = convert(typed.min());
  out.max = convert(typed.max());
}

void set_bounds(const parquet::Statistics& statistics, const Leaf& leaf, FieldBounds& out) {
  const auto text = [](const parquet::ByteArray& value) -> Bound {
    return std::string(reinterpret_cast<const char*>(value.ptr), value.len);
  };
  switch (statistics.physical_type()) {
    case parquet::Type::BOOLEAN:
      return set<parquet::BooleanType>(statistics, out, [](bool value) -> Bound { return int64_t{value}; });
    case parquet::Type::INT32:
      return set<parquet::Int32Type>(statistics, out, [&](int32_t value) { return integer(leaf.dtype, value); });
    case parquet::Type::INT64:
      return set<parquet::Int64Type>(statistics, out, [&](int64_t value) { return integer(leaf.dtype, value); });
    case parquet::Type::FLOAT: return set<parquet::FloatType>(statistics, out, [](float value) { return real(value); });
    case parquet::Type::DOUBLE:
      return set<parquet::DoubleType>(statistics, out, [](double value) { return real(value); });
    case parquet::Type::BYTE_ARRAY: return set<parquet::ByteArrayType>(statistics, out, text);
    default: return;
  }
}

bool same_unit(const parquet::LogicalType& stored, arrow::TimeUnit::type unit) {
  if (!stored.is_timestamp()) return false;
  switch (static_cast<const parquet::TimestampLogicalType&>(stored).time_unit()) {
    case parquet::LogicalType::TimeUnit::MILLIS: return unit == arrow::TimeUnit::MILLI;
    case parquet::LogicalType::TimeUnit::MICROS: return unit == arrow::TimeUnit::MICRO;
    case parquet::LogicalType::TimeUnit::NANOS: return unit == arrow::TimeUnit::NANO;
    default: return false;
  }
}

/// True if stored values equal the field's values. Decimals are scaled, and times may change their
/// unit.
bool comparable(const parquet::ColumnDescriptor& column, const Leaf& leaf) {
  if (leaf.converted()) return false;
  switch (leaf.type->id()) {
    case arrow::Type::TIMESTAMP:
      return column.logical_type() != nullptr &&
             same_unit(*column.logical_type(), static_cast<const arrow::TimestampType&>(*leaf.type).unit());
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
    case arrow::Type::DATE64:
    case arrow::Type::HALF_FLOAT: return false;
    default: return true;
  }
}

}  // namespace

FieldBounds ParquetTable::bounds(int64_t group, size_t field) const {
  const Output& output = plan_.outputs[field];
  const Leaf& leaf = plan_.leaves[output.leaf];
  FieldBounds out;
  // Bounds are of elements, but filters compare rows.
  const bool nested = leaf.lists > (leaf.strings() ? 1 : 0) || leaf.shape.rank() > 0;
  if (output.role != Output::Role::kValues || nested) return out;
  try {
    // Arrow returns statistics only if their writer is trusted and the order is known.
    const auto statistics = footer_->RowGroup(static_cast<int>(group))->ColumnChunk(leaf.number)->statistics();
    if (statistics == nullptr) return out;
    if (statistics->HasNullCount() && statistics->null_count() >= 0) out.nulls = statistics->null_count();
    if (statistics->HasMinMax() && comparable(*footer_->schema()->Column(leaf.number), leaf))
      set_bounds(*statistics, leaf, out);
  } catch (const std::exception&) {
    return {};  // statistics that cannot be read give no bounds
  }
  return out;
}

}  // namespace forebay
