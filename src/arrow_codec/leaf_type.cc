#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <fmt/format.h>

#include "arrow_codec/table_plan.h"

namespace forebay {

namespace {

Result<ColumnType> tensor(DType dtype) { return ColumnType{FieldKind::kTensor, dtype, {}}; }
Result<ColumnType> strings(FieldKind kind) { return ColumnType{kind, DType::kUint8, {}}; }

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

std::optional<TimeType> time_type(const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::DATE32: return TimeType{1, true};
    case Type::DATE64: return TimeType{ticks_per_day(arrow::TimeUnit::MILLI), true};
    case Type::TIMESTAMP: return TimeType{ticks_per_day(static_cast<const arrow::TimestampType&>(type).unit()), true};
    case Type::TIME32:
    case Type::TIME64: return TimeType{ticks_per_day(static_cast<const arrow::TimeType&>(type).unit()), false};
    case Type::DURATION: return TimeType{ticks_per_day(static_cast<const arrow::DurationType&>(type).unit()), false};
    default: return std::nullopt;
  }
}

}  // namespace

std::shared_ptr<arrow::DataType> storage_type(std::shared_ptr<arrow::DataType> type) {
  while (type->id() == arrow::Type::EXTENSION) type = static_cast<const arrow::ExtensionType&>(*type).storage_type();
  return type;
}

std::optional<TimeType> time_type(const TablePlan& plan, size_t field) {
  const Output& output = plan.outputs[field];
  return output.role == Output::Role::kValues ? plan.leaves[output.leaf].time : std::nullopt;
}

TableFile::Origin origin(const TablePlan& plan, size_t field) {
  const size_t number = plan.outputs[field].leaf;
  const Leaf& leaf = plan.leaves[number];
  return {plan.values_fields[number], leaf.structs, leaf.type->id() == arrow::Type::NA,
          leaf.lists > (leaf.strings() ? 1 : 0) || leaf.shape.rank() > 0};
}

bool readable_as(const arrow::DataType& type, const ColumnType& wanted) {
  if (type.id() == arrow::Type::NA) return true;
  if (type.id() == arrow::Type::DICTIONARY)
    return readable_as(*storage_type(static_cast<const arrow::DictionaryType&>(type).value_type()), wanted);
  const Result<ColumnType> own = leaf_type(type);
  if (!own.ok()) return false;
  const bool text = own->kind == FieldKind::kText;
  const bool number = own->kind == FieldKind::kTensor && !own->time;
  if (wanted.kind == FieldKind::kBytes) return own->kind != FieldKind::kTensor;
  if (wanted.kind == FieldKind::kText) return !own->time;
  if (wanted.time) return own->time && own->time->since_1970 == wanted.time->since_1970;
  // Ticks are read unchanged.
  if (own->time) return wanted.dtype == DType::kInt64;
  if (wanted.dtype == DType::kBool) return number && !arrow::is_decimal(type.id());
  return number || text;
}

Result<ColumnType> leaf_type(const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::BOOL: return tensor(DType::kBool);
    case Type::UINT8: return tensor(DType::kUint8);
    case Type::INT8: return tensor(DType::kInt8);
    case Type::UINT16: return tensor(DType::kUint16);
    case Type::INT16: return tensor(DType::kInt16);
    case Type::UINT32: return tensor(DType::kUint32);
    case Type::INT32: return tensor(DType::kInt32);
    case Type::UINT64: return tensor(DType::kUint64);
    case Type::INT64: return tensor(DType::kInt64);
    case Type::HALF_FLOAT: return tensor(DType::kFloat16);
    case Type::FLOAT: return tensor(DType::kFloat32);
    case Type::DOUBLE: return tensor(DType::kFloat64);
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
    case Type::DECIMAL256:
    // Decimals become the nearest float64. A column of only nulls needs some type.
    case Type::NA: return tensor(DType::kFloat64);
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW: return strings(FieldKind::kText);
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY: return strings(FieldKind::kBytes);
    case Type::DICTIONARY: {
      const auto values = storage_type(static_cast<const arrow::DictionaryType&>(type).value_type());
      if (values->id() == Type::DICTIONARY || values->id() == Type::NA)
        return unsupported(fmt::format("of type {}, whose values have no type", type.ToString()));
      return leaf_type(*values);
    }
    default: return unsupported(fmt::format("of type {}, which a batch cannot hold", type.ToString()));
  }
}

}  // namespace forebay
