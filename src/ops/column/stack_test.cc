#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "ops/column/column_test_support.h"
#include "ops/column/interleave.h"

namespace forebay::ops_test {
namespace {

OpSpec stack(std::vector<std::string> fields, const char* name = "x") {
  return step("stack", {{"fields", std::move(fields)}, {"name", name}});
}

TEST(interleave, puts_pieces_of_any_size_row_by_row) {
  std::mt19937 random(1);
  for (const size_t piece : {1, 2, 3, 4, 8, 12, 64}) {
    for (const size_t count : {1, 2, 3, 4, 7, 16, 17, 40, 70}) {
      for (const int64_t rows : {0, 1, 2, 3, 4, 5, 255, 256, 259, 600}) {
        std::vector<Blob> columns(count, Blob(piece * static_cast<size_t>(rows) + 1));
        std::vector<const uint8_t*> from;
        for (Blob& column : columns) {
          for (uint8_t& byte : column) byte = static_cast<uint8_t>(random());
          from.push_back(column.data() + 1);  // not aligned
        }
        Blob out(count * piece * static_cast<size_t>(rows));
        interleave(from, piece, rows, out.data());
        for (size_t i = 0; i < out.size(); ++i) {
          const size_t row = i / (count * piece), column = i / piece % count;
          ASSERT_EQ(out[i], from[column][row * piece + i % piece])
              << piece << " bytes, " << count << " columns, " << rows << " rows, byte " << i;
        }
      }
    }
  }
}

TEST(stack, makes_one_field_of_many_in_the_order_named) {
  Table table(3);
  table.add<float>("a", DType::kFloat32, {1, 2, 3})
      .add<int64_t>("label", DType::kInt64, {7, 8, 9})
      .add<float>("b", DType::kFloat32, {4, 5, 6});
  const Columns made = run_columns(table.columns(), {stack({"b", "a"})});
  EXPECT_EQ(made.schema.names(), "label, x");
  EXPECT_EQ(made.schema[1].to_string(), "x: float32 (2,)");
  EXPECT_EQ(values_of<float>(made, "x"), (std::vector<float>{4, 1, 5, 2, 6, 3}));
}

TEST(stack, takes_tensors_no_rows_and_the_name_of_one_of_its_fields) {
  Table table(2);
  table.add<int16_t>("a", DType::kInt16, {1, 2, 3, 4}, {2}).add<int16_t>("b", DType::kInt16, {5, 6, 7, 8}, {2});
  const Columns made = run_columns(table.columns(), {stack({"a", "b"}, "a")});
  EXPECT_EQ(made.schema[0].to_string(), "a: int16 (2, 2)");
  EXPECT_EQ(values_of<int16_t>(made, "a"), (std::vector<int16_t>{1, 2, 5, 6, 3, 4, 7, 8}));
  Table empty(0);
  empty.add<double>("a", DType::kFloat64, {}).add<double>("b", DType::kFloat64, {});
  EXPECT_EQ(run_columns(empty.columns(), {stack({"a", "b"})}).schema[0].to_string(), "x: float64 (2,)");
}

TEST(stack, misuse_is_told_once_with_the_way_out) {
  Schema schema({tensor_field("a", DType::kFloat32, {}), tensor_field("b", DType::kInt64, {}),
                 tensor_field("c", DType::kInt64, {}), tensor_field("list", DType::kFloat32, {Shape::kUnknown}),
                 bytes_field("s"), tensor_field("v", DType::kFloat32, {3})});
  EXPECT_EQ(told(schema, {stack({"a", "b", "c"})}),
            "'a' is float32, 'b' is int64, 'c' is int64: what is stacked has one type and one shape | "
            "put .cast(\"float32\", field=['b', 'c']) before .stack\n");
  EXPECT_NE(told(schema, {stack({"a", "v"})}).find("stack columns of one shape"), std::string::npos);
  EXPECT_NE(told(schema, {stack({"a", "list"})}).find("differs in shape from row to row"), std::string::npos);
  EXPECT_NE(told(schema, {stack({"a", "s"})}).find("the field 's' is bytes, and .stack works on numbers"),
            std::string::npos);
  EXPECT_NE(told(schema, {stack({"a", "a"})}).find("named twice"), std::string::npos);
  EXPECT_NE(told(schema, {stack({"a"}, "v")}).find("there is a field 'v' already"), std::string::npos);
  EXPECT_NE(told(schema, {step("stack", {{"fields", "a"}})}).find("name is missing"), std::string::npos);
}

// The fields that user code makes are known only when a sample arrives.
TEST(stack, of_fields_unknown_before_looks_at_the_sample) {
  Field a, b;
  a.name = "a", b.name = "b";
  a.kind = b.kind = FieldKind::kAny;
  const Schema schema({a, b});
  EXPECT_EQ(schema_after(schema, {stack({"a", "b"})})[0].to_string(), "x: any");
  const auto sample = [](DType second) {
    Record record;
    record.push_back(Value::of(Tensor::allocate(DType::kInt32, {})));
    record.push_back(Value::of(Tensor::allocate(second, {})));
    return record;
  };
  Record good = sample(DType::kInt32), bad = sample(DType::kInt64);
  EXPECT_TRUE(run(schema, {stack({"a", "b"})}, good).ok());
  EXPECT_EQ(good[0].tensor.shape, (Shape{2}));
  const Status status = run(schema, {stack({"a", "b"})}, bad);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("'a' is int32 and 'b' is int64"), std::string::npos) << status.message();
}

TEST(stack, asks_for_its_memory_before_it_takes_it) {
  Table table(1000);
  table.add<double>("a", DType::kFloat64, std::vector<double>(1000))
      .add<double>("b", DType::kFloat64, std::vector<double>(1000));
  const OpSpec spec = stack({"a", "b"});
  auto compiled = op("stack").compile_columns(spec, table.columns().schema);
  Columns columns = table.columns();
  WorkMemory little(15'999);
  const Status status = (*compiled)->apply(columns, little);
  EXPECT_EQ(status.code(), Code::kOutOfBudget);
  EXPECT_EQ(status.bytes_needed(), 16'000u);
  EXPECT_EQ(status.op(), "stack");
  WorkMemory enough(16'000);
  EXPECT_TRUE((*compiled)->apply(columns, enough).ok());
}

}  // namespace
}  // namespace forebay::ops_test
