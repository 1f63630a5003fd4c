#include <cstring>

#include <arrow/extension_type.h>
#include <fmt/format.h>

#include "arrow_codec/expected_cells.h"
#include "arrow_codec/made_tables.h"
#include "arrow_codec/table_test_support.h"

namespace forebay::arrow_codec_test {

namespace {

using ScalarPtr = std::shared_ptr<arrow::Scalar>;

template <typename T>
std::string bytes_of(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string scalar_bytes(const arrow::Scalar& scalar) {
  using arrow::Type;
  switch (scalar.type->id()) {
    case Type::BOOL: return bytes_of(static_cast<uint8_t>(static_cast<const arrow::BooleanScalar&>(scalar).value));
    case Type::DATE32: return bytes_of(int64_t{static_cast<const arrow::Date32Scalar&>(scalar).value});
    case Type::TIME32: return bytes_of(int64_t{static_cast<const arrow::Time32Scalar&>(scalar).value});
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256: return bytes_of(std::strtod(scalar.ToString().c_str(), nullptr));
    case Type::DICTIONARY: {
      const auto value = static_cast<const arrow::DictionaryScalar&>(scalar).GetEncodedValue();
      return value.ok() && (*value)->is_valid ? scalar_bytes(**value) : "";
    }
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW:
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY: return std::string(static_cast<const arrow::BaseBinaryScalar&>(scalar).view());
    default: return std::string(static_cast<const arrow::internal::PrimitiveScalarBase&>(scalar).view());
  }
}

ScalarPtr unwrapped(ScalarPtr scalar) {
  while (scalar->type->id() == arrow::Type::EXTENSION) {
    const auto storage = static_cast<const arrow::ExtensionType&>(*scalar->type).storage_type();
    scalar =
        scalar->is_valid ? static_cast<const arrow::ExtensionScalar&>(*scalar).value : arrow::MakeNullScalar(storage);
  }
  return scalar;
}

bool dictionary_null(const arrow::Scalar& scalar) {
  if (scalar.type->id() != arrow::Type::DICTIONARY || !scalar.is_valid) return false;
  const auto value = static_cast<const arrow::DictionaryScalar&>(scalar).GetEncodedValue();
  return !value.ok() || !(*value)->is_valid;
}

}  // namespace

Cell CellReader::read(const ScalarPtr& scalar) {
  cell_ = {};
  cell_.valid.resize(leaf_.nullable.size());
  cell_.lengths.resize(static_cast<size_t>(leaf_.lists));
  visit(scalar, 0, 0, true, false);
  return std::move(cell_);
}

void CellReader::visit(ScalarPtr scalar, size_t step, size_t level, bool valid, bool in_tensor) {
  scalar = unwrapped(std::move(scalar));
  valid = valid && scalar->is_valid && !dictionary_null(*scalar);
  if (step == leaf_.steps.size()) return leaf(scalar, level, valid);
  const PathStep& now = leaf_.steps[step];
  if (now.kind == PathStep::Kind::kMember) {
    const auto child = scalar->type->field(now.child)->type();
    const auto member = scalar->is_valid
                            ? static_cast<const arrow::StructScalar&>(*scalar).value[static_cast<size_t>(now.child)]
                            : arrow::MakeNullScalar(child);
    return visit(member, step + 1, level, valid, in_tensor);
  }
  const auto elements = scalar->is_valid ? static_cast<const arrow::BaseListScalar&>(*scalar).value : nullptr;
  if (now.kind == PathStep::Kind::kFixed) {
    if (!in_tensor) cell_.valid[level++].push_back(valid);
    for (int64_t i = 0; i < now.length; ++i) {
      const auto element = elements ? *elements->GetScalar(i) : arrow::MakeNullScalar(scalar->type->field(0)->type());
      visit(element, step + 1, level, valid, true);
    }
    return;
  }
  cell_.valid[level].push_back(valid);
  const int64_t length = valid && elements ? elements->length() : 0;
  cell_.lengths[level].push_back(static_cast<int>(length));
  for (int64_t i = 0; i < length; ++i) visit(*elements->GetScalar(i), step + 1, level + 1, true, in_tensor);
}

void CellReader::leaf(const ScalarPtr& scalar, size_t level, bool valid) {
  cell_.valid[level].push_back(valid);
  cell_.elements.push_back(valid ? scalar_bytes(*scalar) : fill_);
  if (leaf_.strings()) cell_.lengths[level].push_back(static_cast<int>(cell_.elements.back().size()));
}

namespace {

/// The bytes of one row of a field.
std::string_view row_of(const Columns& columns, size_t at, int64_t row) {
  const Field& field = columns.schema[at];
  const ColumnValues& values = columns.values[at];
  size_t begin = 0, end = 0;
  if (field.fixed_shape()) {
    begin = static_cast<size_t>(row) * row_bytes(field);
    end = begin + row_bytes(field);
  } else {
    const size_t width = item_bytes(field);
    begin = static_cast<size_t>(values.offset()[row]) * width;
    end = static_cast<size_t>(values.offset()[row + 1]) * width;
  }
  return std::string_view(reinterpret_cast<const char*>(values.values.data()) + begin, end - begin);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}
/// Serializes a list: n + 1 offsets, then the strings.
std::string as_list(const std::vector<std::string>& strings) {
  std::string offsets;
  auto at = static_cast<uint32_t>((strings.size() + 1) * sizeof(uint32_t));
  for (const std::string& string : strings) {
    offsets += bytes_of(at);
    at += static_cast<uint32_t>(string.size());
  }
  return offsets + bytes_of(at) + joined(strings);
}
std::string as_bytes(const std::vector<int>& lengths) {
  std::string all;
  for (const int length : lengths) all += bytes_of(int32_t{length});
  return all;
}
std::string as_bytes(const std::vector<bool>& flags) {
  std::string all;
  for (const bool flag : flags) all += static_cast<char>(flag);
  return all;
}

}  // namespace

void expect_column(const Columns& columns, const Leaf& leaf, const arrow::ChunkedArray& column, int64_t first) {
  CellReader reader(leaf, leaf.strings() ? "" : std::string(dtype_size(leaf.dtype), '\0'));
  for (int64_t row = 0; row < columns.rows; ++row) {
    const auto scalar = column.GetScalar(first + row);
    ASSERT_TRUE(scalar.ok()) << scalar.status().ToString();
    const Cell cell = reader.read(*scalar);
    const auto expect = [&](const std::string& name, const std::string& bytes) {
      const auto place = columns.schema.find(name);
      ASSERT_TRUE(place) << "there is no field " << name;
      if (row_of(columns, *place, row) == bytes) return;  // gtest's own comparison is slow
      FAIL() << "field " << name << ", row " << first + row << ": " << (*scalar)->ToString();
    };
    expect(leaf.name, leaf.string_lists() ? as_list(cell.elements) : joined(cell.elements));
    if (leaf.nullable[0]) expect(leaf.name + "_valid", as_bytes(cell.valid[0]));
    for (size_t level = 1; level + (leaf.strings() ? 1 : 0) < static_cast<size_t>(leaf.lists); ++level) {
      const std::string name = leaf.name + ".lengths" + (level == 1 ? "" : fmt::format("_{}", level));
      expect(name, as_bytes(cell.lengths[level]));
      if (leaf.nullable[level]) expect(name + "_items_valid", as_bytes(cell.valid[level]));
    }
    if (leaf.nullable.size() > 1 && leaf.nullable.back())
      expect(leaf.name + "_items_valid", as_bytes(cell.valid.back()));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void expect_table(const Columns& columns, const TablePlan& plan, const arrow::Table& table, int64_t first) {
  ASSERT_TRUE(columns.check().ok()) << columns.check().to_string();
  for (const Leaf& leaf : plan.leaves) {
    expect_column(columns, leaf, *table.column(static_cast<int>(leaf.column)), first);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void expect_file(const TableCodec& codec, const std::string& file, const arrow::Table& expected) {
  const auto table = open_table(codec, file, mask_nulls());
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  const auto plan = plan_table(*expected.schema(), mask_nulls());
  int64_t first = 0;
  for (int64_t group = 0; group < (*table)->groups(); ++group) {
    const auto columns = decode_group(**table, file, group);
    ASSERT_TRUE(columns.ok()) << columns.status().to_string();
    EXPECT_EQ(columns->bad_rows, nullptr);
    expect_table(*columns, *plan, expected, first);
    if (::testing::Test::HasFatalFailure()) return;
    first += columns->rows;
  }
  EXPECT_EQ(first, expected.num_rows());
}

}  // namespace forebay::arrow_codec_test
