#include "ops/definition/record_of_columns.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "ops/column/column_test_support.h"

namespace forebay::ops_test {
namespace {

/// A column operator that calls a function of the test.
class ColumnFunction final : public ColumnOp {
 public:
  using Function = std::function<Status(Columns&)>;
  explicit ColumnFunction(Function function) : function_(std::move(function)) {}
  Status apply(Columns& columns, WorkMemory&) const override { return function_(columns); }

 private:
  Function function_;
};

Field unknown_field(std::string name, bool optional) {
  Field field;
  field.name = std::move(name);
  field.kind = FieldKind::kAny;
  field.optional = optional;
  return field;
}

Value number(int64_t value) {
  Tensor tensor = Tensor::allocate(DType::kInt64, {});
  *tensor.data<int64_t>() = value;
  return Value::of(std::move(tensor));
}

int64_t number_of(const Value& value) { return *value.tensor.data<int64_t>(); }

/// Replaces a and b by their sum, c.
Status add_up(Columns& columns) {
  const auto a = values_of<int64_t>(columns, "a"), b = values_of<int64_t>(columns, "b");
  Table table(1);
  table.add<int64_t>("c", DType::kInt64, {a[0] + b[0]});
  columns = table.columns();
  return {};
}

const Schema kThree({tensor_field("a", DType::kInt64, {}), bytes_field("x"), tensor_field("b", DType::kInt64, {})});

Record three(int64_t a, int64_t b) {
  Record record;
  record.push_back(number(a));
  record.push_back(encoded({1, 2, 3}));
  record.push_back(number(b));
  return record;
}

Status apply_to(const RecordOp& record_op, Record& record) {
  WorkMemory memory;
  return record_op.apply(record, {{}, &memory});
}

TEST(record_of_columns, makes_a_row_of_the_fields_it_reads_and_lets_the_others_pass) {
  const Schema after({bytes_field("x"), tensor_field("c", DType::kInt64, {})});
  const auto op = record_of_columns(std::make_unique<ColumnFunction>(add_up), {"a", "b"}, kThree, after);
  Record record = three(30, 12);
  const uint8_t* const untouched = record[1].bytes.data();
  ASSERT_TRUE(apply_to(*op, record).ok());
  ASSERT_EQ(record.size(), 2u);
  EXPECT_EQ(record[0].bytes.data(), untouched) << "what is not read is not copied";
  EXPECT_EQ(number_of(record[1]), 42);
}

TEST(record_of_columns, shows_the_operator_no_field_that_it_does_not_read) {
  std::string seen;
  const auto look = [&](Columns& columns) -> Status {
    seen = columns.schema.names();
    return {};
  };
  const auto op = record_of_columns(std::make_unique<ColumnFunction>(look), {"b", "nowhere", "b"}, kThree, kThree);
  Record record = three(1, 2);
  ASSERT_TRUE(apply_to(*op, record).ok());
  EXPECT_EQ(seen, "b") << "once, though named twice";
  EXPECT_EQ(record.size(), 3u);
}

TEST(record_of_columns, a_field_that_a_sample_lacks_is_an_error_unless_it_may_be_missing) {
  const Schema before({unknown_field("must", false), unknown_field("may", true)});
  std::string seen = "not called";
  const auto look = [&](Columns& columns) -> Status {
    seen = columns.schema.names();
    return {};
  };
  const Schema after({unknown_field("must", false)});
  const auto op = record_of_columns(std::make_unique<ColumnFunction>(look), {"must", "may"}, before, after);
  Record lacks_one;
  lacks_one.push_back(number(1));
  lacks_one.emplace_back();
  ASSERT_TRUE(apply_to(*op, lacks_one).ok());
  EXPECT_EQ(seen, "must");
  Record lacks_both(2);
  const Status status = apply_to(*op, lacks_both);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "this sample has no field 'must'");
}

TEST(record_of_columns, a_row_that_is_bad_in_itself_is_a_bad_sample) {
  const auto spoil = [](Columns& columns) -> Status {
    columns.bad_rows = std::make_shared<const std::map<int64_t, Status>>(
        std::map<int64_t, Status>{{0, unsupported("this row is of no use")}});
    return {};
  };
  const auto op = record_of_columns(std::make_unique<ColumnFunction>(spoil), {"a"}, kThree, kThree);
  Record record = three(1, 2);
  EXPECT_EQ(apply_to(*op, record).message(), "this row is of no use");
}

TEST(record_of_columns, errors_of_the_operator_are_given_as_they_are) {
  const auto fail = [](Columns&) -> Status { return out_of_budget("needs 7 bytes", 7); };
  const auto op = record_of_columns(std::make_unique<ColumnFunction>(fail), {"a"}, kThree, kThree);
  Record record = three(1, 2);
  const Status status = apply_to(*op, record);
  EXPECT_EQ(status.code(), Code::kOutOfBudget);
  EXPECT_EQ(status.bytes_needed(), 7u);
}

TEST(record_of_columns, an_operator_that_does_not_make_what_it_announced_is_our_own_mistake_and_named) {
  const auto drop = [](Columns& columns) -> Status {
    columns = Table(1).columns();
    return {};
  };
  const auto op = record_of_columns(std::make_unique<ColumnFunction>(drop), {"a"}, kThree, kThree);
  Record record = three(1, 2);
  const Status status = apply_to(*op, record);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("'a'"), std::string::npos) << status.message();
}

// Values that other steps hold of the same sample must not change.
TEST(record_of_columns, leaves_memory_alone_that_the_value_shares_with_others) {
  const OpSpec clip = step("clip", {{"min", 5}, {"field", "a"}});
  Record record = three(1, 2);
  const Tensor shared = record[0].tensor;
  ASSERT_TRUE(run(kThree, {clip}, record).ok());
  EXPECT_EQ(number_of(record[0]), 5);
  EXPECT_EQ(*shared.data<int64_t>(), 1);
}

}  // namespace
}  // namespace forebay::ops_test
