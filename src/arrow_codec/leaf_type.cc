#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <fmt/format.h>

#include "arrow_codec/table_plan.h"

namespace forebay {

namespace {

Result<ColumnType> number_of(DType dtype) { return ColumnType{FieldKind::kTensor, dtype, {}}; }
Result<ColumnType> string_of(FieldKind kind) { return ColumnType{kind, DType::kUint8, {}}; }

int64_t ticks_per_day(arrow::TimeUnit::type unit) {
  constexpr int64_t kSeconds = 86'400;
  switch (unit) {
    case arrow::TimeUnit::SECOND: return kSeconds;
    case arrow::TimeUnit::MILLI: return kSeconds * 1'000;
    case arrow::TimeUnit::MICRO: return kSeconds * 1'000'000;
    case arrow::TimeUnit::NANO: return kSeconds * 1'000'000'000;
  }
  return 0;
}

TimeType date(int64_t ticks) { return {.ticks_per_day = ticks, .since_1970 = true}; }
TimeType duration(int64_t ticks) { return {.ticks_per_day = ticks, .since_1970 = false}; }

std::optional<TimeType> time_type(const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::DATE32: return date(1);
    case Type::DATE64: return date(ticks_per_day(arrow::TimeUnit::MILLI));
    case Type::TIMESTAMP: return date(ticks_per_day(static_cast<const arrow::TimestampType&>(type).unit()));
    case Type::TIME32:
    case Type::TIME64: return duration(ticks_per_day(static_cast<const arrow::TimeType&>(type).unit()));
    case Type::DURATION: return duration(ticks_per_day(static_cast<const arrow::DurationType&>(type).unit()));
    default: return std::nullopt;
  }
}

// All values except times can be read as text, and strings alone as bytes. A time can be read as
// another one if both are dates or both are durations, and as its ticks in int64. Numbers can be
// read from numbers and from text, Booleans neither from text nor from decimals.
bool is_convertible(const ColumnType& own, const ColumnType& wanted, bool is_decimal) {
  const bool is_text = own.kind == FieldKind::kText;
  const bool is_number = own.kind == FieldKind::kTensor && !own.time;
  if (wanted.kind == FieldKind::kBytes) return own.kind != FieldKind::kTensor;
  if (wanted.kind == FieldKind::kText) return !own.time;
  if (wanted.time) return own.time && own.time->since_1970 == wanted.time->since_1970;
  if (own.time) return wanted.dtype == DType::kInt64;
  if (wanted.dtype == DType::kBool) return is_number && !is_decimal;
  return is_number || is_text;
}

}  // namespace

std::shared_ptr<arrow::DataType> storage_type(std::shared_ptr<arrow::DataType> type) {
  while (type->id() == arrow::Type::EXTENSION) type = static_cast<const arrow::ExtensionType&>(*type).storage_type();
  return type;
}

bool readable_as(const arrow::DataType& type, const ColumnType& wanted) {
  if (type.id() == arrow::Type::NA) return true;
  if (type.id() == arrow::Type::DICTIONARY)
    return readable_as(*storage_type(static_cast<const arrow::DictionaryType&>(type).value_type()), wanted);
  const Result<ColumnType> own = leaf_type(type);
  return own.ok() && is_convertible(*own, wanted, arrow::is_decimal(type.id()));
}

// The messages are fragments: the caller puts their subject, the column, before them.
Result<ColumnType> leaf_type(const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::BOOL: return number_of(DType::kBool);
    case Type::UINT8: return number_of(DType::kUint8);
    case Type::INT8: return number_of(DType::kInt8);
    case Type::UINT16: return number_of(DType::kUint16);
    case Type::INT16: return number_of(DType::kInt16);
    case Type::UINT32: return number_of(DType::kUint32);
    case Type::INT32: return number_of(DType::kInt32);
    case Type::UINT64: return number_of(DType::kUint64);
    case Type::INT64: return number_of(DType::kInt64);
    case Type::HALF_FLOAT: return number_of(DType::kFloat16);
    case Type::FLOAT: return number_of(DType::kFloat32);
    case Type::DOUBLE: return number_of(DType::kFloat64);
    // All times and dates have one width, which is NumPy's, so `.view("datetime64[D]")` and the
    // like cost nothing.
    case Type::DATE32:
    case Type::DATE64:
    case Type::TIME32:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION: return ColumnType{FieldKind::kTensor, DType::kInt64, time_type(type)};
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    // The nearest number.
    case Type::DECIMAL256: return number_of(DType::kFloat64);
    // A column of only nulls needs some type.
    case Type::NA: return number_of(DType::kFloat64);
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW: return string_of(FieldKind::kText);
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY: return string_of(FieldKind::kBytes);
    case Type::DICTIONARY: {
      const auto values = storage_type(static_cast<const arrow::DictionaryType&>(type).value_type());
      if (values->id() == Type::DICTIONARY || values->id() == Type::NA)
        return unsupported(fmt::format("of type {}, whose values are dictionaries or nulls", type.ToString()));
      return leaf_type(*values);
    }
    default: return unsupported(fmt::format("of type {}, which a batch cannot hold", type.ToString()));
  }
}

}  // namespace forebay
