#include "pipeline/foreign_calls.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace forebay {
namespace {

using namespace std::chrono_literals;

/// A call that records whether it is destroyed without being abandoned.
class Noted final : public SampleCall {
 public:
  Noted(int number, std::vector<int>* dropped) : number_(number), dropped_(dropped) {}
  ~Noted() override {
    if (!forgotten_) dropped_->push_back(number_);
  }
  size_t step() const override { return static_cast<size_t>(number_); }
  const SampleKey& key() const override { return key_; }
  uint32_t random_index() const override { return 0; }
  int64_t sample() const override { return key_.id; }
  std::string sample_name() const override { return {}; }
  const Schema& schema() const override { return schema_; }
  const Record& record() const override { return record_; }
  void finish(Schema, Record) override {}
  void fail(Status) override {}
  void abandon() override { forgotten_ = true; }

 private:
  const int number_;
  std::vector<int>* const dropped_;
  const SampleKey key_{};
  const Schema schema_;
  const Record record_;
  bool forgotten_ = false;
};

struct Calls {
  void put(uint64_t order) { calls.put(order, std::make_shared<Noted>(static_cast<int>(order), &dropped)); }
  std::vector<int> dropped;  // calls destroyed without being abandoned
  ForeignCalls calls;
};

TEST(ForeignCalls, the_oldest_sample_goes_first) {
  Calls c;
  for (const uint64_t order : {7, 3, 5}) c.put(order);
  std::vector<size_t> steps;
  while (const auto call = c.calls.take(0ms)) steps.push_back(call->step());
  EXPECT_EQ(steps, (std::vector<size_t>{3, 5, 7}));
}

TEST(ForeignCalls, what_nobody_waits_for_is_let_go_of_without_an_answer) {
  Calls c;
  for (const uint64_t order : {1, 2, 3}) c.put(order);
  c.calls.abandon(2);
  c.calls.abandon(9);  // not in the queue
  EXPECT_EQ(c.calls.take(0ms)->step(), 1u);
  c.calls.abandon_all();
  EXPECT_FALSE(c.calls.take(0ms));
  EXPECT_EQ(c.dropped, std::vector<int>{1}) << "whoever took it has to answer";
}

TEST(ForeignCalls, close_wakes_who_waits_for_good) {
  Calls c;
  std::shared_ptr<ForeignCall> got;
  std::thread waits([&] { got = c.calls.take(std::chrono::minutes(5)); });
  c.calls.close();
  waits.join();
  EXPECT_FALSE(got);
  c.put(1);
  EXPECT_FALSE(c.calls.take(0ms));
  EXPECT_TRUE(c.dropped.empty()) << "it was let go of";
}

Field field(const std::string& name, bool optional = false) {
  Field made;
  made.name = name;
  made.kind = FieldKind::kBytes;
  made.optional = optional;
  return made;
}
Value bytes(const std::string& text) {
  Buffer buffer = Buffer::allocate(text.size());
  std::copy(text.begin(), text.end(), buffer.data());
  return Value::of_bytes(std::move(buffer));
}
std::string text(const Value& value) { return {value.bytes.data(), value.bytes.data() + value.bytes.size()}; }

// A row with the fields a and b. The function gets b only; a stays, and a later step needs c.
struct TestedRow {
  TestedRow() {
    stage.merge = true;
    stage.inputs = {1};
    stage.input_schema = Schema({field("b")});
    stage.output_schema = Schema({field("a"), field("b"), field("c")});
    row.record.push_back(bytes("A"));
    row.record.push_back(bytes("B"));
  }
  Status answer(std::vector<std::pair<std::string, std::string>> fields) {
    Schema schema;
    Record record;
    for (const auto& [name, value] : fields) {
      schema.push_back(field(name));
      record.push_back(bytes(value));
    }
    return accept_answer(stage, schema, std::move(record), row);
  }
  std::string fields() const {
    std::string all;
    for (const Value& value : row.record) all += text(value) + " ";
    for (const auto& [name, value] : row.extras) all += name + "=" + text(value) + " ";
    return all;
  }
  ForeignStage stage;
  RowInput row;
};

TEST(ForeignInput, is_what_the_stage_names_and_what_nobody_named_before) {
  TestedRow r;
  r.row.extras.emplace_back("free", bytes("F"));
  EXPECT_EQ(foreign_input(r.stage, r.row).record.size(), 1u);
  r.stage.takes_all = true;
  const ForeignInput all = foreign_input(r.stage, r.row);
  ASSERT_EQ(all.record.size(), 2u);
  EXPECT_EQ(all.schema[1].name, "free");
  EXPECT_EQ(text(all.record[1]), "F");
  r.stage.drops_extras = true;
  EXPECT_EQ(foreign_input(r.stage, r.row).record.size(), 1u);
}

TEST(AcceptAnswer, merges_what_came_into_the_record) {
  TestedRow r;
  ASSERT_TRUE(r.answer({{"c", "C"}, {"b", "new"}, {"free", "F"}}).ok());
  EXPECT_EQ(r.fields(), "A new C free=F ");
}

// A row with the fields of two parts of a zip: "p/a" and "q/b". The function is a step of q.
TEST(AcceptAnswer, of_a_part_names_fields_of_that_part) {
  TestedRow r;
  r.stage.merge = false;
  r.stage.takes_all = true;
  r.stage.part = "q";
  r.stage.output_schema = Schema({field("p/a"), field("q/c")});
  r.stage.passing = {0, std::nullopt};
  r.row.extras.emplace_back("p/free", bytes("F"));
  r.row.extras.emplace_back("q/free", bytes("G"));
  const ForeignInput input = foreign_input(r.stage, r.row);
  EXPECT_EQ(input.schema.names(), "b, free") << "by their own names, without those of the other part";
  ASSERT_TRUE(r.answer({{"c", "C"}, {"more", "M"}}).ok());
  EXPECT_EQ(r.fields(), "A C q/more=M ");
  const Status status = r.answer({{"more", "M"}});
  EXPECT_NE(status.message().find("needs the field 'c', but the function gave only: more"), std::string::npos)
      << status.message();
}

TEST(AcceptAnswer, says_which_field_is_missing) {
  TestedRow r;
  EXPECT_EQ(r.answer({{"b", "new"}}).to_string(),
            "Unsupported: a later step needs the field 'c', but the function gave only: b");
  r.stage.output_schema = Schema({field("a"), field("b"), field("c", /*optional=*/true)});
  TestedRow other;
  other.stage.output_schema = r.stage.output_schema;
  EXPECT_TRUE(other.answer({{"b", "new"}}).ok());
}

TEST(AcceptAnswer, takes_a_substitute_and_refuses_a_name_that_a_later_step_makes) {
  TestedRow r;
  r.stage.substitutes = {{"c", "bytes"}};
  ASSERT_TRUE(r.answer({{"bytes", "instead"}}).ok());
  EXPECT_EQ(r.fields(), "A B instead ");
  TestedRow twice;
  twice.stage.later_names = {{"label", "rename"}};
  EXPECT_EQ(twice.answer({{"c", "C"}, {"label", "L"}}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
